"""The files of a machine behind bashkit's own file operations, by its C interface `bashkit.FileSystem.v1`.

The interface is a table of C functions over an opaque number (github.com/everruns/bashkit, crates/bashkit/src/interop/fs.rs). Each
function here looks the number up in `_OPEN` and asks the Files found there. Memory that is handed over is kept in `_LENT` until
bashkit gives it back.
"""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable
from errno import EACCES, EEXIST, EINVAL, EISDIR, ENOENT, ENOTDIR, ENOTEMPTY, EPERM
from itertools import count
from math import floor
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from bashkit import FileSystem

from simtrain.worlds.machine.binary import restored
from simtrain.worlds.machine.files import Files
from simtrain.worlds.machine.nodes import TreeNode

CAPSULE = b"bashkit.FileSystem.v1"
VERSION = 1
_KINDS = {ENOENT: 1, EEXIST: 2, EACCES: 3, EPERM: 3, EINVAL: 4, EISDIR: 5, ENOTDIR: 6, ENOTEMPTY: 7}
_TYPES = {"file": 0, "directory": 1, "link": 2, "device": 0}


class _Bytes(c.Structure):
    """A piece of memory: for text and contents, borrowed or handed over."""

    _fields_ = (("start", c.c_void_p), ("length", c.c_size_t))


class _Metadata(c.Structure):
    _fields_ = (
        ("type", c.c_uint8),
        ("reserved", c.c_uint8 * 7),
        ("size", c.c_uint64),
        ("mode", c.c_uint32),
        ("modified", c.c_int64),
        ("modified_nanoseconds", c.c_uint32),
        ("created", c.c_int64),
        ("created_nanoseconds", c.c_uint32),
    )


class _Error(c.Structure):
    _fields_ = (("kind", c.c_uint32), ("message", _Bytes))


class _Entry(c.Structure):
    _fields_ = (("name", _Bytes), ("metadata", _Metadata))


class _Entries(c.Structure):
    _fields_ = (("start", c.c_void_p), ("length", c.c_size_t))


if TYPE_CHECKING:
    _ErrorPointer: TypeAlias = c._Pointer[_Error]  # pyright: ignore[reportPrivateUsage]
    _BytesPointer: TypeAlias = c._Pointer[_Bytes]  # pyright: ignore[reportPrivateUsage]
    _MetadataPointer: TypeAlias = c._Pointer[_Metadata]  # pyright: ignore[reportPrivateUsage]
    _EntriesPointer: TypeAlias = c._Pointer[_Entries]  # pyright: ignore[reportPrivateUsage]
    _BoolPointer: TypeAlias = c._Pointer[c.c_bool]  # pyright: ignore[reportPrivateUsage]

_ERROR = c.POINTER(_Error)
_READ = c.CFUNCTYPE(c.c_uint32, c.c_void_p, _Bytes, c.POINTER(_Bytes), _ERROR)
_TWO = c.CFUNCTYPE(c.c_uint32, c.c_void_p, _Bytes, _Bytes, _ERROR)
_FLAG = c.CFUNCTYPE(c.c_uint32, c.c_void_p, _Bytes, c.c_bool, _ERROR)
_STAT = c.CFUNCTYPE(c.c_uint32, c.c_void_p, _Bytes, c.POINTER(_Metadata), _ERROR)
_LIST = c.CFUNCTYPE(c.c_uint32, c.c_void_p, _Bytes, c.POINTER(_Entries), _ERROR)
_EXISTS = c.CFUNCTYPE(c.c_uint32, c.c_void_p, _Bytes, c.POINTER(c.c_bool), _ERROR)
_MODE = c.CFUNCTYPE(c.c_uint32, c.c_void_p, _Bytes, c.c_uint32, _ERROR)
_FREE = c.CFUNCTYPE(None, c.c_void_p, _Bytes)
_FREE_ENTRIES = c.CFUNCTYPE(None, c.c_void_p, _Entries)
_COUNT = c.CFUNCTYPE(None, c.c_void_p)


