"""Output made alike everywhere: error numbers as Linux counts them; durations, addresses and temporary names without their chance."""

import re
from collections.abc import Iterable

Parts = tuple[tuple[int, bytes], ...]

_LINUX = {
    (44, "No such file or directory"): (2, "No such file or directory"),
    (2, "Permission denied"): (13, "Permission denied"),
    (20, "File exists"): (17, "File exists"),
    (31, "Is a directory"): (21, "Is a directory"),
    (54, "Not a directory"): (20, "Not a directory"),
    (55, "Directory not empty"): (39, "Directory not empty"),
    (63, "Operation not permitted"): (1, "Operation not permitted"),
    (76, "Capabilities insufficient"): (1, "Operation not permitted"),
    (69, "Read-only file system"): (30, "Read-only file system"),
    (28, "Invalid argument"): (22, "Invalid argument"),
    (8, "Bad file descriptor"): (9, "Bad file descriptor"),
    (64, "Broken pipe"): (32, "Broken pipe"),
    (51, "No space left on device"): (28, "No space left on device"),
    (22, "File too large"): (27, "File too large"),
    (33, "No file descriptors available"): (24, "Too many open files"),
    (32, "Symbolic link loop"): (40, "Too many levels of symbolic links"),
    (37, "Filename too long"): (36, "File name too long"),
    (75, "Cross-device link"): (18, "Invalid cross-device link"),
    (10, "Resource busy"): (16, "Device or resource busy"),
    (70, "Invalid seek"): (29, "Illegal seek"),
    (59, "Not a tty"): (25, "Inappropriate ioctl for device"),
}
"""Number and words of an error in WASI's libc, and in Linux's."""

_ERROR = re.compile(rb"\[Errno (\d+)\] ([A-Z][A-Za-z -]+)")
_DURATION = re.compile(rb"\b(in|took|after|real|user|sys)(\s+)\d+(?:\.\d+)?(?= ?s(?:econds?)?\b)")
_ADDRESS = re.compile(rb"\b0x[0-9a-f]{8,16}\b")
_TEMPORARY = re.compile(rb"/tmp/tmp[a-z0-9_]{8}\b")


def joined(parts: Iterable[tuple[int, bytes]]) -> Parts:
    """Return the parts with neighbours of one stream made into one."""
    found: list[tuple[int, list[bytes]]] = []
    for stream, part in parts:
        if found and found[-1][0] == stream:
            found[-1][1].append(part)
        else:
            found.append((stream, [part]))
    return tuple((stream, b"".join(pieces)) for stream, pieces in found)


def as_on_linux(parts: Iterable[tuple[int, bytes]]) -> Parts:
    """Return output in which errors of the platform have Linux's numbers and words."""
    return tuple((stream, _ERROR.sub(_numbered, part)) for stream, part in joined(parts))


def _numbered(match: re.Match[bytes]) -> bytes:
    number, words = int(match[1]), match[2].decode()
    found = _LINUX.get((number, words))
    return match[0] if found is None else f"[Errno {found[0]}] {found[1]}".encode()


def steadied(parts: Iterable[tuple[int, bytes]]) -> Parts:
    """Return output without what differs from run to run: durations are 0.00, addresses and temporary names are counted."""
    seen: dict[bytes, bytes] = {}

    def counted(match: re.Match[bytes]) -> bytes:
        plain = b"0x7f%010x" if match[0].startswith(b"0x") else b"/tmp/tmp%08d"
        return seen.setdefault(match[0], plain % len(seen))

    found: list[tuple[int, bytes]] = []
    for stream, part in joined(parts):
        text = _DURATION.sub(rb"\g<1>\g<2>0.00", part)
        found.append((stream, _TEMPORARY.sub(counted, _ADDRESS.sub(counted, text))))
    return tuple(found)


def steadied_time(seconds: float) -> float:
    """Return the time that passes in a world while a program runs by a real clock: whole seconds; the rest is this machine's speed."""
    return float(int(seconds))
