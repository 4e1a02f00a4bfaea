"""What a relay stands between and what it cannot go below: servers that echo, and pumps that pass on bytes without a look at them.

`echo` answers lines on standard input; `pump COMMAND...` passes lines on to a command and back; `http_echo` and `tcp_pump PORT` do the
same on sockets, and print the port they listen on.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE

REPLY = b'{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' + b"x" * 400 + b'"}]}}'


def echo() -> None:
    """A server on stdio."""
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(REPLY % line.partition(b'"id":')[2].partition(b",")[0] + b"\n")
        sys.stdout.buffer.flush()


async def pump(command: list[str]) -> None:
    """Bytes through, both ways."""
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
    assert process.stdin is not None and process.stdout is not None
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    made = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), sys.stdout.buffer
    )
    writer = asyncio.StreamWriter(*made, None, loop)
    await asyncio.gather(_copy(reader, process.stdin), _copy(process.stdout, writer))
    await process.wait()


async def http_echo() -> None:
    """A server on a socket that knows the shape of its requests."""
    await _listen(_answer)


async def tcp_pump(port: int) -> None:
    """Bytes through, both ways, to another port."""

    async def through(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, onward = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_copy(reader, onward), _copy(there, writer))

    await _listen(through)


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while head := await _head(reader):
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        body = REPLY % (await reader.readexactly(length)).partition(b'"id":')[2].partition(b",")[0]
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        )
        await writer.drain()
    writer.close()


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(65536):
        writer.write(chunk)
        await writer.drain()
    writer.close()


async def _listen(serve: object) -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)  # type: ignore[arg-type]
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["echo"]:
            echo()
        case ["pump", *command]:
            asyncio.run(pump(command))
        case ["http_echo"]:
            asyncio.run(http_echo())
        case ["tcp_pump", port]:
            asyncio.run(tcp_pump(int(port)))
        case _:
            sys.exit(__doc__)
