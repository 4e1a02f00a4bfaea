"""The calls to the platform that a program's result depends on: clocks, sleep, modes of files, the order of folders, users.

The clock of the world comes in by WASI; here it is spread to the clocks that WASI does not reach, and `sleep` moves it.
What a folder lists is sorted, file numbers are counted from one, and modes are kept beside the files, since WASI has none.
"""

import os
import posix
import sys
import time

_NANOSECONDS = 1_000_000_000
# No run takes longer by the host's clock: later times are those that the files were given.
_LONGEST = 3_600 * _NANOSECONDS
_BOOTED_BEFORE = 3_600 * _NANOSECONDS
_FOLDER, _FILE, _KIND = 0o040000, 0o100000, 0o170000
_plain = {name: getattr(posix, name) for name in ("stat", "lstat", "fstat", "listdir", "scandir", "mkdir", "open")}


class _State:
    """What one run was told, and what it changed."""

    start = wall = 0
    slept = 0
    fresh = 1 << 62
    uid = gid = 1000
    mask = 0o022
    sleep = leave = None


_modes: dict[int, int] = {}
_named: dict[int, str] = {}
_numbers: dict[int, int] = {}


def begin(
    *, start: float, fresh: float, uid: int, gid: int, modes: dict[str, int], sleep: object, leave: object
) -> None:
    """Take over the clock, the user and the modes of a run; files written from `fresh` on (the host's time) are of the start."""
    _State.start = time.time_ns()
    _State.wall = int(start * _NANOSECONDS)
    _State.fresh = fresh
    _State.uid, _State.gid, _State.sleep, _State.leave = uid, gid, sleep, leave
    forget_files()
    for path, mode in modes.items():
        try:
            number = _plain["lstat"](path).st_ino
        except OSError:
            continue
        _modes[number], _named[number] = mode, path


def forget_files() -> None:
    """Let numbers of files be counted from one again."""
    _numbers.clear()


def changed_modes(given: dict[str, int]) -> dict[str, int]:
    """Return path -> mode of what has another mode than it was given, for files and folders that are still there."""
    found: dict[str, int] = {}
    for number, mode in _modes.items():
        path = _named[number]
        try:
            same = _plain["lstat"](path).st_ino == number
        except OSError:
            same = False
        if not same:
            path = _sought(number)
        if path is not None and given.get(path) != mode:
            found[path] = mode
    return found


def _sought(number: int) -> str | None:
    """Return where a file went that was moved after its mode was set."""
    for folder, folders, files in os.walk("/"):
        folders[:] = [name for name in folders if f"{folder.rstrip('/')}/{name}" not in ("/usr", "/proc")]
        for name in (*folders, *files):
            path = f"{folder.rstrip('/')}/{name}"
            if _plain["lstat"](path).st_ino == number:
                return path
    return None


# Clocks


def _elapsed() -> int:
    return time.time_ns() - _State.start


def monotonic_ns() -> int:
    """Return the nanoseconds since the machine was started."""
    return _BOOTED_BEFORE + _elapsed()


def monotonic() -> float:
    """Return the seconds since the machine was started."""
    return monotonic_ns() / _NANOSECONDS


def process_time_ns() -> int:
    """Return the nanoseconds that the program has worked."""
    return max(0, _elapsed() - _State.slept)


def process_time() -> float:
    """Return the seconds that the program has worked."""
    return process_time_ns() / _NANOSECONDS


def sleep(seconds: float, /) -> None:
    """Let time pass: the world's, not the host's."""
    if not isinstance(seconds, int | float):
        if not hasattr(seconds, "__index__"):
            raise TypeError(f"'{type(seconds).__name__}' object cannot be interpreted as an integer")
        seconds = seconds.__index__()
    if seconds != seconds:
        raise ValueError("Invalid value NaN (not a number)")
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    if seconds > 1e10:
        raise OverflowError("timestamp too large to convert to C PyTime_t")
    _State.slept += int(seconds * _NANOSECONDS)
    _State.sleep(float(seconds))


