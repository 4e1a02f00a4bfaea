"""Resuming a run: it must be the same run, what is finished is not played again, what was left half done is cut off."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from sys import intern
from typing import TypeAlias

from simtrain.files.jsonl import write_whole
from simtrain.runs.run_folder import RUN_FILE, RunFolder, read_facts
from simtrain.runs.trajectory_files import read_rows
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue

Key: TypeAlias = tuple[str, str, int, int]
"""Digest of the scenario, episode, seed and attempt."""

REACHING = frozenset({"base_url", "api_key_env", "timeout", "attempts", "backoff"})
"""Knobs of an agent that say how a model is reached, not how it plays; they may change when a run goes on."""


def open_run(out: Path, facts: JsonObject, *, resume: bool) -> RunFolder:
    """Return the run folder, new or to go on with; a resumed run that was killed before it began is begun."""
    if not resume or not (out / RUN_FILE).exists():
        return RunFolder.create(out, facts)
    folder = RunFolder.reopen(out)
    try:
        recorded = read_facts(out)
        refuse_another_run(out, recorded=recorded, asked=facts)
        if recorded != facts:
            write_whole(out / RUN_FILE, facts)
    except BaseException:
        folder.close()
        raise
    return folder


def finished_keys(path: Path) -> set[Key]:
    """Return the keys of all finished trajectories of a run folder. Raises InputError for a line that cannot be read."""
    return {
        (intern(str(row["scenario_digest"])), intern(str(row["episode"])), row["seed"], row["attempt"])
        for row in read_rows(path)
    }


def refuse_another_run(path: Path, *, recorded: JsonObject, asked: JsonObject) -> None:
    """Raise an InputError that names what differs, when the run asked for is not the recorded one with at most more episodes."""
    for problem in _differences(recorded, asked):
        raise InputError(
            problem,
            remedy="--resume goes on with the same run: give the same options, or choose another folder with --out",
            file=path,
        )


def _differences(recorded: JsonObject, asked: JsonObject) -> Iterator[str]:
    try:
        was, now = _agent(recorded), _agent(asked)
        names, wanted = _digests(recorded), _digests(asked)
        counts = [(name, int(recorded[name]), int(asked[name])) for name in ("episodes", "attempts")]
        seeds = (recorded["seed"], asked["seed"])
    except (KeyError, TypeError, ValueError, AttributeError):
        yield "run.json does not say what was run"
        return
    for name in sorted({*was, *now}, key=lambda key: (key != "name", key)):
        if was.get(name) != now.get(name):
            yield f"it was played with agent {name} {was.get(name)!r}, not {now.get(name)!r}".replace(
                "agent name", "agent"
            )
    if recorded.get("curriculum") != asked.get("curriculum"):
        yield _another_curriculum(recorded.get("curriculum"), asked.get("curriculum"))
    if recorded.get("forks") != asked.get("forks"):
        yield "it was forked from another step or episode, or otherwise"
    if seeds[0] != seeds[1]:
        yield f"it was played with seed {seeds[0]}, not {seeds[1]}"
    for name in sorted({*names, *wanted}):
        if name not in wanted:
            yield f"it was played with the scenario {name}, which is not named now"
        if name not in names:
            yield f"it was played without the scenario {name}"
        if names.get(name) != wanted.get(name):
            yield f"the scenario {name} (or its world or a pack) has changed since it was played"
    for name, before, after in counts:
        if after < before:
            yield f"it was begun with {before} {name}, more than the {after} asked for now"


def _another_curriculum(recorded: JsonValue, asked: JsonValue) -> str:
    if recorded is None or asked is None:
        return f"it was played {'without a' if recorded is None else 'with a'} curriculum"
    return "the curriculum, or the number of episodes over which it is spread, has changed since it was played"


def _agent(facts: JsonObject) -> dict[str, JsonValue]:
    """Return what must not change of an agent: its name, what it says of itself, and its knobs."""
    agent = facts["agent"]
    knobs = agent["knobs"]
    stated = {name: value for name, value in agent.items() if name != "knobs"}
    return stated | {f"knob {name}": value for name, value in knobs.items() if name not in REACHING}


def _digests(facts: JsonObject) -> dict[str, str]:
    return {_called(entry): str(entry["digest"]) for entry in facts["scenarios"]}


def _called(entry: JsonObject) -> str:
    return f"{entry['name']} in arm {entry['arm']['name']}" if "arm" in entry else str(entry["name"])
