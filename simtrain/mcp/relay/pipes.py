"""The standard streams of this process as asyncio streams, whatever they are connected to."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import BinaryIO

CHUNK = 65536


async def read_end(file: BinaryIO) -> asyncio.StreamReader:
    """Return a reader for a pipe, a terminal or a file."""
    reader = asyncio.StreamReader(limit=CHUNK)
    loop = asyncio.get_running_loop()
    try:
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
    except ValueError:
        # Event loops cannot wait for a regular file: a thread reads it into a pipe.
        source, sink = os.pipe()
        threading.Thread(target=_copy, args=(file, os.fdopen(sink, "wb", buffering=0)), daemon=True).start()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(source, "rb", buffering=0))
    return reader


@asynccontextmanager
async def write_end(file: BinaryIO) -> AsyncGenerator[asyncio.StreamWriter]:
    """Return a writer for a pipe, a terminal or a file. Its `drain` waits until everything is written."""
    loop = asyncio.get_running_loop()
    copying: threading.Thread | None = None
    try:
        transport, protocol = await loop.connect_write_pipe(_protocol, file)
    except ValueError:
        source, sink = os.pipe()
        copying = threading.Thread(target=_copy, args=(os.fdopen(source, "rb", buffering=0), file), daemon=True)
        copying.start()
        transport, protocol = await loop.connect_write_pipe(_protocol, os.fdopen(sink, "wb", buffering=0))
    # No buffer of our own: the process may end right after `drain` returns.
    transport.set_write_buffer_limits(0)
    try:
        yield asyncio.StreamWriter(transport, protocol, None, loop)
    finally:
        transport.close()
        if copying is not None:
            await asyncio.to_thread(copying.join)


def _protocol() -> asyncio.StreamReaderProtocol:
    return asyncio.StreamReaderProtocol(asyncio.StreamReader())


def _copy(source: BinaryIO, sink: BinaryIO) -> None:
    with contextlib.suppress(OSError), sink:
        while chunk := source.read(CHUNK):
            sink.write(chunk)