def _exit(status):
    """Exit to the system with specified status, without normal exit processing."""
    _State.leave(status & 0xFF)


# Files


def _told(found: os.stat_result) -> os.stat_result:
    kind = found.st_mode & _KIND
    mode = _modes.get(found.st_ino)
    if mode is None:
        mode = 0o755 if kind == _FOLDER else 0o644
        if kind not in (_FOLDER, _FILE):
            mode = 0o777 if kind == 0o120000 else 0o666
    number = _numbers.setdefault(found.st_ino, len(_numbers) + 2)
    written = _State.wall if _is_of_the_host(found.st_mtime_ns) else found.st_mtime_ns
    # When a file was read is kept by some file systems and not by others.
    read = written if _is_of_the_host(found.st_atime_ns) else found.st_atime_ns
    times = (read, written, _State.wall)
    whole = [one // _NANOSECONDS for one in times]
    links = 2 if kind == _FOLDER else found.st_nlink
    size = 4096 if kind == _FOLDER else found.st_size
    hidden = {f"st_{name}time": one / _NANOSECONDS for name, one in zip("amc", times, strict=True)}
    hidden |= {f"st_{name}time_ns": one for name, one in zip("amc", times, strict=True)}
    return os.stat_result((kind | mode, number, 2049, links, _State.uid, _State.gid, size, *whole), hidden)


def _is_of_the_host(moment: int) -> bool:
    return _State.fresh <= moment < _State.fresh + _LONGEST


def stat(path, *, dir_fd=None, follow_symlinks=True):
    """Perform a stat system call on the given path."""
    if dir_fd is not None:
        return _told(_plain["stat"](path, dir_fd=dir_fd, follow_symlinks=follow_symlinks))
    return _told(_plain["stat"](path, follow_symlinks=follow_symlinks))


def lstat(path, *, dir_fd=None):
    """Perform a stat system call on the given path, without following symbolic links."""
    return _told(_plain["lstat"](path) if dir_fd is None else _plain["lstat"](path, dir_fd=dir_fd))


def fstat(fd):
    """Perform a stat system call on the given file descriptor."""
    return _told(_plain["fstat"](fd))


def listdir(path=None):
    """Return a list containing the names of the files in the directory."""
    return sorted(_plain["listdir"](path))


class DirEntry:
    """An entry of a folder, as os.scandir() gives it."""

    __slots__ = ("_entry", "name", "path")
    __module__ = "posix"

    def __init__(self, entry) -> None:
        self._entry, self.name, self.path = entry, entry.name, entry.path

    def is_dir(self, *, follow_symlinks=True):
        """Return True if the entry is a directory; cached per entry."""
        return self._entry.is_dir(follow_symlinks=follow_symlinks)

    def is_file(self, *, follow_symlinks=True):
        """Return True if the entry is a file; cached per entry."""
        return self._entry.is_file(follow_symlinks=follow_symlinks)

    def is_symlink(self):
        """Return True if the entry is a symbolic link; cached per entry."""
        return self._entry.is_symlink()

    def is_junction(self):
        """Return True if the entry is a junction; cached per entry."""
        return False

    def stat(self, *, follow_symlinks=True):
        """Return stat_result object for the entry; cached per entry."""
        return stat(self.path, follow_symlinks=follow_symlinks)

    def inode(self):
        """Return inode of the entry; cached per entry."""
        return lstat(self.path).st_ino

    def __fspath__(self):
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"


class ScandirIterator:
    """The entries of a folder, by name."""

    def __init__(self, entries) -> None:
        self._entries = iter(entries)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._entries)

    def __enter__(self):
        return self

    def __exit__(self, *found) -> None:
        self.close()

    def close(self) -> None:
        """Close the iterator and free acquired resources."""
        self._entries = iter(())


def scandir(path=None):
    """Return an iterator of DirEntry objects for given path."""
    with _plain["scandir"](path) as found:
        return ScandirIterator(sorted((DirEntry(entry) for entry in found), key=lambda entry: entry.name))


