"""The relay over HTTP: a reverse proxy on this machine in front of one streamable HTTP server."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import h11

from simtrain.mcp.relay.connections import Gone, NoHttp, RelayConnection, RelayLimits, TooLarge
from simtrain.mcp.relay.exchange import HttpExchange
from simtrain.mcp.relay.journal import RelayJournal
from simtrain.mcp.relay.perturb import Perturber
from simtrain.mcp.relay.upstream import Upstream
from simtrain.mcp.serve.guard import LOOPBACK
from simtrain.mcp_wire.targets import HttpTarget
from simtrain.values.errors import InputError

ADDRESS = "127.0.0.1"


class HttpRelay:
    """An async context manager: while it is open, the server can be reached at `url` as at its own address.

    It listens on the loopback interface alone, and turns away requests whose Host or Origin is another.
    """

    def __init__(
        self,
        target: HttpTarget,
        *,
        perturber: Perturber,
        journal: RelayJournal,
        port: int = 0,
        limits: RelayLimits | None = None,
    ) -> None:
        self.port = port
        self.failed: asyncio.Future[None]
        self._limits = limits or RelayLimits()
        self._upstream = Upstream(target, self._limits)
        self._perturber = perturber
        self._journal = journal
        self._servers: list[asyncio.Server] = []
        self._clients: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """The URL for clients."""
        return f"http://{ADDRESS}:{self.port}{self._upstream.path}"

    async def __aenter__(self) -> Self:
        """Listen. Raises InputError where the port is taken."""
        self.failed = asyncio.get_running_loop().create_future()
        try:
            first = await asyncio.start_server(self._accept, ADDRESS, self.port, limit=2**18)
        except OSError as error:
            raise InputError(
                f"port {self.port} cannot be used: {error.strerror}", remedy="choose another with --port"
            ) from None
        self._servers.append(first)
        self.port = first.sockets[0].getsockname()[1]
        with contextlib.suppress(OSError):
            # Clients that are told `localhost` may try this one first.
            self._servers.append(
                await asyncio.start_server(self._accept, "::1", self.port, family=socket.AF_INET6, limit=2**18)
            )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers:
            server.close()
        for task in self._clients:
            task.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)
        await self._upstream.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clients.add(task)
        connection = RelayConnection(reader, writer, ours=h11.SERVER, limits=self._limits)
        try:
            await self._serve(connection)
        except InputError as error:
            # The recording cannot be written: there is no going on without it.
            if not self.failed.done():
                self.failed.set_exception(error)
        except NoHttp as error:
            await connection.refuse(error.status)
        except Gone:
            connection.abort()
        except asyncio.CancelledError:
            connection.abort()
        finally:
            self._clients.discard(task)
            await connection.close()

    async def _serve(self, client: RelayConnection) -> None:
        """Answer the requests of one connection, one after the other."""
        while True:
            async with _limit(self._limits.idle):
                request = await client.receive()
            if not isinstance(request, h11.Request):
                return
            exchange = HttpExchange(
                client,
                request,
                upstream=self._upstream,
                perturber=self._perturber,
                journal=self._journal,
                limits=self._limits,
            )
            refusal = _refusal(request)
            if refusal is not None:
                await exchange.refuse(*refusal)
                await client.linger()
                return
            try:
                async with _limit(self._limits.request):
                    if client.wire.they_are_waiting_for_100_continue:
                        await client.send(h11.InformationalResponse(status_code=100, headers=[]))
                    body = await client.body()
            except TooLarge:
                await exchange.refuse(413, f"the body is larger than {self._limits.body} bytes")
                await client.linger()
                return
            await _until_gone(client, exchange, body)
            if not client.next_message():
                return


async def _until_gone(client: RelayConnection, exchange: HttpExchange, body: bytes) -> None:
    """Run an exchange to its end, or cancel it when the client disconnects."""
    # The socket is read while the request runs: a closed one is noticed only by reading.
    running = asyncio.create_task(exchange.run(body))
    watching = asyncio.create_task(client.watch())
    try:
        await asyncio.wait((running, watching), return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            raise Gone("the client has left")
        await running
    finally:
        for task in (running, watching):
            task.cancel()
        await asyncio.gather(running, watching, return_exceptions=True)


def _refusal(request: h11.Request) -> tuple[int, str] | None:
    """Status and message for a request that a web page of another site may have sent (DNS rebinding); None for any other."""
    headers = {name: value.decode("latin-1") for name, value in request.headers}
    if _host(headers.get(b"host", "")) not in LOOPBACK:
        return 421, "Invalid Host header"
    if b"origin" in headers and _host(urlsplit(headers[b"origin"]).netloc) not in LOOPBACK:
        return 403, "Invalid Origin header"
    return None


def _host(authority: str) -> str:
    host = authority.lower().rpartition("@")[2]
    return host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]


@contextlib.asynccontextmanager
async def _limit(seconds: float):
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise Gone(f"nothing came within {seconds:g} s") from None
