"""Files of whole lines: appended so that a killed process tears at most the last line, which is cut off before the next is written."""

import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import orjson

from simtrain.files.file_bytes import file_lines, opened
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject

BLOCK = 65536


class LineWriter:
    """Appends whole lines to one file, each in one write with O_APPEND, so that a killed process tears at most the last line.

    A partial line on a full disk is cut off again. Lines are synced to disk in groups of `sync_every`; 0 leaves syncing to the
    system. A `shared` file may have several writers, in several processes, that all open it as shared. With `alone`, writing
    fails once another writer has written to the file.
    """

    def __init__(self, path: Path, *, sync_every: int = 0, shared: bool = False, alone: bool = False) -> None:
        """Open the file, cutting off a torn last line. Raises InputError when it cannot be written."""
        self.path = path
        self._sync_every = sync_every
        self._shared = shared
        self._alone = alone
        self._unsynced = 0
        self._torn = False
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
            self._size = os.fstat(self._descriptor).st_size
            if not shared:
                self._size = _cut(self._descriptor)
            if sync_every:
                sync(path.parent)
        except OSError as error:
            raise unwritable(path, error) from None

    def write(self, line: bytes) -> None:
        """Append one line, newline included. Raises InputError when the disk is full, the folder gone, or somebody else wrote (`alone`)."""
        try:
            if self._shared:
                self._append_shared(line)
            else:
                self._append(line)
        except OSError as error:
            raise unwritable(self.path, error) from None
        self._unsynced += 1
        if self._sync_every and self._unsynced >= self._sync_every:
            self.sync()

    def sync(self) -> None:
        """Wait until everything written is on the disk. Raises InputError."""
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise unwritable(self.path, error) from None
        self._unsynced = 0

    def close(self) -> None:
        """Sync the remaining lines, and close. Raises InputError."""
        try:
            if self._sync_every and self._unsynced:
                self.sync()
        finally:
            os.close(self._descriptor)

    def _append(self, line: bytes) -> None:
        if self._torn:
            self._mend()
        if self._alone and os.fstat(self._descriptor).st_size != self._size:
            raise InputError("somebody else has written to this file", remedy="name another", file=self.path)
        # Set while writing: if even the cut below fails, the next write tries it again.
        self._torn = True
        try:
            written = os.write(self._descriptor, line)
            # A write to a file may be partial, above all when the disk becomes full.
            while written < len(line):
                written += os.write(self._descriptor, line[written:])
        except BaseException:
            self._mend()
            raise
        self._torn = False
        self._size += len(line)

    def _append_shared(self, line: bytes) -> None:
        """Append under a lock: another writer may have been killed in the middle of a line, which must not run into this one."""
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        try:
            self._size = _cut(self._descriptor)
            self._append(line)
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def _mend(self) -> None:
        os.ftruncate(self._descriptor, self._size)
        self._torn = False


class Replacement:
    """A new version of a file of lines: it replaces the old one, synced to disk, if the block ends without an error.

    Raises InputError when it cannot be written; the old file then stays unchanged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._new = temporary_name(path)

    def __enter__(self) -> LineWriter:
        # A killed process may have left one.
        self._new.unlink(missing_ok=True)
        self._writer = LineWriter(self._new)
        return self._writer

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._writer.sync()
                self._new.replace(self._path)
                # The rename itself is an entry of the folder.
                sync(self._path.parent)
        except OSError as failed:
            raise unwritable(self._path, failed) from None
        finally:
            self._writer.close()
            self._new.unlink(missing_ok=True)


def cut_torn_line(path: Path) -> None:
    """Cut a file back to its last newline, where a killed process left half a line. Raises InputError."""
    if path.exists():
        LineWriter(path).close()


def _cut(descriptor: int) -> int:
    """Cut a file back to its last newline; returns the size that is left."""
    size = end = os.fstat(descriptor).st_size
    while end > 0:
        start = max(0, end - BLOCK)
        newline = os.pread(descriptor, end - start, start).rfind(b"\n")
        if newline >= 0:
            end = start + newline + 1
            break
        end = start
    if end < size:
        os.ftruncate(descriptor, end)
    return end


def whole_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield whole lines with their numbers from 1, without a torn last line of a killed process. Raises InputError."""
    try:
        file = opened(path)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    with file:
        for number, line in file_lines(file, path):
            if line.endswith(b"\n"):
                yield number, line


def write_whole(path: Path, content: JsonObject | str) -> None:
    """Write a file (an object as JSON) atomically. Raises InputError when it cannot be written."""
    temporary = temporary_name(path)
    text = (
        content.encode()
        if isinstance(content, str)
        else orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    )
    try:
        with temporary.open("wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise unwritable(path, error) from None


def temporary_name(path: Path) -> Path:
    """Return the path where the new version of a file is written before it replaces the old one."""
    return path.with_name(f".{path.name}.tmp")


def unwritable(path: Path, error: OSError) -> InputError:
    """Return the error for a file or folder that cannot be written."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    remedy = "free some space or choose another folder with --out" if full else "choose another folder with --out"
    return InputError(f"cannot be written: {error.strerror}", remedy=remedy, file=path)


def sync(path: Path) -> None:
    """Wait until a file, or a folder's entries, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
