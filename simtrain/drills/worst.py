"""The trajectories of a drill that are worth reading first: they failed although their clean twins succeeded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simtrain.contracts.trajectory import Trajectory
from simtrain.drills.outcome import Outcome, paired
from simtrain.drills.report import RunReport
from simtrain.runs.run_folder import read_run
from simtrain.values.arm import CLEAN

SHOWN = 12
PER_ARM = 2
"""Maximum per arm, each of another case, so that one arm's failures do not hide those of the others."""


@dataclass(frozen=True, slots=True)
class WorstEpisode:
    """A trajectory, and what was wrong with it in a few words."""

    trajectory: Trajectory
    faults: tuple[str, ...]


def worst(run: RunReport, *, count: int = SHOWN) -> list[WorstEpisode]:
    """Return the worst trajectories, worst first: false success and duplicate writes, then runaways, then plain failures."""
    twins = paired(run.outcomes[CLEAN])
    found = [
        outcome
        for name, outcomes in run.outcomes.items()
        if name != CLEAN
        for outcome in outcomes
        if outcome.fired and _went_wrong(outcome, twins.get(outcome.pairing))
    ]
    found.sort(key=lambda one: (-4 * (one.duplicates > 0) - 2 * one.false_success - one.runaway, one.arm, one.pairing))
    chosen: list[Outcome] = []
    for outcome in found:
        same = [other for other in chosen if other.arm == outcome.arm]
        if len(same) < PER_ARM and outcome.case not in [other.case for other in same]:
            chosen.append(outcome)
        if len(chosen) == count:
            break
    wanted = {(outcome.arm, outcome.pairing): outcome for outcome in chosen}
    read = {
        (trajectory.arm, pairing): trajectory
        for trajectory in (read_run(run.path) if wanted else ())
        if (trajectory.arm, pairing := _pairing(trajectory)) in wanted
    }
    return [WorstEpisode(read[place], _faults(outcome)) for place, outcome in wanted.items()]


def _went_wrong(outcome: Outcome, twin: Outcome | None) -> bool:
    if outcome.duplicates > (twin.duplicates if twin else 0):
        return True
    return outcome.right is False and (twin is None or twin.right is not False)


def _faults(outcome: Outcome) -> tuple[str, ...]:
    faults: Sequence[tuple[bool, str]] = (
        (outcome.duplicates > 0, "wrote twice"),
        (outcome.false_success, "false success"),
        (outcome.runaway, "runaway"),
        (outcome.right is False and outcome.stop == "abstained", "gave up"),
        (outcome.stop == "failed", "broke down"),
    )
    return tuple(words for holds, words in faults if holds)


def _pairing(trajectory: Trajectory) -> tuple[str, str, int, int]:
    return (trajectory.scenario, trajectory.episode, trajectory.seed, trajectory.attempt)
