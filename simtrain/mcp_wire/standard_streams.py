"""The standard streams of this process as asyncio streams, whatever they are connected to."""

import asyncio
import os
import stat
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import BinaryIO

from simtrain.mcp_wire.stream_parts import Piece, StreamLines

CHUNK = 65536

MAX_LINE = 64 * 1024 * 1024
"""Bytes of a line above which it is given out in parts."""

PATIENCE = 2.0
"""Seconds to wait until the copying thread has written the rest."""


@contextmanager
def standard_streams() -> Generator[tuple[BinaryIO, BinaryIO]]:
    """Yield standard input and output as files of their own; anything printed meanwhile goes to standard error."""
    kept = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    # A stray print() of a plug-in, or of a child process, must not end up between frames.
    os.dup2(2, 1)
    try:
        yield os.fdopen(os.dup(kept[0]), "rb", buffering=0), os.fdopen(os.dup(kept[1]), "wb", buffering=0)
    finally:
        for standard, own in enumerate(kept):
            # asyncio made it non-blocking for everyone who shares it, such as the shell that started us.
            os.set_blocking(own, True)
            os.dup2(own, standard)
            os.close(own)


async def read_end(file: BinaryIO) -> asyncio.StreamReader:
    """Return a reader of a pipe, a terminal, a socket or a file."""
    reader = asyncio.StreamReader(limit=CHUNK)
    if not _is_pipe(file):
        source, sink = os.pipe()
        threading.Thread(target=_copy, args=(file, os.fdopen(sink, "wb", buffering=0)), daemon=True).start()
        file = os.fdopen(source, "rb", buffering=0)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
    return reader


@asynccontextmanager
async def write_end(file: BinaryIO) -> AsyncGenerator[asyncio.StreamWriter]:
    """Return a writer to a pipe, a terminal, a socket or a file, whose `drain` waits until everything is written."""
    loop = asyncio.get_running_loop()
    copying: threading.Thread | None = None
    if not _is_pipe(file):
        source, sink = os.pipe()
        copying = threading.Thread(target=_copy, args=(os.fdopen(source, "rb", buffering=0), file), daemon=True)
        copying.start()
        file = os.fdopen(sink, "wb", buffering=0)
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), file
    )
    # No buffer of our own: the process may end right after `drain` returns.
    transport.set_write_buffer_limits(0)
    try:
        yield asyncio.StreamWriter(transport, protocol, None, loop)
    finally:
        transport.close()
        if copying is not None:
            await asyncio.to_thread(copying.join, PATIENCE)


async def lines(reader: asyncio.StreamReader) -> AsyncIterator[Piece]:
    """Yield the received lines, each with its newline; a line above MAX_LINE in parts."""
    cutter = StreamLines(limit=MAX_LINE)
    while chunk := await reader.read(CHUNK):
        for piece in cutter.feed(chunk):
            yield piece
    for piece in cutter.rest():
        yield piece


def _is_pipe(file: BinaryIO) -> bool:
    """True for a pipe, which an event loop can wait for; a thread copies anything else to or from one.

    A loop cannot wait for a file on disk nor for the null device; and a terminal, or one socket for both directions,
    must not be made non-blocking for whoever else has it open.
    """
    return stat.S_ISFIFO(os.fstat(file.fileno()).st_mode)


def _copy(source: BinaryIO, sink: BinaryIO) -> None:
    with suppress(OSError), sink:
        while chunk := source.read(CHUNK):
            sink.write(chunk)
