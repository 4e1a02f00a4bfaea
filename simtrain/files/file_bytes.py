"""Read files from untrusted paths: never beyond a limit, whatever kind of file it is."""

import json
import os
import select
import stat
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from simtrain.values.errors import InputError
from simtrain.values.types import JsonValue

MOST_BYTES = 256_000_000
"""Maximum bytes of a file that is read whole, and of one line of a file of lines."""


WRITER_WAIT = 1.0
"""Seconds to wait for the writer of a pipe."""


def file_bytes(path: Path, *, most: int = MOST_BYTES) -> bytes:
    """Return the content of a file. Raises InputError if it is larger or `opened` refuses it, OSError if it cannot be read."""
    # Checked while reading, since devices report a size of 0.
    with opened(path, most=most) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise _too_large("the file", path, most)
    return content


def file_text(path: Path) -> str:
    """Return the text of a UTF-8 file, without a byte order mark. Raises InputError."""
    try:
        # Spreadsheets begin their CSV files with a byte order mark.
        return file_bytes(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        problem = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror or str(error)
        raise InputError(problem.lower(), file=path) from None


def opened(path: Path, *, most: int = MOST_BYTES) -> BinaryIO:
    """Return a file, open for reading; for a pipe its content so far as needed, up to one byte more than the limit.

    Raises InputError for a pipe without a writer, OSError if the file cannot be opened.
    """
    if "\0" in str(path):
        # open() would raise a ValueError, which callers do not expect.
        raise InputError("the file name contains a null character", file=path)
    file = open(path, "rb", opener=_at_once)  # noqa: SIM115
    if not stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
        os.set_blocking(file.fileno(), True)
        return file
    with file:
        first = _first_byte(file.fileno(), path)
        os.set_blocking(file.fileno(), True)
        return BytesIO(first + file.read(most))


def _at_once(path: str, flags: int) -> int:
    # Non-blocking, since opening a pipe blocks until it has a writer.
    return os.open(path, flags | os.O_NONBLOCK)


def _first_byte(pipe: int, path: Path) -> bytes:
    """Return the first byte of a pipe, or nothing while its writer has sent none. Raises InputError if it has no
    writer.
    """
    arriving = select.poll()
    arriving.register(pipe, select.POLLIN)
    # A shell starts both ends of `<(command)` at the same time, so the writer may be late.
    arriving.poll(WRITER_WAIT * 1000)
    try:
        first = os.read(pipe, 1)
    # There is a writer, but it has not written yet.
    except BlockingIOError:
        return b""
    if not first:
        raise InputError("this is an empty pipe that no process writes to", remedy="name a file", file=path)
    return first


def file_lines(file: BinaryIO, path: Path, *, most: int = MOST_BYTES) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of an open file, with their numbers from 1. Raises InputError for one that is too long."""
    number = 0
    # Bounded, or a file without line ends would be read into memory whole.
    while line := file.readline(most + 1):
        number += 1
        if len(line) > most:
            raise _too_large(f"line {number}", path, most)
        yield number, line


def _too_large(what: str, path: Path, most: int) -> InputError:
    return InputError(f"{what} is larger than {most // 1_000_000} MB", remedy="split it", file=path)


def parsed_json(text: str | bytes, path: Path, *, remedy: str | None = None) -> JsonValue:
    """Return the value in a JSON text that a file holds, numbers of any size and unpaired surrogates included. Raises InputError."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"this is not JSON: {error.msg}", remedy=remedy, file=path, line=error.lineno) from None
    except UnicodeError:
        problem = "this is not JSON: it is not UTF-8"
    except ValueError:
        problem = "a number in the JSON is too long"
    except RecursionError:
        problem = "the JSON is nested too deeply"
    raise InputError(problem, remedy=remedy, file=path)