class _Table(c.Structure):
    _fields_ = (
        ("read_file", _READ),
        ("write_file", _TWO),
        ("append_file", _TWO),
        ("mkdir", _FLAG),
        ("remove", _FLAG),
        ("stat", _STAT),
        ("read_dir", _LIST),
        ("exists", _EXISTS),
        ("rename", _TWO),
        ("copy", _TWO),
        ("symlink", _TWO),
        ("read_link", _READ),
        ("chmod", _MODE),
        ("free_bytes", _FREE),
        ("free_dir_entries", _FREE_ENTRIES),
    )


class _Handle(c.Structure):
    _fields_ = (
        ("version", c.c_uint32),
        ("reserved", c.c_uint32),
        ("instance", c.c_void_p),
        ("retain", _COUNT),
        ("release", _COUNT),
        ("table", c.POINTER(_Table)),
    )


_OPEN: dict[int, tuple[Files, list[int]]] = {}
"""Number of an instance -> its files, and how often bashkit holds it."""
_LENT: dict[int, list[bytes]] = {}
_LENT_ENTRIES: dict[int, object] = {}
_numbers = count(1)
_lock = Lock()


class MountedFiles:
    """Bashkit's view of some files, for which others may be put later. It holds them for as long as it lives."""

    __slots__ = ("_number", "system")

    def __init__(self, files: Files) -> None:
        """Make the view."""
        self._number = next(_numbers)
        _OPEN[self._number] = (files, [0])
        handle = _Handle(VERSION, 0, self._number, _retain, _release, c.pointer(_TABLE))
        # bashkit copies handle and table here, so that neither has to live longer than this call.
        self.system = FileSystem.from_capsule(_new_capsule(c.addressof(handle), CAPSULE, None))

    def show(self, files: Files) -> None:
        """Put other files in the place of those that are seen."""
        _OPEN[self._number] = (files, _OPEN[self._number][1])


_new_capsule = c.pythonapi.PyCapsule_New
_new_capsule.restype = c.py_object
_new_capsule.argtypes = (c.c_void_p, c.c_char_p, c.c_void_p)


@_COUNT
def _retain(number: int) -> None:
    with _lock:
        _OPEN[number][1][0] += 1


@_COUNT
def _release(number: int, held_by_number: dict[int, tuple[Files, list[int]]] = _OPEN, lock: Lock = _lock) -> None:
    # The names of this module may be gone when the last engine is: its dictionary and lock are its own.
    with lock:
        held = held_by_number[number][1]
        held[0] -= 1
        if held[0] == 0:
            del held_by_number[number]


def _content(given: _Bytes) -> bytes:
    return c.string_at(given.start, given.length) if given.length else b""


def _text(given: _Bytes) -> str:
    return _content(given).decode()


def _lend(content: bytes) -> _Bytes:
    if not content:
        return _Bytes(None, 0)
    # The bytes object itself is lent, not a copy: bashkit copies it and gives it back at once.
    start = c.cast(c.c_char_p(content), c.c_void_p).value or 0
    with _lock:
        _LENT.setdefault(start, []).append(content)
    return _Bytes(start, len(content))


@_FREE
def _free(_: int, given: _Bytes) -> None:
    if given.start:
        with _lock:
            _LENT[given.start].pop()
            if not _LENT[given.start]:
                del _LENT[given.start]


@_FREE_ENTRIES
def _free_entries(_: int, given: _Entries) -> None:
    _LENT_ENTRIES.pop(given.start or 0, None)


def _status(error: _ErrorPointer, action: Callable[[], None]) -> int:
    """Return the status of an action for bashkit: 0, or 1 with the error filled in."""
    try:
        action()
    except OSError as raised:
        error[0].kind = _KINDS.get(raised.errno or 0, 0)
        error[0].message = _lend((raised.strerror or str(raised)).encode())
        return 1
    except Exception as raised:
        # Nothing may be raised into C: ctypes would print it and report success.
        error[0].kind = 0
        error[0].message = _lend(f"{type(raised).__name__}: {raised}".encode())
        return 1
    return 0


