"""The contract of a command: a function of one invocation that returns what it prints and its exit code."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from posixpath import join, normpath
from typing import TypeAlias

from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.machine.accounts import User
from simtrain.worlds.machine.engine import Result
from simtrain.worlds.machine.files import Files
from simtrain.worlds.machine.machine import Machine


@dataclass(frozen=True, slots=True)
class Invocation:
    """One invocation of a command: how it was called, the files as its user sees them, and the machine that it runs on.

    `stdin` is None where nothing is piped or redirected to the command. Bytes that are no UTF-8 have been lost on their way
    through a pipe; files keep them.
    """

    name: str
    arguments: tuple[str, ...]
    stdin: str | None
    environment: Mapping[str, str]
    directory: str
    files: Files
    machine: Machine

    @property
    def user(self) -> User:
        """Return who runs the command."""
        return self.files.user

    @property
    def now(self) -> float:
        """Return what the machine takes for the time, in Unix seconds."""
        return self.machine.moment

    @property
    def moment(self) -> float:
        """Return the time of the world, which jobs, waits and limits go by, in Unix seconds."""
        return self.machine.clock.moment

    def path(self, name: str) -> str:
        """Return the absolute path of a name that was given on the command line."""
        return self.directory if name == "." else join(self.directory, name.removeprefix("./"))

    def plain_path(self, name: str) -> str:
        """Return the same without `.` and `..`, as text: links are not followed."""
        return normpath(join(self.directory, name)).replace("//", "/")

    def fail(self, text: str, *, exit_code: int = 1) -> Result:
        """Return a failure with `NAME: text` on stderr."""
        return Result(stderr=f"{self.name}: {text}\n", exit_code=exit_code)

    def run(
        self,
        script: str,
        *,
        stdin: str | None = None,
        user: User | None = None,
        machine: Machine | None = None,
        environment: Mapping[str, str] | None = None,
        directory: str | None = None,
        limit: float | None = None,
    ) -> Result:
        """Run a script in a child process and return what it left; by default as the same user, in the same directory.

        `limit` is the most virtual seconds that it may take; then it is stopped, and its exit code is 124.
        """
        there = machine or self.machine
        return there.run_child(
            script,
            user=user or self.user,
            stdin=stdin,
            environment=self.environment if environment is None else environment,
            directory=directory or self.directory,
            limit=limit,
        )

    def sleep(self, seconds: float) -> None:
        """Let virtual time pass, which costs none. A script whose time is up meanwhile is stopped."""
        self.machine.pass_time(seconds)

    def read(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> list[JsonObject]:
        """Return the rows of a SELECT over the world: processes, services, packages, crontab and the author's own tables."""
        return self.machine.records.read(sql, parameters)

    def write(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> int:
        """Carry out a writing statement over the same tables, and return the number of rows."""
        return self.machine.records.write(sql, parameters)


Command: TypeAlias = Callable[[Invocation], Result]
"""A command of ours: it takes one invocation and returns what it printed. It raises OSError for a file that it cannot use: that is
printed as `NAME: FILE: TEXT` with exit code 1."""


def paths_of(name: str) -> tuple[str, ...]:
    """Return the words that call a program: its name, and its paths."""
    return name, f"/usr/bin/{name}", f"/bin/{name}"


def quoted(arguments: Sequence[str]) -> str:
    """Return arguments as a command line that the shell splits into the same again."""
    from shlex import join as joined

    return joined(arguments)
