"""A drill from its plan to its report: play it with each agent, prove solvability on request, measure, write the report."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from simtrain.contracts.agent import Agent
from simtrain.drills.estimate import refuse_unpriced
from simtrain.drills.page import write_report
from simtrain.drills.plan import DrillPlan
from simtrain.drills.report import Report, report_on
from simtrain.drills.solvability import prove
from simtrain.runs.agent_folders import agent_folders
from simtrain.runs.run import RunResult, run
from simtrain.runs.runner import FinishedRollout, RunOptions
from simtrain.runs.schedule import Deal
from simtrain.values.errors import InputError


@dataclass(frozen=True)
class DrillResult:
    """The result of a drill: its folder, a run for each agent that was played, the report and its page.

    An interrupted run ends the drill; `report` then covers the episodes played so far, and is None if there are none.
    """

    path: Path
    runs: tuple[RunResult, ...]
    report: Report | None
    page: Path | None

    @property
    def complete(self) -> bool:
        """True if all planned episodes were played."""
        return not any(run.failed or run.interrupted for run in self.runs)


@dataclass(frozen=True)
class Watch:
    """Callbacks for the progress of a drill: how many episodes an agent will play, each as it ends, and each proof."""

    on_planned: Callable[[int], None] = lambda _: None
    on_played: Callable[[FinishedRollout], None] = lambda _: None
    on_proving: Callable[[int], None] = lambda _: None
    on_proved: Callable[[], None] = lambda: None


def drill(
    plan: DrillPlan,
    options: Sequence[RunOptions],
    out: Path,
    *,
    agent: Agent | None = None,
    proving: bool = False,
    resume: bool = False,
    watch: Watch | None = None,
) -> DrillResult:
    """Play a plan with one agent into `out`, or with two into a folder each in it, and report.

    `agent` is the agent if it was made in Python. `proving` labels every pair by searching for a path to success. Raises
    InputError for bad input, before anything is played.
    """
    watch = watch or Watch()
    for option in options:
        refuse_unpriced(option, agent)
    folders = folders_of(options, out)
    runs: list[RunResult] = []
    for option, folder in zip(options, folders, strict=True):
        runs.append(
            run(
                plan.scenarios,
                option,
                folder,
                agent=agent,
                resume=resume,
                on_planned=watch.on_planned,
                on_played=watch.on_played,
            )
        )
        # The second agent would be compared with half a run.
        if runs[-1].failed or runs[-1].interrupted:
            return _broken_off(out, folder, runs)
        if proving:
            episodes = Deal(plan.scenarios, seed=option.seed, total=None, attempts=1)
            watch.on_proving(len(episodes))
            prove(episodes, folder, on_done=watch.on_proved)
    report = report_on(*folders)
    return DrillResult(out, tuple(runs), report, write_report(report, out))


def folders_of(options: Sequence[RunOptions], out: Path) -> list[Path]:
    """Return where each agent plays. Raises InputError for agents that cannot be compared."""
    if not options or len(options) > 2 or len({option.agent for option in options}) < len(options):
        raise InputError("two different agents can be compared", remedy="drill others into folders of their own")
    return [out] if len(options) == 1 else [*agent_folders([option.agent for option in options], out).values()]


def _broken_off(out: Path, folder: Path, runs: Sequence[RunResult]) -> DrillResult:
    if not runs[-1].summary["total"]["episodes"]:
        return DrillResult(out, tuple(runs), None, None)
    report = report_on(folder)
    return DrillResult(out, tuple(runs), report, write_report(report, folder))
