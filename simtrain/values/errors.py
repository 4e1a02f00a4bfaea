"""The errors of simtrain: each type says who is to blame, each message is one line that says what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path


class SimtrainError(Exception):
    """Any error that simtrain raises on purpose."""


class InputError(SimtrainError):
    """A file, an argument or an option that cannot be used: its author must fix it.

    `str(error)` is one line, `file:line: place: problem; remedy`; unknown parts are left out.
    The command line prints it and exits with code 2.
    """

    def __init__(
        self,
        problem: str,
        *,
        remedy: str | None = None,
        file: Path | str | None = None,
        line: int | None = None,
        place: str | None = None,
    ) -> None:
        # One line, whatever the quoted part of a file contains.
        self.problem = " ".join(problem.split())
        self.remedy = remedy
        self.file = str(file) if file is not None else None
        self.line = line
        self.place = place
        super().__init__(self.problem)

    def at(self, *, file: Path | str | None = None, line: int | None = None, place: str | None = None) -> InputError:
        """Return the same error with its unknown parts filled in."""
        return InputError(
            self.problem,
            remedy=self.remedy,
            file=self.file or file,
            # What is known already is closer to the mistake than what a caller adds.
            line=self.line or line,
            place=self.place or place,
        )

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.file and self.line else self.file
        head = ": ".join(part for part in (where, self.place) if part)
        body = f"{self.problem}; {self.remedy}" if self.remedy else self.problem
        return f"{head}: {body}" if head else body


class UnboundTools(InputError):
    """The agent never binds the tools that it is offered: a mistake in its wiring."""


class SimulatorFault(SimtrainError):
    """The simulator could not answer: recorded in the trajectory, never blamed on the agent, never rewarded."""


class ModelFault(SimtrainError):
    """A language model could not be reached or read after all retries: not the agent's fault; the episode is played again on resume."""


class RunFault(SimtrainError):
    """A run ended early although its input is fine: a worker died. Finished episodes are kept."""


class EpisodeOver(SimtrainError):
    """The episode has ended, by a limit or because it was closed: no further calls are carried out."""


class AgentFault(SimtrainError):
    """The agent itself failed (an exception in its code, an unreadable answer)."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a remedy for a misspelt name: the nearest known one, else the known ones (at most twelve)."""
    # Sorted, so that the message is the same in every process.
    names = sorted(known)
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    if not names:
        return "none is known here"
    shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    return f"known: {shown}"
