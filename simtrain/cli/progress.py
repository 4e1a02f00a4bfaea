"""Live displays of long work, on standard error: bars with rate and remaining time; plain lines if it is not a terminal."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from time import monotonic
from typing import TYPE_CHECKING, Any

from simtrain.cli.options import console
from simtrain.cli.tables import short
from simtrain.contracts.trajectory import SUCCESS
from simtrain.values.terminal_text import in_line

if TYPE_CHECKING:
    from simtrain.drills.drill import Watch
    from simtrain.runs.runner import FinishedRollout

PLAIN_EVERY = 5.0
SHOWN_AFTER = 2.0


def speed(per_second: float) -> str:
    """Return a rate per second, minute or hour: the first unit in which it is at least 1."""
    if per_second >= 100:
        return f"{per_second:,.0f}/s"
    for unit, seconds in (("s", 1), ("min", 60)):
        if per_second * seconds >= 1:
            return f"{per_second * seconds:,.1f}/{unit}"
    return f"{per_second * 3600:,.1f}/h"


class _Display(ExitStack):
    """A display that ends with its block; nothing is shown when it is `quiet`."""

    def __init__(self, *, quiet: bool = False) -> None:
        super().__init__()
        self._quiet = quiet
        self._bar: Any = None
        self._task: Any = None
        self._begun = self._printed = monotonic()

    def _show_bar(self, *columns: str, transient: bool = False) -> Any:
        """Show a bar, with its description before it and columns (fields of the task) after it."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = self.enter_context(
            Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                *map(TextColumn, columns),
                TimeRemainingColumn(),
                console=console(stderr=True),
                refresh_per_second=8,
                transient=transient,
            )
        )
        return self._bar

    def _say(self, text: str) -> None:
        self._printed = monotonic()
        print(text, file=sys.stderr, flush=True)


