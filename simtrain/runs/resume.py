"""Resume a run: the options must be those of the recorded run, and finished episodes are not played again."""

from collections.abc import Iterator
from pathlib import Path
from sys import intern
from typing import TypeAlias

from simtrain.files.jsonl import write_whole
from simtrain.runs.run_folder import RUN_FILE, RunFolder, read_facts, refuse_a_used_folder, scenario_digests
from simtrain.runs.trajectory_files import read_rows
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue

Key: TypeAlias = tuple[str, str, int, int]
"""Scenario digest, episode, seed and attempt: together they identify a rollout."""

REACHING = frozenset({"base_url", "api_key_env", "timeout", "attempts", "backoff"})
"""Knobs that say how an agent's model is reached, not how it plays. They may change when a run is resumed."""


def open_run(out: Path, facts: JsonObject, *, resume: bool) -> RunFolder:
    """Return the run folder, new or reopened. With `resume`, a folder without run.json starts a new run."""
    if not resume or not (out / RUN_FILE).exists():
        return RunFolder.create(out, facts)
    folder = RunFolder.reopen(out)
    try:
        recorded = read_facts(out)
        refuse_another_run(out, recorded=recorded, asked=facts)
        # The same run with more episodes, or another base_url: run.json has to describe what is played from now on.
        if recorded != facts:
            write_whole(out / RUN_FILE, facts)
    except BaseException:
        folder.close()
        raise
    return folder


def check_folder(out: Path, facts: JsonObject, *, resume: bool) -> None:
    """Check, without writing anything, that a run may begin in a folder or continue there. Raises InputError."""
    if resume and (out / RUN_FILE).exists():
        refuse_another_run(out, recorded=read_facts(out), asked=facts)
    else:
        refuse_a_used_folder(out)


def finished_keys(path: Path) -> set[Key]:
    """Return the keys of all finished trajectories of a run folder. Raises InputError for a line that cannot be read."""
    return {
        # Interned: a run of a million episodes has few distinct digests, and this set is held in memory.
        (intern(str(row["scenario_digest"])), intern(str(row["episode"])), row["seed"], row["attempt"])
        for row in read_rows(path)
    }


def refuse_another_run(path: Path, *, recorded: JsonObject, asked: JsonObject) -> None:
    """Raise an InputError that names the difference, unless the requested run is the recorded one, possibly with more episodes."""
    for problem in _differences(recorded, asked):
        raise InputError(
            problem,
            remedy="--resume continues the same run: give the same options, or choose another folder with --out",
            file=path,
        )


def _differences(recorded: JsonObject, asked: JsonObject) -> Iterator[str]:
    try:
        was, now = _agent(recorded), _agent(asked)
        names, wanted = scenario_digests(recorded), scenario_digests(asked)
        counts = [(name, int(recorded[name]), int(asked[name])) for name in ("episodes", "attempts")]
        seeds = (recorded["seed"], asked["seed"])
    except (KeyError, TypeError, ValueError, AttributeError):
        yield "run.json does not say what was run"
        return
    # The name first: if it differs, other differences follow from it.
    for name in sorted({*was, *now}, key=lambda key: (key != "name", key)):
        if was.get(name) != now.get(name):
            yield f"it was played with agent {name} {was.get(name)!r}, not {now.get(name)!r}".replace(
                "agent name", "agent"
            )
    if recorded.get("curriculum") != asked.get("curriculum"):
        yield _another_curriculum(recorded.get("curriculum"), asked.get("curriculum"))
    if recorded.get("forks") != asked.get("forks"):
        yield "it was forked from another step or episode, or otherwise"
    # Further seeds only add worlds, like more episodes.
    if bool(recorded.get("seeds")) != bool(asked.get("seeds")) or set(recorded.get("seeds", [])) - set(
        asked.get("seeds", [])
    ):
        yield "it was played over worlds of other seeds"
    if seeds[0] != seeds[1]:
        yield f"it was played with seed {seeds[0]}, not {seeds[1]}"
    for name in sorted({*names, *wanted}):
        if name not in wanted:
            yield f"it was played with the scenario {name}, which is not named now"
        if name not in names:
            yield f"it was played without the scenario {name}"
        if names.get(name) != wanted.get(name):
            yield f"the scenario {name} (or its world or a pack) has changed since it was played"
    # More is fine. Fewer would leave finished episodes that the new run.json does not account for.
    for name, before, after in counts:
        if after < before:
            yield f"it was begun with {before} {name}, more than the {after} asked for now"


def _another_curriculum(recorded: JsonValue, asked: JsonValue) -> str:
    if recorded is None or asked is None:
        return f"it was played {'without a' if recorded is None else 'with a'} curriculum"
    return "the curriculum, or the number of episodes over which it is spread, has changed since it was played"


def _agent(facts: JsonObject) -> dict[str, JsonValue]:
    """Return the parts of an agent that must not change: its name, its own facts, and its knobs."""
    agent = facts["agent"]
    knobs = agent["knobs"]
    stated = {name: value for name, value in agent.items() if name != "knobs"}
    return stated | {f"knob {name}": value for name, value in knobs.items() if name not in REACHING}
