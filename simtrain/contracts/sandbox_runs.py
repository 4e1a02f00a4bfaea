"""What a sandbox is given and what it gives back: files as values, one command, its limits, its outcome."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class File:
    """A regular file. `modified` is the Unix time of its last change; None means the start of the run."""

    content: bytes
    mode: int = 0o644
    modified: float | None = None


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder. Folders that hold something need not be named."""

    mode: int = 0o755


@dataclass(frozen=True, slots=True)
class SymbolicLink:
    """A symbolic link, to a path of the sandbox."""

    target: str


Entry: TypeAlias = File | Folder | SymbolicLink
Files: TypeAlias = Mapping[str, Entry]
"""Absolute path -> what lies there. It is a snapshot as well: a value that no run changes."""

Changes: TypeAlias = Mapping[str, Entry | None]
"""Absolute path -> what a run left there; None for what it removed. Sorted by path."""


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """What a run may use. A run that goes beyond is ended and says by what.

    `work` counts seconds of computing at the speed of the virtual clock, `seconds` virtual time with sleeps, `wall` real
    seconds: only a host that is very slow meets the last one first.
    """

    work: float = 30.0
    seconds: float = 600.0
    wall: float = 120.0
    memory: int = 256 << 20
    output: int = 1 << 20
    scratch: int = 64 << 20
    files: int = 20_000


@dataclass(frozen=True, slots=True)
class SandboxCommand:
    """One run: a command line over files. `start` is the virtual Unix time at which it begins.

    `access` says what the program may do with a file or folder that it may not do everything with, as the bits of one digit of
    a mode: 4 to read, 2 to write, 1 to run or to enter. Modes alone decide nothing: whose a file is, only the caller knows.
    """

    argv: tuple[str, ...]
    files: Files = field(default_factory=dict[str, Entry])
    stdin: bytes = b""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: str = "/"
    start: float = 1_893_456_000.0
    seed: int = 0
    uid: int = 1000
    gid: int = 1000
    access: Mapping[str, int] = field(default_factory=dict[str, int])
    limits: SandboxLimits = field(default_factory=SandboxLimits)


Ending: TypeAlias = Literal["work", "seconds", "wall", "memory", "output", "scratch", "crash"]
"""Which limit ended a run; `crash`: the interpreter itself failed, as on an overflow of its stack."""


@dataclass(frozen=True, slots=True)
class SandboxOutcome:
    """What a run did. `output` holds both streams in the order of writing: (1 for stdout or 2 for stderr, bytes).

    `seconds` is the virtual time that passed. `exact` is false when a second run may differ: a real clock ended it, or the
    backend has no virtual one.
    """

    exit_code: int
    output: tuple[tuple[int, bytes], ...]
    changes: Changes
    ended_by: Ending | None = None
    seconds: float = 0.0
    exact: bool = True

    @property
    def stdout(self) -> bytes:
        """Return what the run wrote to standard output."""
        return b"".join(part for stream, part in self.output if stream == 1)

    @property
    def stderr(self) -> bytes:
        """Return what the run wrote to standard error."""
        return b"".join(part for stream, part in self.output if stream == 2)


def changed(files: Files, changes: Changes) -> dict[str, Entry]:
    """Return the files after a run: the snapshot from which the next run starts."""
    after = dict(files)
    for path, entry in changes.items():
        if entry is None:
            after.pop(path, None)
        else:
            after[path] = entry
    return after
