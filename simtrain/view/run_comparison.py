"""Several runs beside each other: success by suite and scenario, paired differences to the first, and where they disagree."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlencode

from simtrain.contracts.trajectory import SUCCESS
from simtrain.runs.intervals import Interval, difference_interval
from simtrain.runs.run_folder import scenario_digests
from simtrain.view.addresses import PLACE, key_of
from simtrain.view.figures import Group, GroupFigures, figures
from simtrain.view.filters import Filter
from simtrain.view.shelf import ShelvedRun

MOST_DISAGREEMENTS = 200

Place: TypeAlias = tuple[str, str, str, int]
"""Scenario, case, arm and attempt: what pairs the episodes of two runs."""


@dataclass(frozen=True)
class FiguresRow:
    """One group of episodes: its figures in each of the runs, None where a run has no such episode."""

    name: str
    cells: tuple[GroupFigures | None, ...]


@dataclass(frozen=True)
class PairedDifference:
    """A run against the first, over the graded episodes that both have. `mean` is the difference in success, None without a pair."""

    run: str
    pairs: int
    better: int
    worse: int
    mean: float | None
    interval: Interval


@dataclass(frozen=True)
class Disagreement:
    """An episode that some of the runs solved and others did not, with the reward in each (None if it has none there)."""

    scenario: str
    episode: str
    arm: str
    attempt: int
    rewards: tuple[float | None, ...]
    address: str


@dataclass(frozen=True)
class RunComparison:
    """What the page of several runs shows. `disagreements` holds the first of `disagreeing` episodes."""

    runs: tuple[ShelvedRun, ...]
    totals: tuple[GroupFigures | None, ...]
    suites: tuple[FiguresRow, ...]
    scenarios: tuple[FiguresRow, ...]
    paired: tuple[PairedDifference, ...]
    disagreeing: int
    disagreements: tuple[Disagreement, ...]
    changed: tuple[str, ...]


def compare_runs(runs: Sequence[ShelvedRun]) -> RunComparison:
    """Return the comparison of runs whose indexes are up to date."""
    rewards = [_rewards(run) for run in runs]
    apart = [place for place in sorted(set[Place]().union(*rewards)) if _disagree(place, rewards)]
    totals = _rows(runs, "all")
    return RunComparison(
        tuple(runs),
        totals[0].cells if totals else tuple(None for _ in runs),
        _rows(runs, "suite"),
        _rows(runs, "scenario"),
        tuple(_paired(run, rewards[0], its) for run, its in zip(runs[1:], rewards[1:], strict=True)),
        len(apart),
        tuple(_disagreement(place, runs, rewards) for place in apart[:MOST_DISAGREEMENTS]),
        _changed(runs),
    )


def _rewards(run: ShelvedRun) -> dict[Place, float]:
    rows = run.index.select(f"select {', '.join(PLACE)}, reward from episodes where reward is not null")
    return {(row["scenario"], row["episode"], row["arm"], row["attempt"]): row["reward"] for row in rows}


def _rows(runs: Sequence[ShelvedRun], by: Group) -> tuple[FiguresRow, ...]:
    found = [{group.name: group for group in figures(run.index, Filter(), by)} for run in runs]
    names = sorted(set[str]().union(*found))
    return tuple(FiguresRow(name, tuple(groups.get(name) for groups in found)) for name in names)


def _paired(run: ShelvedRun, first: Mapping[Place, float], its: Mapping[Place, float]) -> PairedDifference:
    cases = defaultdict[tuple[str, str], list[float]](list)
    for place in sorted(first.keys() & its.keys()):
        cases[place[:2]].append(float(_solved(its[place])) - float(_solved(first[place])))
    values = [value for case in cases.values() for value in case]
    return PairedDifference(
        run.name,
        len(values),
        values.count(1.0),
        values.count(-1.0),
        sum(values) / len(values) if values else None,
        difference_interval(list(cases.values())),
    )


def _disagree(place: Place, rewards: Sequence[Mapping[Place, float]]) -> bool:
    return len({_solved(one[place]) for one in rewards if place in one}) > 1


def _disagreement(place: Place, runs: Sequence[ShelvedRun], rewards: Sequence[Mapping[Place, float]]) -> Disagreement:
    named = dict(zip(PLACE, place, strict=True))
    keys = [("e", key_of(run, named)) for run, one in zip(runs, rewards, strict=True) if place in one]
    return Disagreement(*place, tuple(one.get(place) for one in rewards), f"/compare?{urlencode(keys)}")


def _solved(reward: float) -> bool:
    return reward >= SUCCESS


def _changed(runs: Sequence[ShelvedRun]) -> tuple[str, ...]:
    """Return the scenarios that were not the same in all runs that have them."""
    digests = defaultdict[str, set[str]](set)
    for run in runs:
        for name, digest in scenario_digests(run.facts).items():
            digests[name].add(digest)
    return tuple(sorted(name for name, found in digests.items() if len(found) > 1))
