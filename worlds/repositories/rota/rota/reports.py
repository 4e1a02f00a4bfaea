"""Figures about past runs."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from rota.durations import format_duration
from rota.errors import RotaError
from rota.scheduler import Run


@dataclass(frozen=True)
class Figures:
    """About the runs of one job. `rate` is the share that went well."""

    runs: int
    rate: float
    mean: float
    longest: float
    late: float


class Report:
    """Reads runs and never changes them."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._runs = [run for run in runs if run.ended is not None]

    @cached_property
    def jobs(self) -> list[str]:
        """The jobs that ran."""
        return sorted({run.job for run in self._runs})

    def figures(self, job: str) -> Figures:
        """Return the figures of one job."""
        runs = [run for run in self._runs if run.job == job]
        if not runs:
            raise RotaError(f"{job!r} never ran")
        good = sum(run.outcome == "ok" for run in runs)
        seconds = [run.seconds for run in runs]
        return Figures(
            runs=len(runs),
            rate=good / len(runs),
            mean=sum(seconds) / len(seconds),
            longest=max(seconds),
            late=max(run.late for run in runs),
        )

    def streak(self, job: str) -> int:
        """Return how many runs in a row went well, until now; negative: how many failed."""
        count = 0
        for run in reversed([run for run in self._runs if run.job == job]):
            step = 1 if run.outcome == "ok" else -1
            if count * step < 0:
                break
            count += step
        return count

    def percentile(self, job: str, share: float) -> float:
        """Return the seconds that this share of the runs did not exceed."""
        seconds = sorted(run.seconds for run in self._runs if run.job == job)
        if not seconds:
            raise RotaError(f"{job!r} never ran")
        if not 0 < share <= 1:
            raise RotaError(f"a share of {share:g} is not between 0 and 1")
        return seconds[max(0, -int(-share * len(seconds) // 1) - 1)]

    def busy(self, start: datetime, end: datetime) -> float:
        """Return the mean number of runs at the same time between two moments."""
        span = (end - start).total_seconds()
        if span <= 0:
            raise RotaError("the end is not after the start")
        total = 0.0
        for run in self._runs:
            shared = (min(run.ended, end) - max(run.started, start)).total_seconds()
            total += max(0.0, shared)
        return total / span

    def table(self) -> str:
        """Return the figures of all jobs as lines of text."""
        width = max((len(job) for job in self.jobs), default=3)
        lines = [f"{'job':<{width}}  runs    ok  mean"]
        for job in self.jobs:
            found = self.figures(job)
            mean = format_duration(found.mean)
            lines.append(f"{job:<{width}}  {found.runs:>4}  {found.rate:>4.0%}  {mean}")
        return "\n".join(lines)
