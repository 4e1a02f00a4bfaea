"""What a shell must do for a machine. The engine behind it is bashkit (`bashkit_shell.py`); another one implements the same."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

Ending: TypeAlias = Literal["", "timeout", "memory", "recursion", "processes"]
"""How a script ended: by itself, since its time ran out, since it took too much memory, since it called itself too deeply, or since its
user had no process left."""

NO_PROCESS = "bash: fork: retry: Resource temporarily unavailable\n"
TIMED_OUT = 124
"""Exit code of a script whose time ran out, as of `timeout`."""
ENDINGS: Mapping[Ending, tuple[int, str]] = {
    "timeout": (TIMED_OUT, ""),
    "memory": (137, "Killed\n"),
    "recursion": (139, "Segmentation fault (core dumped)\n"),
    "processes": (254, NO_PROCESS),
}
"""Exit code of a script that did not end by itself, and what a shell says of it."""


@dataclass(frozen=True, slots=True)
class Finished:
    """What a script left: both streams, both as a terminal shows them together, the exit code, and how it ended."""

    stdout: str
    stderr: str
    screen: str
    exit_code: int
    ending: Ending = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What a command printed, and its exit code."""

    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0


class Shell(Protocol):
    """A shell of one user on one machine. Directory, variables and functions last from one script to the next; files are the machine's.

    It is used by one thread at a time.
    """

    @property
    def directory(self) -> str:
        """Return the working directory."""
        ...

    def run(self, script: str, *, stdin: str | None = None, listen: Callable[[str], None] | None = None) -> Finished:
        """Run a script to its end. `listen` gets what a terminal shows, as soon as it is written."""
        ...

    def awaits_more(self, script: str) -> bool:
        """Return whether a script that was typed so far is not complete, such as a loop without its `done`."""
        ...

    def stop(self, why: Ending = "timeout") -> None:
        """End the running script at its next command. Commands of ours call it when the script's time is up, or no process is left."""
        ...

    def save(self) -> bytes:
        """Return directory, variables and functions, from which a shell can be opened again."""
        ...

    def close(self) -> None:
        """Give back what the shell holds; it is not used any more."""
        ...
