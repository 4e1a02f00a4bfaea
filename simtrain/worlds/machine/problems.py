"""Errors of files, worded as glibc words them: the same on every host."""

from collections.abc import Callable
from errno import (
    EACCES,
    EBUSY,
    EEXIST,
    EFBIG,
    EINVAL,
    EISDIR,
    ELOOP,
    ENAMETOOLONG,
    ENOENT,
    ENOSPC,
    ENOTDIR,
    ENOTEMPTY,
    EPERM,
    EROFS,
)  # fmt: skip
from typing import TypeVar

T = TypeVar("T")

TEXTS = {
    EPERM: "Operation not permitted",
    ENOENT: "No such file or directory",
    EACCES: "Permission denied",
    EBUSY: "Device or resource busy",
    EEXIST: "File exists",
    ENOTDIR: "Not a directory",
    EISDIR: "Is a directory",
    EINVAL: "Invalid argument",
    EFBIG: "File too large",
    ENOSPC: "No space left on device",
    EROFS: "Read-only file system",
    ENAMETOOLONG: "File name too long",
    ENOTEMPTY: "Directory not empty",
    ELOOP: "Too many levels of symbolic links",
}
"""Number of an error -> its text, as `strerror` of glibc gives it in the C locale."""


def problem(number: int, path: str) -> OSError:
    """Return the error with this number: FileNotFoundError, PermissionError and so on. `strerror` is its text, `filename` the path."""
    return OSError(number, TEXTS[number], path)


def attempt(action: Callable[[], T]) -> T | OSError:
    """Return the result of an action, or the error that it raised."""
    try:
        return action()
    except OSError as error:
        return error


def problem_text(error: OSError, *, name: str | None = None) -> str:
    """Return an error as commands print it: `FILE: No such file or directory`; with `name`, as the file was called."""
    text, called = error.strerror or str(error), name or error.filename
    return f"{called}: {text}" if called else text
