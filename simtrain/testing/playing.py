"""The fixture `simtrain_play`: agents play scenarios, and return trajectories."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from simtrain.contracts.agent import Agent
from simtrain.contracts.scenario import Scenario
from simtrain.contracts.trajectory import SUCCESS, Trajectory
from simtrain.public import as_agent, load_scenarios
from simtrain.runs.reading import trajectory_text
from simtrain.runs.run import run
from simtrain.runs.run_folder import read_run
from simtrain.runs.runner import RunOptions
from simtrain.values.types import JsonValue

ResultT = TypeVar("ResultT")

Wanted: TypeAlias = str | Path | Scenario | Sequence[str | Path | Scenario]
"""A scenario, suite or file, or several."""


class EpisodePlayer:
    """Plays agents. `telling` gets every result, `folder` makes a new folder."""

    def __init__(self, telling: list[Any], folder: Callable[[str], Any]) -> None:
        self._telling = telling
        self._folder = folder

    def __call__(
        self,
        scenarios: Wanted,
        agent: Any = "resilient",
        *,
        episodes: int | None = None,
        attempts: int = 1,
        seed: int = 0,
        knobs: Mapping[str, JsonValue] | None = None,
        concurrency: int = 32,
        out: str | Path | None = None,
    ) -> list[Trajectory]:
        """Play scenarios, and return the graded trajectories, ordered by scenario, episode and attempt. Raises InputError.

        `agent` is a name, an async function `(prompt, tools, step)`, a graph or an Agent. `episodes` limits their number.
        """
        name, made = named(agent)
        folder = Path(out) if out else self._folder("run")
        options = RunOptions(name, dict(knobs or {}), seed, episodes, attempts, concurrency)
        outside_loop(lambda: run(loaded(scenarios), options, folder, agent=made))
        found = sorted(read_run(folder), key=lambda one: (one.scenario, one.episode, one.attempt))
        self._telling.append(PlayedEpisodes(found))
        return found


class PlayedEpisodes:
    """Trajectories that a test played."""

    def __init__(self, trajectories: Sequence[Trajectory]) -> None:
        self._trajectories = trajectories

    def sections(self, failed: object) -> Iterator[tuple[str, str]]:
        """Yield the trajectory with the least reward, if it is less than full."""
        del failed
        worst = min(self._trajectories, key=lambda one: -1.0 if one.reward is None else one.reward, default=None)
        if worst is not None and (worst.reward is None or worst.reward < SUCCESS):
            yield "simtrain: worst episode", trajectory_text(worst)


def loaded(wanted: Wanted) -> list[Scenario]:
    """Return scenarios by name or file, and those that are loaded already, in order. Raises InputError."""
    several = [wanted] if isinstance(wanted, str | Path | Scenario) else wanted
    found = [[one] if isinstance(one, Scenario) else load_scenarios(str(one)) for one in several]
    return [scenario for scenarios in found for scenario in scenarios]


def named(agent: Any) -> tuple[str, Agent | None]:
    """Return the name of an agent, and the agent itself if it was made in Python. Raises InputError.

    The name is `module:attribute` where there is one, so that `simtrain replay` finds the agent again.
    """
    if isinstance(agent, str):
        return agent, None
    made = as_agent(agent)
    place = getattr(agent, "__qualname__", "<none>")
    return (type(made).__name__ if "<" in place else f"{agent.__module__}:{place}"), made


def outside_loop(work: Callable[[], ResultT]) -> ResultT:
    """Do work that needs an event loop of its own, also from an async test."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(1, "simtrain") as thread:
        return thread.submit(work).result()