class RunProgress(_Display):
    """The episodes of a run, how fast they are played, and how many succeed; by agent, where several play one after the other."""

    def __init__(self, agent: str = "", *, quiet: bool = False) -> None:
        super().__init__(quiet=quiet)
        self._agent = in_line(agent)
        self._total = 0
        self._done = 0
        self._graded = 0
        self._successes = 0
        self._ended: float | None = None
        self.callback(self._end)

    def _end(self) -> None:
        self._ended = monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the first episode was dealt."""
        return (self._ended or monotonic()) - self._begun

    @property
    def rate(self) -> float:
        """Episodes a second."""
        return self._done / self.seconds if self.seconds > 0 else 0.0

    def planned(self, total: int) -> None:
        """Begin a run of this many episodes."""
        self._total, self._begun = total, monotonic()
        self._printed = self._begun
        # In a log file a bar would leave a line for each refresh.
        if not self._quiet and sys.stderr.isatty():
            from rich.markup import escape

            self._show_bar("{task.fields[rate]}", "success {task.fields[success]}")
            self._task = self._bar.add_task(
                escape(short(self._agent)) or "playing", total=self._total, success="-", rate="-"
            )

    def played(self, played: FinishedRollout) -> None:
        """Count one more finished episode."""
        self._done += 1
        if played.reward is not None:
            self._graded += 1
            self._successes += played.reward >= SUCCESS
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done, success=self._success(), rate=speed(self.rate))
        elif not self._quiet and monotonic() - self._printed > PLAIN_EVERY:
            left = (self._total - self._done) / self.rate if self.rate else 0.0
            agent = f"{self._agent}: " if self._agent else ""
            done = f"{agent}{self._done}/{self._total} episodes, {speed(self.rate)}"
            self._say(f"{done}, success {self._success()}, {left:,.0f} s left")

    def _success(self) -> str:
        return f"{self._successes / self._graded:.1%}" if self._graded else "-"


class Counting(_Display):
    """Counts steps out of `total`, shown only after SHOWN_AFTER seconds."""

    def __init__(self, doing: str, *, total: int | None = None, quiet: bool = False) -> None:
        super().__init__(quiet=quiet)
        self.done = 0
        self._doing = doing
        self._total = total
        self._next = self._begun + SHOWN_AFTER

    def advance(self, count: int = 1) -> None:
        """Count so many more steps as done."""
        self.done += count
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done, rate=speed(self._rate()))
        elif not self._quiet and monotonic() >= self._next:
            self._show()

    def _show(self) -> None:
        if sys.stderr.isatty():
            self._show_bar("{task.fields[rate]}")
            self._task = self._bar.add_task(self._doing, total=self._total, completed=self.done, rate="-")
        else:
            self._next = monotonic() + PLAIN_EVERY
            self._say(f"{self._doing}: {self._counted()}")

    def _counted(self) -> str:
        """Return the steps done, the total, the rate, and the remaining time."""
        rate = self._rate()
        if self._total is None:
            return f"{self.done}, {speed(rate)}"
        return f"{self.done} of {self._total}, {speed(rate)}, {(self._total - self.done) / rate:,.0f} s left"

    def _rate(self) -> float:
        return self.done / max(monotonic() - self._begun, 1e-6)


class BuildProgress(_Display):
    """The phases of a build, one bar at a time."""

    def __init__(self, *, quiet: bool = False) -> None:
        super().__init__(quiet=quiet)
        self._doing = ""
        self._total: int | None = None
        self._done = self._before = 0

    def phase(self, doing: str, total: int | None = None) -> None:
        """Begin a new part of the work."""
        self._doing, self._total, self._begun = doing, total, monotonic()
        self._done = self._before = 0
        if self._quiet:
            return
        if sys.stderr.isatty():
            if self._bar is not None:
                self._bar.remove_task(self._task)
            bar = self._bar or self._show_bar("{task.fields[rate]}", transient=True)
            self._task = bar.add_task(doing, total=total, rate="")
        elif total is None or total > 1000:
            self._say(doing if total is None else f"{doing}: {total:,}")

    def advance(self, count: int) -> None:
        """Count this many more as done."""
        # Work reused from an earlier build must not count towards this build's rate.
        if self._done == 0 and count > 0:
            self._before, self._begun = count, monotonic()
        self._done += count
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done, rate=speed(self._rate()))
        elif (
            not self._quiet and self._total and self._done > self._before and monotonic() - self._printed > PLAIN_EVERY
        ):
            left = (self._total - self._done) / max(self._rate(), 1e-9)
            self._say(f"{self._doing}: {self._done:,} of {self._total:,}, {speed(self._rate())}, {left:,.0f} s left")

    def _rate(self) -> float:
        return (self._done - self._before) / max(monotonic() - self._begun, 1e-3)


class CaptureProgress(_Display):
    """A line for each server at work. `doing` is the `watch` callback of a capture."""

    def __init__(self, *, quiet: bool = False) -> None:
        super().__init__(quiet=quiet)
        self._tasks: dict[str, Any] = {}
        if not quiet and sys.stderr.isatty():
            self._show_lines()

    def doing(self, server: str, what: str) -> None:
        """Show the progress of a server; the last word is "captured" or "failed"."""
        if self._bar is not None:
            if server not in self._tasks:
                self._tasks[server] = self._bar.add_task("", server=in_line(server), what="", total=None)
            total = 1 if what.startswith(("captured", "failed")) else None
            self._bar.update(self._tasks[server], what=what, total=total, completed=total or 0)
        elif not self._quiet and what.startswith("captured"):
            self._say(f"{in_line(server)}: {what}")

    def _show_lines(self) -> None:
        from rich.progress import Progress, SpinnerColumn, TextColumn

        # Without markup: names of servers may contain square brackets.
        fields = (TextColumn(f"{{task.fields[{name}]}}", markup=False) for name in ("server", "what"))
        shown: Any = Progress(SpinnerColumn(), *fields, console=console(stderr=True), refresh_per_second=8)
        self._bar = self.enter_context(shown)


class DrillProgress(ExitStack):
    """The displays of a drill: one for the episodes of each agent, one for its proofs."""

    def __init__(self, *, quiet: bool = False) -> None:
        super().__init__()
        self._quiet = quiet

    @property
    def watch(self) -> Watch:
        """Show the progress of a drill."""
        from simtrain.drills.drill import Watch

        return Watch(
            self._planned, lambda played: self._run.played(played), self._proving, lambda: self._proofs.advance()
        )

    def _planned(self, total: int) -> None:
        self.close()
        self._run = self.enter_context(RunProgress(quiet=self._quiet))
        self._run.planned(total)

    def _proving(self, total: int) -> None:
        self.close()
        self._proofs = self.enter_context(Counting("proving", total=total, quiet=self._quiet))


class Parts(_Display):
    """Long work in parts, one after the other, each with its own number of steps, rate and remaining time."""

    def __init__(self, *, quiet: bool = False) -> None:
        super().__init__(quiet=quiet)
        self._name, self._total = "", 0
        self._first: int | None = None

    def begin(self, name: str, total: int) -> None:
        """Begin a part of so many steps."""
        self._name, self._total, self._first = name, total, None
        self._begun = monotonic()
        if self._quiet or not total:
            return
        if not sys.stderr.isatty():
            self._say(f"{name}: {total}")
            return
        bar = self._bar or self._show_bar("{task.fields[note]}")
        self._task = bar.add_task(name, total=total, note="")

    def step(self, done: int, note: str) -> None:
        """Show that so many steps are done. A part that was resumed does not begin at 1."""
        if self._first is None:
            self._first = done - 1
        if self._quiet:
            return
        if self._bar is not None:
            self._bar.update(self._task, completed=done, note=note)
        elif monotonic() - self._printed > PLAIN_EVERY or done == self._total:
            rate = (done - self._first) / max(monotonic() - self._begun, 1e-6)
            left = (self._total - done) / rate
            self._say(f"{self._name}: {done} of {self._total}, {speed(rate)}, {note}, {left:,.0f} s left")