def _fill(metadata: _Metadata, node: TreeNode) -> None:
    metadata.type = _TYPES[node.kind]
    # What can be read, not what a file claims: bashkit sets memory aside for it.
    metadata.size = len(node.content) or min(node.size, 1)
    metadata.mode = node.mode
    whole = floor(node.modified)
    metadata.modified = metadata.created = whole
    metadata.modified_nanoseconds = metadata.created_nanoseconds = int((node.modified - whole) * 1e9)


@_READ
def _read_file(number: int, path: _Bytes, out: _BytesPointer, error: _ErrorPointer) -> int:
    def read() -> None:
        out[0] = _lend(_OPEN[number][0].read(_text(path)))

    return _status(error, read)


@_TWO
def _write_file(number: int, path: _Bytes, content: _Bytes, error: _ErrorPointer) -> int:
    return _status(error, lambda: _OPEN[number][0].write(_text(path), restored(_content(content))))


@_TWO
def _append_file(number: int, path: _Bytes, content: _Bytes, error: _ErrorPointer) -> int:
    return _status(error, lambda: _OPEN[number][0].append(_text(path), restored(_content(content))))


@_FLAG
def _mkdir(number: int, path: _Bytes, recursive: bool, error: _ErrorPointer) -> int:
    return _status(error, lambda: _OPEN[number][0].make_directory(_text(path), parents=recursive))


@_FLAG
def _remove(number: int, path: _Bytes, recursive: bool, error: _ErrorPointer) -> int:
    return _status(error, lambda: _OPEN[number][0].remove(_text(path), recursive=recursive))


@_STAT
def _stat(number: int, path: _Bytes, out: _MetadataPointer, error: _ErrorPointer) -> int:
    # bashkit follows links itself, so it asks for the link.
    return _status(error, lambda: _fill(out[0], _OPEN[number][0].node(_text(path), follow=False)))


@_LIST
def _read_dir(number: int, path: _Bytes, out: _EntriesPointer, error: _ErrorPointer) -> int:
    def read() -> None:
        files, directory = _OPEN[number][0], _text(path)
        names = [name.encode() for name in files.names(directory)]
        entries = (_Entry * len(names))()
        for entry, name in zip(entries, names, strict=True):
            entry.name = _Bytes(c.cast(c.c_char_p(name), c.c_void_p).value, len(name))
            _fill(entry.metadata, files.node(f"{directory.rstrip('/')}/{name.decode()}", follow=False))
        start = c.addressof(entries)
        _LENT_ENTRIES[start] = (entries, names)
        out[0] = _Entries(start, len(names))

    return _status(error, read)


@_EXISTS
def _exists(number: int, path: _Bytes, out: _BoolPointer, error: _ErrorPointer) -> int:
    def ask() -> None:
        out[0] = _OPEN[number][0].exists(_text(path))

    return _status(error, ask)


@_TWO
def _rename(number: int, path: _Bytes, to: _Bytes, error: _ErrorPointer) -> int:
    return _status(error, lambda: _OPEN[number][0].rename(_text(path), _text(to)))


@_TWO
def _copy(number: int, path: _Bytes, to: _Bytes, error: _ErrorPointer) -> int:
    return _status(error, lambda: _OPEN[number][0].copy(_text(path), _text(to)))


@_TWO
def _symlink(number: int, target: _Bytes, path: _Bytes, error: _ErrorPointer) -> int:
    return _status(error, lambda: _OPEN[number][0].link(_text(target), _text(path)))


@_READ
def _read_link(number: int, path: _Bytes, out: _BytesPointer, error: _ErrorPointer) -> int:
    def read() -> None:
        out[0] = _lend(_OPEN[number][0].read_link(_text(path)).encode())

    return _status(error, read)


@_MODE
def _chmod(number: int, path: _Bytes, mode: int, error: _ErrorPointer) -> int:
    return _status(error, lambda: _OPEN[number][0].change_mode(_text(path), mode))


_TABLE = _Table(
    _read_file, _write_file, _append_file, _mkdir, _remove, _stat, _read_dir, _exists, _rename, _copy, _symlink,
    _read_link, _chmod, _free, _free_entries,
)  # fmt: skip

# An engine may live until the interpreter is taken down, and calls these then.
for _lasting in (_retain, _release, _TABLE):
    c.pythonapi.Py_IncRef(c.py_object(_lasting))