def _set_mode(found, path, mode) -> None:
    _modes[found.st_ino] = mode & 0o7777
    _named[found.st_ino] = os.path.abspath(os.fsdecode(path))


def chmod(path, mode, *, dir_fd=None, follow_symlinks=True):
    """Change the access permissions of a file."""
    if isinstance(path, int):
        _modes[_plain["fstat"](path).st_ino] = mode & 0o7777
        _named.setdefault(_plain["fstat"](path).st_ino, "")
        return
    _set_mode(_plain["stat" if follow_symlinks else "lstat"](path), path, mode)


def fchmod(fd, mode):
    """Change the access permissions of the file given by file descriptor fd."""
    chmod(fd, mode)


def lchmod(path, mode):
    """Change the access permissions of a file, without following symbolic links."""
    chmod(path, mode, follow_symlinks=False)


def mkdir(path, mode=0o777, *, dir_fd=None):
    """Create a directory."""
    _plain["mkdir"](path, mode) if dir_fd is None else _plain["mkdir"](path, mode, dir_fd=dir_fd)
    allowed = mode & ~_State.mask
    if dir_fd is None and allowed != 0o755:
        _set_mode(_plain["lstat"](path), path, allowed)


def open_file(path, flags, mode=0o777, *, dir_fd=None):
    """Open a file for low level IO.  Returns a file descriptor (integer)."""
    allowed = mode & ~_State.mask
    # Of a file that is created here; of one that is there, the mode stays.
    new = bool(flags & os.O_CREAT) and dir_fd is None and allowed != 0o644 and not os.path.lexists(path)
    fd = _plain["open"](path, flags, mode) if dir_fd is None else _plain["open"](path, flags, mode, dir_fd=dir_fd)
    if new:
        _set_mode(_plain["fstat"](fd), path, allowed)
    return fd


open_file.__name__ = open_file.__qualname__ = "open"


def access(path, mode, *, dir_fd=None, effective_ids=False, follow_symlinks=True):
    """Use the real uid/gid to test for access to a path."""
    try:
        found = stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
    except OSError:
        return False
    allowed = found.st_mode >> 6 & 7
    if _State.uid == 0:
        return not mode & os.X_OK or bool(found.st_mode & 0o111)
    return mode & allowed == mode


def umask(mask, /):
    """Set the current numeric umask and return the previous umask."""
    before, _State.mask = _State.mask, mask & 0o777
    return before


def getuid():
    """Return the current process's user id."""
    return _State.uid


def geteuid():
    """Return the current process's effective user id."""
    return _State.uid


def getgid():
    """Return the current process's group id."""
    return _State.gid


def getegid():
    """Return the current process's effective group id."""
    return _State.gid


def getppid():
    """Return the parent's process id."""
    return 1


def install() -> None:
    """Put these calls in the place of the platform's."""
    for module in (posix, os):
        for call in (stat, lstat, fstat, listdir, scandir, chmod, fchmod, lchmod, mkdir, access, umask, _exit):
            setattr(module, call.__name__, call)
        for call in (getuid, geteuid, getgid, getegid, getppid):
            setattr(module, call.__name__, call)
        module.open = open_file
        module.DirEntry = DirEntry
    for call in (monotonic, monotonic_ns, process_time, process_time_ns, sleep):
        setattr(time, call.__name__, call)
    time.perf_counter, time.perf_counter_ns = monotonic, monotonic_ns
    time.thread_time, time.thread_time_ns = process_time, process_time_ns
    os.supports_follow_symlinks = {*os.supports_follow_symlinks, stat, chmod, access}
    os.supports_fd = {*os.supports_fd, stat, chmod, listdir, scandir}
    for call in (stat, lstat, fstat, listdir, scandir, chmod, mkdir, access, open_file, sleep, monotonic, process_time):
        call.__module__ = "time" if call in (sleep, monotonic, process_time) else "posix"
    assert sys.platform == "wasi"
