"""What the tools of a coding agent work on: the files of a machine, and what the agent has read of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from errno import EACCES, EISDIR, ENOENT, ENOSPC, ENOTDIR, EPERM, EROFS
from hashlib import blake2b
from posixpath import join, normpath

from simtrain.values.types import JsonObject, Observation
from simtrain.worlds.machine.accounts import User
from simtrain.worlds.machine.engine import Result
from simtrain.worlds.machine.files import Files
from simtrain.worlds.machine.machine import Machine

_ERRORS = {
    EACCES: ("EACCES", "permission denied"),
    EPERM: ("EPERM", "operation not permitted"),
    EISDIR: ("EISDIR", "illegal operation on a directory"),
    ENOTDIR: ("ENOTDIR", "not a directory"),
    ENOENT: ("ENOENT", "no such file or directory"),
    ENOSPC: ("ENOSPC", "no space left on device"),
    EROFS: ("EROFS", "read-only file system"),
}
"""Names and texts of errors as Node.js words them, in which most coding agents are written."""


class CodingRefusal(Exception):
    """A call that the tool refuses; its text is what the agent reads."""


@dataclass(slots=True)
class Notes:
    """What a coding agent has read, as path -> digest of the content then, and its list of things to do."""

    seen: dict[str, bytes] = field(default_factory=dict[str, bytes])
    todos: list[JsonObject] = field(default_factory=list[JsonObject])

    def copy(self) -> Notes:
        """Return an independent copy, for a fork."""
        return Notes(dict(self.seen), list(self.todos))


@dataclass(frozen=True, slots=True)
class CodingDesk:
    """The machine as the tools of one call see it: its files as the user's, the directory of the shell, the agent's notes."""

    machine: Machine
    user: User
    directory: str
    notes: Notes

    @property
    def files(self) -> Files:
        """Return the files as the user sees them."""
        return self.machine.files(self.user)

    def path(self, name: str) -> str:
        """Return the absolute path of a name; `~` is the home."""
        if name == "~" or name.startswith("~/"):
            name = f"{self.user.home}{name[1:]}"
        return normpath(join(self.directory, name)).replace("//", "/")

    def note(self, path: str, content: bytes) -> None:
        """Remember that the agent knows the content of a file."""
        self.notes.seen[self.files.real(path)] = _digest(content)

    def require_known(self, path: str, content: bytes) -> None:
        """Raise CodingRefusal unless the agent has read a file as it is now."""
        seen = self.notes.seen.get(self.files.real(path))
        if seen is None:
            raise CodingRefusal("File has not been read yet. Read it first before writing to it.")
        if seen != _digest(content):
            raise CodingRefusal(
                "File has been modified since read, either by the user or by a linter. Read it again before attempting to write it."
            )

    def run(self, script: str) -> Result:
        """Run a script in a shell of its own, in the directory of the agent's."""
        return self.machine.run_child(
            script, user=self.user, stdin=None, environment={}, directory=self.directory, limit=None
        )


def refused(text: str) -> Observation:
    """Return the reply to a call that was refused."""
    return Observation(text, is_error=True)


def file_error(error: OSError, doing: str) -> Observation:
    """Return the reply for a file that cannot be used: `EACCES: permission denied, open '/etc/shadow'`."""
    name, text = _ERRORS.get(error.errno or 0, (f"E{error.errno}", error.strerror or str(error)))
    return refused(f"{name}: {text}, {doing} '{error.filename}'" if error.filename else f"{name}: {text}, {doing}")


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).digest()
