"""Live displays of long work: rate, success so far, time left; plain lines when the output is no terminal."""

from __future__ import annotations

import sys
from time import monotonic
from types import TracebackType
from typing import Any, Self

from simtrain.contracts.trajectory import SUCCESS
from simtrain.runs.runner import FinishedRollout

PLAIN_EVERY = 5.0
SHOWN_AFTER = 2.0


def speed(per_second: float) -> str:
    """Return a rate in the unit in which it is at least 1: a second, a minute or an hour."""
    if per_second >= 100:
        return f"{per_second:,.0f}/s"
    for unit, seconds in (("s", 1), ("min", 60)):
        if per_second * seconds >= 1:
            return f"{per_second * seconds:,.1f}/{unit}"
    return f"{per_second * 3600:,.1f}/h"


class RunProgress:
    """Shown on standard error, so that standard output stays clean for --json."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._live: Any = None
        self._task: Any = None
        self._total = 0
        self._done = 0
        self._graded = 0
        self._successes = 0
        self._begun = monotonic()
        self._ended: float | None = None
        self._printed = self._begun

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = monotonic()
        if self._live is not None:
            self._live.stop()

    @property
    def seconds(self) -> float:
        """Seconds since the first episode was dealt."""
        return (self._ended or monotonic()) - self._begun

    @property
    def rate(self) -> float:
        """Episodes a second."""
        return self._done / self.seconds if self.seconds > 0 else 0.0

    def planned(self, total: int) -> None:
        """The run begins: so many episodes will be played."""
        self._total, self._begun = total, monotonic()
        self._printed = self._begun
        if not self._quiet and sys.stderr.isatty():
            self._start_live()

    def played(self, played: FinishedRollout) -> None:
        """One episode more."""
        self._done += 1
        if played.reward is not None:
            self._graded += 1
            self._successes += played.reward >= SUCCESS
        if self._live is not None:
            self._live.update(self._task, completed=self._done, success=self._success(), rate=speed(self.rate))
        elif not self._quiet and monotonic() - self._printed > PLAIN_EVERY:
            self._printed = monotonic()
            left = (self._total - self._done) / self.rate if self.rate else 0.0
            print(
                f"{self._done}/{self._total} episodes, {speed(self.rate)}, success {self._success()}, {left:,.0f} s left",
                file=sys.stderr,
                flush=True,
            )

    def _success(self) -> str:
        return f"{self._successes / self._graded:.1%}" if self._graded else "-"

    def _start_live(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        from simtrain.cli.options import console

        self._live = Progress(
            TextColumn("playing"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TextColumn("success {task.fields[success]}"),
            TimeRemainingColumn(),
            console=console(stderr=True),
            refresh_per_second=8,
        )
        self._task = self._live.add_task("", total=self._total, success="-", rate="-")
        self._live.start()


class Counting:
    """So many of `total` done, on standard error, once it takes longer than SHOWN_AFTER seconds."""

    def __init__(self, doing: str, *, total: int | None = None, quiet: bool = False) -> None:
        self.done = 0
        self._doing = doing
        self._total = total
        self._quiet = quiet
        self._bar: Any = None
        self._task: Any = None
        self._begun = monotonic()
        self._next = self._begun + SHOWN_AFTER

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self) -> None:
        """One more is done."""
        self.done += 1
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done, rate=speed(self._rate()))
        elif not self._quiet and monotonic() >= self._next:
            self._show()

    def _show(self) -> None:
        if not sys.stderr.isatty():
            self._next = monotonic() + PLAIN_EVERY
            print(f"{self._doing}: {self._counted()}", file=sys.stderr, flush=True)
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        from simtrain.cli.options import console

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=console(stderr=True),
            refresh_per_second=8,
        )
        self._task = self._bar.add_task(self._doing, total=self._total, completed=self.done, rate="-")
        self._bar.start()

    def _counted(self) -> str:
        """Return how many are done, of how many, how fast, and how long the rest will take."""
        rate = self._rate()
        if self._total is None:
            return f"{self.done}, {speed(rate)}"
        return f"{self.done} of {self._total}, {speed(rate)}, {(self._total - self.done) / rate:,.0f} s left"

    def _rate(self) -> float:
        return self.done / max(monotonic() - self._begun, 1e-6)
