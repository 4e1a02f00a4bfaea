"""Standard input and output of this process as asynchronous streams, each with a thread of its own.

The threads may block for ever on a client that neither speaks nor reads; the process ends all the same.
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
"""Lines that may be read before they are asked for."""


@contextmanager
def standard_streams() -> Generator[tuple[InputLines, Output]]:
    """Yield the lines of standard input, and standard output; anything printed meanwhile goes to standard error."""
    kept = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    try:
        yield InputLines(kept[0]), Output(kept[1])
    finally:
        # The kept descriptors stay open: a thread may still be blocked on them.
        os.dup2(kept[0], 0)
        os.dup2(kept[1], 1)


class InputLines:
    """The lines that come in on a descriptor, without their ends; None for each that is longer than MAX_LINE."""

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
        # A closed loop means that nobody listens any more.
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
    """Return the line with more of it; None for one that is too long, however it goes on."""
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
        """Write all of it. Raises BrokenPipeError when nobody reads any more."""
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
