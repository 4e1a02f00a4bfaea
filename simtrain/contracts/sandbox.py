"""The contract of sandboxes: where code of a simulated world really runs, never on the host."""

from abc import abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from simtrain.contracts.plugin import Plugin
from simtrain.contracts.sandbox_runs import SandboxCommand, SandboxOutcome


@dataclass(frozen=True, slots=True)
class SandboxProbe:
    """Whether a backend works on this machine, in one line: what was found, or what would make it work."""

    ok: bool
    found: str


class OpenSandbox(Protocol):
    """A sandbox that is ready to run commands, from any thread."""

    def run(self, command: SandboxCommand) -> SandboxOutcome:
        """Put the files in, run, take the changes out. Nothing stays. Raises SimulatorFault if the backend itself fails."""
        ...


class SandboxBackend(Plugin):
    """A backend: a way to run Python so that it reaches nothing of the host."""

    @abstractmethod
    def probe(self) -> SandboxProbe:
        """Return whether this backend works here. Runs a harmless program where that is the only way to know."""

    @abstractmethod
    def opened(self) -> AbstractContextManager[OpenSandbox]:
        """Return a context manager for a running sandbox. Raises InputError, with the remedy, if it does not work here."""
