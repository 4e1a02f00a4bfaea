"""Where the files of runs lie on the host. A folder that a run left in order serves the next, which writes only what differs."""

import os
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TypeGuard

from simtrain.contracts.sandbox_runs import (
    Changes,
    Entry,
    File,
    Folder,
    SandboxCommand,
    SandboxLimits,
    SymbolicLink,
)
from simtrain.values.errors import SimulatorFault
from simtrain.worlds.sandbox.scratch import Scratch, remove
from simtrain.worlds.sandbox.wasm.wire import PlacedCommand, PlayedCommand, placed

OWN = ("/dev/", "/usr/lib/python3", "/usr/share/zoneinfo")
NOBODY = 65_534
_FOLDERS = ("/tmp", "/dev", "/usr/bin")
_SHARE = 16
_NANOSECONDS = 1_000_000_000
# By their times the component tells the files written here from others: for an hour, so that a run must end within it.
_LONGEST_KEPT = 1_800 * _NANOSECONDS
_MOST_KEPT = 16 << 20


class CommandFolder:
    """One folder, with the files of the run that it is filled for."""

    def __init__(self, place: str, command: SandboxCommand) -> None:
        """Write the files. Raises SimulatorFault for a path that does not fit."""
        self._place = place
        Path(place).chmod(0o711)
        self._files = _put_in(command)
        self._scratch = Scratch(
            f"{place}/files", self._files, start=command.start, always=_always(command), access=command.access
        )
        self._finish(command)

    def fill(self, command: SandboxCommand) -> None:
        """Let it hold the files of another run. Raises SimulatorFault."""
        self._files = _put_in(command)
        self._scratch.fill(self._files, start=command.start, always=_always(command), access=command.access)
        self._finish(command)

    def _finish(self, command: SandboxCommand) -> None:
        Path(self._place, "stdin").write_bytes(command.stdin)
        Path(self._place, "files/dev/null").write_bytes(b"")
        self._closed = bool(command.access)
        if self._closed:
            self._scratch.close()
            if os.geteuid() == 0:
                # Root may use all: the run becomes somebody who may not.
                self._scratch.give_away(NOBODY)

    def placed(self, command: SandboxCommand) -> PlacedCommand:
        """Return the command with the place of its files."""
        modes = {path: entry.mode for path, entry in self._files.items() if _unusual(entry)}
        return placed(command, place=self._place, fresh=self._scratch.made_at, modes=modes)

    def changes(self, command: SandboxCommand, played: PlayedCommand) -> Changes:
        """Return what a run that is over changed."""
        if self._closed:
            self._scratch.reopen()
        return self._scratch.changes(dict(played.modes), now=command.start + played.seconds, skip=OWN)

    def likeness(self, command: SandboxCommand) -> int:
        """Return how many files of another run lie here already."""
        return sum(self._files.get(path) == entry for path, entry in command.files.items())

    @property
    def can_be_filled(self) -> bool:
        """Return whether another run may use it: nothing in it is unknown, closed, old or large."""
        young = time.time_ns() - self._scratch.made_at < _LONGEST_KEPT
        held = self._scratch.held
        return held is not None and held.size < _MOST_KEPT and young and not self._closed

    def remove(self) -> None:
        """Remove it from the host."""
        if self._closed:
            self._scratch.reopen()
        remove(self._place)


class CommandFolders:
    """The folders of one warm process, in the first of some places that has room, or in the last. Threads may share it."""

    def __init__(self, places: list[str]) -> None:
        self._places = places
        self._idle: list[CommandFolder] = []
        self._lock = threading.Lock()

    def take(self, command: SandboxCommand) -> CommandFolder:
        """Return a folder that holds the files of a command. Raises SimulatorFault."""
        with self._lock:
            found = max(self._idle, key=lambda folder: folder.likeness(command), default=None)
            if found is not None:
                self._idle.remove(found)
        if found is not None:
            if found.can_be_filled:
                with suppress(SimulatorFault):
                    found.fill(command)
                    return found
            found.remove()
        limits = command.limits
        root = next((place for place in self._places[:-1] if _has_room(place, limits)), self._places[-1])
        place = tempfile.mkdtemp(dir=root)
        try:
            return CommandFolder(place, command)
        except BaseException:
            remove(place)
            raise

    def give_back(self, folder: CommandFolder) -> None:
        """Keep a folder for another run, or remove it."""
        if folder.can_be_filled:
            with self._lock:
                self._idle.append(folder)
        else:
            folder.remove()


def _put_in(command: SandboxCommand) -> dict[str, Entry]:
    return {path: entry for path, entry in command.files.items() if not path.startswith(OWN)}


def _always(command: SandboxCommand) -> tuple[str, ...]:
    return (*_FOLDERS, command.cwd)


def _unusual(entry: Entry) -> TypeGuard[File | Folder]:
    """Return whether a mode has to be told: the component takes the others for granted."""
    if isinstance(entry, SymbolicLink):
        return False
    return entry.mode != (0o644 if isinstance(entry, File) else 0o755)


def _has_room(root: str, limits: SandboxLimits) -> bool:
    """Return whether all that a run may write leaves several times as much for others."""
    free = os.statvfs(root)
    return free.f_bavail * free.f_frsize > _SHARE * limits.scratch and free.f_favail > _SHARE * limits.files
