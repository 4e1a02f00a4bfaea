"""Scripts that take virtual time while the terminal goes on: they are run up to the present moment, and further as time passes.

The engine runs a script to its end. One that is not done by a given moment is stopped there: the files, processes and variables are then
as they are at that moment. When more time has passed, it is run again from where it began, up to the later moment, and what it leaves
takes the place of what it left before. All chance and time comes from the episode, so the second run repeats the first and goes on.
Ctrl-C needs nothing: what was not reached by then has not happened.

To have the state in which a script began, without a copy before each line, an older copy is kept with the lines run since.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, Self, TypeVar

from simtrain.values.clock import Clock
from simtrain.worlds.machine.engine import Finished

MOST_LINES = 25
"""Most lines that are run again to reach the beginning of the present one."""


@dataclass(frozen=True, slots=True)
class Output:
    """A piece of output, and the Unix time at which it is written."""

    moment: float
    text: str


@dataclass(frozen=True, slots=True)
class Script:
    """A script that was run: when it began, and when it was given up, if it was."""

    script: str
    stdin: str | None
    began: float
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A script that is still running; all that it has written before `seen` is on the screen, and `shown`. `endless` ones never end by
    themselves."""

    line: Script
    seen: float
    endless: bool = False
    shown: str = ""


class ShellState(Protocol):
    """The state of a world in which scripts run."""

    clock: Clock

    def run_script(
        self, script: str, *, stdin: str | None, until: float | None, listen: Callable[[str], None] | None = None
    ) -> Finished:
        """Run a script in the open shell, up to a moment at most."""
        ...

    def bare_fork(self) -> Self:
        """Return an independent copy without a terminal."""
        ...

    def become(self, other: Self) -> None:
        """Become another state, which is then no longer used; the clock stays."""
        ...

    def close(self) -> None:
        """Free what it holds."""
        ...


S = TypeVar("S", bound=ShellState)


class Running(Generic[S]):
    """The scripts of one terminal, in the state that it belongs to."""

    __slots__ = ("_before", "_lines", "code", "state", "unfinished")

    def __init__(self, state: S) -> None:
        self.state = state
        self.code = 0
        self.unfinished: Unfinished | None = None
        self._before: S | None = None
        self._lines: list[Script] = []

    def copy(self, state: S) -> Running[S]:
        """Return the same for a fork of the state."""
        other = Running(state)
        other.unfinished, other.code = self.unfinished, self.code
        # A fork that has nothing running begins its own copy when it first runs something.
        if self.unfinished is not None and self._before is not None:
            other._before, other._lines = self._before.bare_fork(), list(self._lines)
        return other

    def run(self, script: str, *, stdin: str | None, until: float) -> list[Output]:
        """Run a script up to a moment at most, and return what it writes; `unfinished` says whether it goes on, `code` how it ended."""
        if self._before is None or len(self._lines) >= MOST_LINES:
            self.forget()
            self._before = self.state.bare_fork()
        line = Script(script, stdin, self.state.clock.moment)
        pieces, finished = play(self.state, line, until)
        clock = self.state.clock
        self.code = finished.exit_code
        if finished.ending != "timeout":
            self._lines.append(line)
        else:
            self.unfinished = Unfinished(line, until, endless=clock.moment < until, shown=_text(pieces))
            clock.moment = until
        return pieces

    def go_on(self, until: float) -> tuple[list[Output], float]:
        """Let what is unfinished go on up to a moment; return what it has written since, and when it ended, or the moment."""
        running = self.unfinished
        if running is None or running.endless or until <= running.seen:
            return [], until
        later = self._beginning().bare_fork()
        later.clock.moment = running.line.began
        pieces, finished = play(later, running.line, until)
        ended = later.clock.moment
        self.state.become(later)
        self.code = finished.exit_code
        if finished.ending == "timeout":
            self.unfinished = replace(running, seen=until, endless=ended < until, shown=_text(pieces))
        else:
            self._lines.append(running.line)
            self.unfinished = None
        return _since(running, pieces), min(ended, until)

    def give_up(self) -> Unfinished | None:
        """Leave what is unfinished as it is now, and return it."""
        running, self.unfinished = self.unfinished, None
        if running is not None and running.endless:
            self.forget()
        elif running is not None:
            self._lines.append(replace(running.line, until=running.seen))
        return running

    def set_aside(self) -> tuple[Unfinished, S] | None:
        """Give up what is unfinished, and return it with the state in which it began; None if it cannot go on."""
        running = self.unfinished
        if running is None or running.endless:
            return None
        before = self._beginning()
        self.unfinished, self._before = None, None
        return running, before

    def written_by_others(self, write: Callable[[S], object]) -> None:
        """Take note of a write that no script made: one that is unfinished is taken to have met it from its beginning."""
        if self.unfinished is None:
            self.forget()
        elif not self.unfinished.endless:
            write(self._beginning())

    def forget(self) -> None:
        """Give up the older copy."""
        if self._before is not None:
            self._before.close()
        self._before, self._lines = None, []

    def _beginning(self) -> S:
        """Return the state in which the unfinished script began."""
        before = self._before
        assert before is not None, "it is kept while a script is unfinished"
        for line in self._lines:
            before.clock.moment = line.began
            play(before, line, line.until)
        self._lines.clear()
        return before


def _text(pieces: Sequence[Output]) -> str:
    return "".join(piece.text for piece in pieces)


def _since(running: Unfinished, pieces: Sequence[Output]) -> list[Output]:
    """Return what a script has written that is not on the screen yet.

    Where it has met what a job did meanwhile, as though that had come before it, it may have written it earlier than it is seen now.
    """
    text = _text(pieces)
    if pieces and text.startswith(running.shown):
        return [Output(pieces[-1].moment, text[len(running.shown) :])]
    return [piece for piece in pieces if piece.moment >= running.seen]


def play(state: ShellState, line: Script, until: float | None) -> tuple[list[Output], Finished]:
    """Run a script in a state, up to a moment at most; return what it writes, and how it ended."""
    pieces: list[Output] = []
    clock = state.clock
    finished = state.run_script(
        line.script, stdin=line.stdin, until=until, listen=lambda text: pieces.append(Output(clock.moment, text))
    )
    heard = _text(pieces)
    # Errors of the parser, and what is said of a script that was ended, are known only at the end.
    if finished.screen.startswith(heard) and len(finished.screen) > len(heard):
        pieces.append(Output(clock.moment, finished.screen[len(heard) :]))
    return pieces, finished
