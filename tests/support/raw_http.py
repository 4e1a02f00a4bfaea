"""An HTTP server for tests that answers with exactly the bytes it is told to, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self


@dataclass
class Asked:
    """One request: header names in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the client left before the reply was over."""

    @property
    def frame(self) -> Any:
        return json.loads(self.body)


Answer = Callable[[Asked], AsyncIterator[bytes]]


class RawServer:
    """Each connection serves one request; `answer` yields the bytes of the reply, head included."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self.connections = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/mcp"

    async def __aenter__(self) -> Self:
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.close()
        await self.server.wait_closed()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            asked = await request(reader)
            self.asked.append(asked)
            leaving = asyncio.create_task(reader.read())
            leaving.add_done_callback(lambda _: asked.left.set())
            async for chunk in self.answer(asked):
                writer.write(chunk)
                await writer.drain()
            leaving.cancel()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    return Asked(method, target, headers, await reader.readexactly(int(headers.get("content-length", 0))))


def reply(body: bytes, *, status: str = "200 OK", kind: str = "application/json", headers: str = "") -> bytes:
    """A whole reply."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{headers}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
"""The head of an event stream that ends with its connection."""


async def fetch(
    url: str, body: bytes = b"", *, method: str = "POST", headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers (names in lower case) and body of a request, read without any library."""
    async with asyncio.timeout(20):
        reader, writer, _ = await opened(url, body, method=method, headers=headers)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            found = {
                name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)
            }
            if "content-length" in found:
                content = await reader.readexactly(int(found["content-length"]))
            elif found.get("transfer-encoding") == "chunked":
                content = b"".join([chunk async for chunk in chunks(reader)])
            else:
                content = await reader.read()
        finally:
            writer.close()
    return int(head[0].split(" ")[1]), found, content


async def opened(
    url: str, body: bytes = b"", *, method: str = "POST", headers: dict[str, str] | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, str]:
    """A connection on which a request has been sent."""
    authority, _, path = url.removeprefix("http://").partition("/")
    host, _, port = authority.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    given = {"Host": authority, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in {**given, **(headers or {})}.items())
    writer.write(f"{method} /{path} HTTP/1.1\r\n{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return reader, writer, authority


async def chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The chunks of a chunked body, as they come."""
    while size := int(await reader.readline(), 16):
        yield await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
