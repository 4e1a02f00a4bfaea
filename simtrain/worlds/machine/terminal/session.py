"""What a terminal needs to know of the machine that it stands at."""

from collections.abc import Iterable
from typing import Protocol

from simtrain.worlds.machine.files import Files
from simtrain.worlds.machine.terminal.jobs import MachineAccess


class LoginSession(MachineAccess, Protocol):
    """The state of a world, with the shell of the terminal in it."""

    @property
    def prompt(self) -> str:
        """Return the prompt of the shell."""
        ...

    @property
    def directory(self) -> str:
        """Return the working directory of the shell."""
        ...

    @property
    def home(self) -> str:
        """Return the home of its user."""
        ...

    @property
    def own_files(self) -> Files:
        """Return the files as its user sees them."""
        ...

    def command_names(self) -> Iterable[str]:
        """Return the names of all commands."""
        ...

    def awaits_more(self, script: str) -> bool:
        """Return whether a script is not complete."""
        ...

    def log_in_again(self) -> None:
        """Begin a new shell in place of the present one."""
        ...
