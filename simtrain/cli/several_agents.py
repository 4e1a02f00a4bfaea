"""`simtrain run` with several agents: the same episodes for each, a run folder for each, and a table of all."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from simtrain.cli.options import console, print_json
from simtrain.cli.progress import RunProgress, speed
from simtrain.cli.run_result import run_json, show_first
from simtrain.cli.tables import agents_table
from simtrain.public import run
from simtrain.runs.agent_folders import agent_folders
from simtrain.runs.run import RunResult, check_run
from simtrain.runs.run_folder import RUN_FILE
from simtrain.runs.run_index import RunIndex
from simtrain.values.errors import InputError
from simtrain.view.figures import GroupFigures, figures
from simtrain.view.filters import Filter

if TYPE_CHECKING:
    from simtrain.contracts.scenario import Scenario
    from simtrain.runs.runner import RunOptions
    from simtrain.values.types import JsonObject


@dataclass(frozen=True)
class AgentRun:
    """What one of several agents has played: its run, and its figures by suite."""

    agent: str
    result: RunResult
    progress: RunProgress
    suites: Mapping[str, GroupFigures]
    total: GroupFigures | None

    @property
    def complete(self) -> bool:
        """True if all planned episodes were played, none of which failed through no fault of the agent."""
        return not (self.result.failed or self.result.interrupted)


def play_several(
    scenarios: Sequence[Scenario], options: Sequence[RunOptions], out: Path, *, resume: bool, as_json: bool, show: bool
) -> None:
    """Play the same episodes with each agent into a folder below `out`, and print all results.

    Exits with code 1 if a run failed or was stopped; what would have followed a stopped one is not played. Raises InputError before
    anything is played.
    """
    folders = agent_folders([option.agent for option in options], out)
    if (out / RUN_FILE).exists():
        # Runs below a run would not be found.
        raise InputError("the folder itself holds a run", remedy="choose another with --out", file=out)
    # All of them first: the last must not be refused after the first has played for hours.
    for option in options:
        try:
            check_run(scenarios, option, folders[option.agent], resume=resume)
        except InputError as error:
            raise _with_rule(error, option) from None
    runs: list[AgentRun] = []
    for option in options:
        runs.append(_played(scenarios, option, folders[option.agent], resume=resume, quiet=as_json))
        if runs[-1].result.asked or runs[-1].result.interrupted:
            break
    left = [option.agent for option in options[len(runs) :]]
    if as_json:
        print_json({"out": str(out), "runs": [_json(one) for one in runs], "not_played": left})
    else:
        _print(runs, left, out)
        for one in runs if show else ():
            show_first(one.result.path)
    if left or not all(one.complete for one in runs):
        sys.exit(1)


def _with_rule(error: InputError, option: RunOptions) -> InputError:
    """Return an error about one of the agents; if its knobs are wrong, with the rule on knobs of several agents."""
    if not option.knobs or not (error.place or "").startswith("agent "):
        return error
    remedy = "every agent gets the knobs of --with; play one with knobs of its own by itself, into a folder beside the others"
    return InputError(error.problem, remedy=remedy, place=error.place)


def _played(scenarios: Sequence[Scenario], option: RunOptions, folder: Path, *, resume: bool, quiet: bool) -> AgentRun:
    with RunProgress(option.agent, quiet=quiet) as progress:
        result = run(
            scenarios,
            option.agent,
            out=folder,
            knobs=option.knobs,
            seed=option.seed,
            episodes=option.episodes,
            attempts=option.attempts,
            concurrency=option.concurrency,
            workers=option.workers,
            sync_every=option.sync_every,
            via=option.via,
            real_time=option.real_time,
            seeds=option.seeds,
            resume=resume,
            on_planned=progress.planned,
            on_played=progress.played,
        )
    with RunIndex(folder) as index:
        index.refresh()
        suites = {one.name: one for one in figures(index, Filter(), "suite")}
        total = next(iter(figures(index, Filter(), "all")), None)
    return AgentRun(option.agent, result, progress, suites, total)


def _json(one: AgentRun) -> JsonObject:
    return {
        "agent": one.agent,
        **run_json(one.result, one.progress),
        "suites": {
            name: {
                "episodes": found.episodes,
                "graded": found.graded,
                "success": found.success,
                "success_low": found.interval[0],
                "success_high": found.interval[1],
            }
            for name, found in one.suites.items()
        },
    }


def _print(runs: Sequence[AgentRun], left: Sequence[str], out: Path) -> None:
    screen = console()
    screen.print(agents_table(_by_suite(runs)))
    for one in runs:
        for line in _lines(one):
            screen.print(line, soft_wrap=True)
    if left:
        screen.print(f"Not played: {', '.join(left)}")
    if left or not all(one.complete for one in runs):
        screen.print(f"Continue with: simtrain run ... --out {out} --resume", soft_wrap=True)
    screen.print(f"look at them: simtrain view {out}", soft_wrap=True)


def _by_suite(runs: Sequence[AgentRun]) -> Mapping[str, Mapping[str, GroupFigures | None]]:
    names = sorted({name for one in runs for name in one.suites})
    found = {name: {one.agent: one.suites.get(name) for one in runs} for name in names}
    # For a single suite the total would repeat it.
    return found if len(names) == 1 else {**found, "all": {one.agent: one.total for one in runs}}


def _lines(one: AgentRun) -> Iterator[str]:
    result = one.result
    there = f", {result.skipped} were already there" if result.skipped else ""
    yield f"{one.agent}: {result.played} episodes played at {speed(one.progress.rate)}{there}: {result.path}"
    if result.failed:
        yield f"{one.agent}: {result.failed} failed through no fault of the agent: see {result.path / 'failures.jsonl'}"
    if result.interrupted:
        yield f"{one.agent}: stopped early"
