"""What run.json says: what was run, enough to run it again, and whether a run that goes on is still the same one."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from simtrain.contracts.scenario import Scenario
from simtrain.curricula.stages import Curriculum
from simtrain.runs.run_folder import FORMAT
from simtrain.runs.runner import RunOptions
from simtrain.scenarios.arms import met, offered_tools
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue
from simtrain.values.version import VERSION

REACHING = frozenset({"base_url", "api_key_env", "timeout", "attempts", "backoff"})
"""Knobs of an agent that say how a model is reached, not how it plays; they may change when a run goes on."""


def run_facts(
    scenarios: Sequence[Scenario],
    options: RunOptions,
    agent: JsonObject,
    *,
    episodes: int,
    curriculum: Curriculum | None = None,
) -> JsonObject:
    """Return the content of run.json. `agent` holds what the agent says of itself; `episodes` is the number dealt.

    Paths are relative to `folder`, the working folder of the run.
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "python": platform.python_version(),
        "agent": {**agent, "name": options.agent, "knobs": options.knobs},
        "seed": options.seed,
        "episodes": episodes,
        "total": options.episodes,
        "attempts": options.attempts,
        "concurrency": options.concurrency,
        "workers": options.workers,
        "sync_every": options.sync_every,
        **({"curriculum": curriculum.facts(episodes=episodes)} if curriculum else {}),
        "folder": str(Path.cwd()),
        "scenarios": [
            {
                "name": scenario.name,
                "digest": scenario.digest,
                "file": str(scenario.document.path),
                "world": {"name": scenario.source.name, "digest": scenario.source.digest},
                "state_graders": [grading.label for grading in scenario.grading if grading.grader.of_world],
                "perturbations": {armed.label: armed.use for armed in scenario.perturbations},
                **({"arm": asdict(scenario.arm), "meets": _meets(scenario)} if scenario.arm else {}),
            }
            for scenario in scenarios
        ],
    }


def _meets(scenario: Scenario) -> JsonObject:
    """By perturbation the tools whose calls it may meet."""
    offered = offered_tools(scenario)
    return {armed.label: met(armed, offered) for armed in scenario.perturbations}


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
    said = {name: value for name, value in agent.items() if name != "knobs"}
    return said | {f"knob {name}": value for name, value in knobs.items() if name not in REACHING}


def _digests(facts: JsonObject) -> dict[str, str]:
    return {_called(entry): str(entry["digest"]) for entry in facts["scenarios"]}


def _called(entry: JsonObject) -> str:
    return f"{entry['name']} in arm {entry['arm']['name']}" if "arm" in entry else str(entry["name"])
