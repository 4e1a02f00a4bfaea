"""The folder on disk in which a run's files lie while it runs: filled, watched, and compared afterwards."""

import errno
import os
import posixpath
import stat
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import MappingProxyType

from simtrain.contracts.sandbox_runs import Changes, Entry, File, Files, Folder, SymbolicLink
from simtrain.values.errors import SimulatorFault

_Print = tuple[int, int, int, int, int]
_FOLDER_ONLY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
# Also through folders that may be entered and not read, where the system knows such a way.
_WAY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW
_NANOSECONDS = 1_000_000_000
# No run takes longer by the host's clock: later times are those that files were given.
_LONGEST = 3_600 * _NANOSECONDS
_LATEST = 15_000_000_000


@dataclass(frozen=True, slots=True)
class FolderUsage:
    """What a folder holds: bytes and entries."""

    size: int
    entries: int


class Scratch:
    """Files below a folder of the host, for one run or, filled anew, for several."""

    def __init__(
        self,
        root: str,
        files: Files,
        *,
        start: float,
        always: tuple[str, ...] = (),
        access: Mapping[str, int] = MappingProxyType({}),
        real_modes: bool = False,
    ) -> None:
        """Make the folder and fill it. Raises SimulatorFault, as `fill` does.

        `real_modes`: files have their modes on the host, too; else whoever runs the program keeps them beside.
        """
        self.root = root
        self._real_modes = real_modes
        self._files: Files = {}
        self._start = start
        self._there: set[str] = set()
        self._made: set[str] = set()
        self._prints: dict[str, _Print] = {}
        self._closed: dict[str, int] = {}
        os.makedirs(root, exist_ok=True)
        self.made_at = os.stat(root).st_mtime_ns
        """When the folder was made, in nanoseconds of the host's clock: no file in it is older, unless it was given another time."""
        self.held: FolderUsage | None = FolderUsage(0, 0)
        """What `changes` found in the folder; None before, or if something in it could not be looked at. Then `fill` cannot be called."""
        self.fill(files, start=start, always=always, access=access)

    def fill(
        self,
        files: Files,
        *,
        start: float,
        always: tuple[str, ...] = (),
        access: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Let the folder hold these files and nothing else; what the last `changes` found as it was put stays where it is.

        `always` are folders that are there and not reported. `access` is that of the command: `close` enforces it. Raises
        SimulatorFault for a path that does not fit (relative, with `..`, below a file), or if a file cannot be written.
        """
        kept = {path for path in self._prints if self._is_kept(path, files, start)}
        self._files, self._start, self._access, self.held = files, start, access, None
        self._prints = {path: self._prints[path] for path in kept}
        try:
            self._clear(kept)
            for path in always:
                self._folder(path)
            for path in sorted(files.keys() - kept):
                self._put(path, files[path])
            for path in files.keys() - self._prints.keys():
                self._prints[path] = _print(os.lstat(self.root + path))
        except OSError as error:
            raise SimulatorFault(f"the files of a run cannot be written: {error.strerror}: {error.filename}") from None

    def _is_kept(self, path: str, files: Files, start: float) -> bool:
        before, entry = self._files[path], files.get(path)
        if not isinstance(before, File) or (entry is not before and entry != before):
            return False
        return before.modified is not None or start == self._start

    def _clear(self, kept: set[str]) -> None:
        """Remove all that lies there but some files, and the folders that hold them."""
        holding = {folder for path in kept for folder in _above(path)}
        for path in sorted(self._there - kept - holding, reverse=True):
            real = self.root + path
            if stat.S_ISDIR(os.lstat(real).st_mode):
                os.rmdir(real)
            else:
                os.unlink(real)
        for folder in ("", *holding):
            # A program may have set it.
            os.utime(self.root + folder)
        self._made = holding

    def _put(self, path: str, entry: Entry) -> None:
        if not path.startswith("/") or path.startswith("//") or path != posixpath.normpath(path) or "\0" in path:
            raise SimulatorFault(f"{path!r} is not an absolute path in plain form")
        folder = path if isinstance(entry, Folder) else path.rpartition("/")[0]
        if folder not in self._made:
            self._folder(folder)
        real = self.root + path
        if isinstance(entry, SymbolicLink):
            os.symlink(entry.target, real)
        elif isinstance(entry, File):
            handle = os.open(real, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
            try:
                done = os.write(handle, entry.content)
                while done < len(entry.content):
                    done += os.write(handle, memoryview(entry.content)[done:])
                moment = self._start if entry.modified is None else entry.modified
                nanoseconds = int(min(max(moment, 0), _LATEST) * _NANOSECONDS)
                if self._real_modes:
                    os.fchmod(handle, entry.mode)
                os.utime(handle, ns=(nanoseconds, nanoseconds))
                self._prints[path] = _print(os.fstat(handle))
            finally:
                os.close(handle)

    def _folder(self, path: str) -> None:
        if path in self._made or path in ("", "/"):
            return
        self._folder(path.rpartition("/")[0])
        # A link on the way would lead out of the folder: mkdir below a link of the world is refused as existing.
        with suppress(FileExistsError):
            os.mkdir(self.root + path, 0o755)
        if not stat.S_ISDIR(os.lstat(self.root + path).st_mode):
            raise SimulatorFault(f"{path!r} is not a folder, but something lies below it")
        self._made.add(path)

    def close(self) -> None:
        """Take from the owner of the files on the host what `access` does not give."""
        for path, bits in self._access.items():
            real = self.root + path
            status = os.lstat(real)
            if stat.S_ISDIR(status.st_mode) and bits & 2:
                # What a program can fill, the watch over the disk must be able to look at.
                bits |= 4
            if not stat.S_ISLNK(status.st_mode):
                self._closed[path] = stat.S_IMODE(status.st_mode) & (0o7077 | bits << 6)
                os.chmod(real, self._closed[path])

    def give_away(self, user: int, group: int = -1) -> None:
        """Let everything belong to a user of the host, and to a group if one is given."""
        os.lchown(self.root, user, group)
        for _, real, _ in _walk(self.root):
            os.lchown(real, user, group)

    def reopen(self) -> None:
        """Give it back, so that everything can be looked at and removed. Nobody may write any more."""
        # A folder before what is in it: it may have been closed itself.
        for path in sorted(self._access):
            folder, _, name = path.rpartition("/")
            with suppress(OSError), _within(self.root, folder) as at:
                status = os.lstat(name or ".", dir_fd=at)
                mode = stat.S_IMODE(status.st_mode)
                if stat.S_ISLNK(status.st_mode):
                    continue
                # A mode that the program gave it is its mode from now on.
                if self._closed.get(path) != mode:
                    self._closed.pop(path, None)
                os.chmod(name or ".", mode | 0o700, dir_fd=at)

    def changes(self, modes: dict[str, int], *, now: float, skip: tuple[str, ...] = ()) -> Changes:
        """Return what differs from the files put in, changed at the virtual time `now` if the program gave it no time of its own.

        Modes come from `modes`. Nobody may write any more.
        """
        fresh = self.made_at
        found: dict[str, Entry | None] = {}
        there: set[str] = set()
        whole: set[str] = set()
        size = 0
        unseen: list[OSError] = []
        for path, real, status in _walk(self.root, unseen):
            there.add(path)
            size += status.st_size
            if path.startswith(skip):
                continue
            before = self._files.get(path)
            if before is not None and _print(status) == self._prints[path]:
                whole.add(path)
                if path not in modes:
                    continue
            entry = self._entry(
                path, real, status, modes, now if fresh <= status.st_mtime_ns < fresh + _LONGEST else status.st_mtime
            )
            if entry is not None and entry != before:
                found[path] = entry
        for path in self._files:
            if path not in there:
                found[path] = None
        self._there, self._prints = there, {path: self._prints[path] for path in whole}
        self.held = None if unseen else FolderUsage(size, len(there))
        return {_named(path): found[path] for path in sorted(found)}

    def _entry(self, path: str, real: str, status: os.stat_result, modes: dict[str, int], now: float) -> Entry | None:
        before = self._files.get(path)
        if stat.S_ISDIR(status.st_mode):
            if path in modes:
                return Folder(modes[path])
            if isinstance(before, Folder):
                return before
            # A folder shows by what lies in it; one that was always there, or implied before, is no change.
            return None if path in self._made else Folder()
        if stat.S_ISLNK(status.st_mode):
            return SymbolicLink(_named(os.readlink(real)))
        if not stat.S_ISREG(status.st_mode):
            return None
        with open(os.open(real, os.O_RDONLY | os.O_NOFOLLOW), "rb") as opened:
            content = opened.read()
        known = before if isinstance(before, File) else None
        mode = modes.get(path, known.mode if known else 0o644)
        if self._real_modes and path not in self._closed:
            mode = stat.S_IMODE(status.st_mode)
        if known is not None and known.content == content:
            # Touched, or given another mode.
            touched = _print(status)[1] != self._prints[path][1]
            return File(content, mode, now if touched else known.modified)
        return File(content, mode, now)


def usage(root: str) -> FolderUsage:
    """Return how much lies in a folder now."""
    size = entries = 0
    unseen: list[OSError] = []
    for _, _, status in _walk(root, unseen):
        entries += 1
        size += status.st_size
    # What lies too deep for a path cannot be counted.
    deep = any(error.errno == errno.ENAMETOOLONG for error in unseen)
    return FolderUsage(sys.maxsize, entries) if deep else FolderUsage(size, entries)


def _named(path: str) -> str:
    """Return a path as text: a program can give files names that are no UTF-8."""
    return os.fsencode(path).decode(errors="replace")


def _print(status: os.stat_result) -> _Print:
    # The time of the last change of status cannot be set by a program, whatever it does to the others.
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFDIR:
        return (kind, 0, 0, 0, 0)
    return (kind, status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)


@contextmanager
def _within(root: str, path: str) -> Generator[int]:
    """Open a folder below another one, on a way without links: what a program left may lead out. Raises OSError."""
    at = os.open(root, _WAY)
    try:
        for name in filter(None, path.split("/")):
            at = _moved(at, name, _WAY)
        yield at
    finally:
        os.close(at)


def _above(path: str) -> Iterator[str]:
    """Yield the folders in which a path lies, but the root."""
    while path := path.rpartition("/")[0]:
        yield path


def remove(root: str) -> None:
    """Remove a folder in which nobody writes any more, however deep."""
    with suppress(OSError):
        at = os.open(root, _FOLDER_ONLY)
        try:
            # Step by step: paths from here are as long as the program could make them.
            way: list[str] = []
            waiting = [_emptied(at)]
            while waiting:
                if waiting[-1]:
                    way.append(waiting[-1].pop())
                    # It may have been closed to the program.
                    os.chmod(way[-1], 0o700, dir_fd=at)
                    at = _moved(at, way[-1])
                    waiting.append(_emptied(at))
                    continue
                waiting.pop()
                if way:
                    at = _moved(at, "..")
                    os.rmdir(way.pop(), dir_fd=at)
        finally:
            os.close(at)
        os.rmdir(root)


def _emptied(folder: int) -> list[str]:
    """Remove what is not a folder in an open folder, and return the folders."""
    with os.scandir(folder) as found:
        entries = list(found)
    folders: list[str] = []
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            folders.append(entry.name)
        else:
            os.unlink(entry.name, dir_fd=folder)
    return folders


def _moved(at: int, name: str, flags: int = _FOLDER_ONLY) -> int:
    there = os.open(name, flags, dir_fd=at)
    os.close(at)
    return there


def _walk(root: str, unseen: list[OSError] | None = None) -> Iterator[tuple[str, str, os.stat_result]]:
    """Yield path, path on the host and status of everything below a folder; never follows a link. Errors go to `unseen`."""
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            entries = list(os.scandir(root + folder))
        except OSError as error:
            if unseen is not None:
                unseen.append(error)
            continue
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError as error:
                if unseen is not None:
                    unseen.append(error)
                continue
            path = f"{folder}/{entry.name}"
            yield path, entry.path, status
            if stat.S_ISDIR(status.st_mode):
                waiting.append(path)
