"""Standard input and output of this process as asynchronous streams, each with its own thread.

The threads may block for ever on a client that neither writes nor reads. They are daemons, so the process can end all the same.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import Self

MAX_LINE = 64 * 1024 * 1024
"""Longest line in bytes."""

_CHUNK = 256 * 1024
_AHEAD = 16
"""Lines that may be read ahead."""


@contextmanager
def standard_streams() -> Generator[tuple[InputLines, Output]]:
    """Yield the lines of standard input, and standard output. Anything printed meanwhile goes to standard error."""
    kept = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    # A stray print() of a plug-in, or of a child process, must not end up between frames.
    os.dup2(2, 1)
    try:
        yield InputLines(kept[0]), Output(kept[1])
    finally:
        # The duplicates are not closed: a thread may still be blocked on them.
        os.dup2(kept[0], 0)
        os.dup2(kept[1], 1)


class InputLines:
    """The lines read from a descriptor, without line ends; None for each line longer than MAX_LINE."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[bytearray | EOFError | None] = asyncio.Queue()
        self._free = Semaphore(_AHEAD)
        Thread(target=self._read, name="standard input", daemon=True).start()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytearray | None:
        line = await self._queue.get()
        self._free.release()
        if isinstance(line, EOFError):
            raise StopAsyncIteration
        return line

    def _read(self) -> None:
        # RuntimeError: the event loop is closed, so nobody reads any more.
        with suppress(RuntimeError):
            begun: bytearray | None = bytearray()
            while chunk := self._chunk():
                *ends, rest = chunk.split(b"\n")
                for end in ends:
                    self._put(_longer(begun, end))
                    begun = bytearray()
                begun = _longer(begun, rest)
            if begun is None or begun:
                self._put(begun)
            self._put(EOFError())

    def _chunk(self) -> bytes:
        try:
            return os.read(self._descriptor, _CHUNK)
        except OSError:
            return b""

    def _put(self, line: bytearray | EOFError | None) -> None:
        self._free.acquire()
        self._loop.call_soon_threadsafe(self._queue.put_nowait, line)


def _longer(line: bytearray | None, more: bytes) -> bytearray | None:
    """Return the line extended by some bytes; None if it is too long, then and from then on."""
    if line is None or len(line) + len(more) > MAX_LINE:
        return None
    line += more
    return line


class Output:
    """A descriptor to write to."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[tuple[bytes, asyncio.Future[None]]] = SimpleQueue()
        Thread(target=self._write, name="standard output", daemon=True).start()

    async def write(self, content: bytes) -> None:
        """Write some bytes. Raises BrokenPipeError if nobody reads any more."""
        done: asyncio.Future[None] = self._loop.create_future()
        self._queue.put((content, done))
        await done

    def _write(self) -> None:
        with suppress(RuntimeError):
            while True:
                content, done = self._queue.get()
                problem = self._written(content)
                self._loop.call_soon_threadsafe(_settle, done, problem)

    def _written(self, content: bytes) -> OSError | None:
        left = memoryview(content)
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError as error:
            return BrokenPipeError(error.errno, error.strerror)
        return None


def _settle(done: asyncio.Future[None], problem: OSError | None) -> None:
    if done.done():
        return
    if problem is None:
        done.set_result(None)
    else:
        done.set_exception(problem)
