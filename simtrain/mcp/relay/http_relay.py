"""The relay over HTTP: a reverse proxy on this machine in front of one streamable HTTP server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from types import TracebackType
from typing import Self

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from simtrain.mcp.relay.exchange import GIVEN, HttpExchange
from simtrain.mcp.relay.journal import RelayJournal
from simtrain.mcp.relay.perturb import Perturber
from simtrain.mcp.relay.upstream import LONGEST_HEADER, Gone, RelayLimits, Upstream, within
from simtrain.mcp.serve.guard import misaddressed
from simtrain.mcp_wire.targets import HttpTarget
from simtrain.values.errors import InputError

ADDRESS = "127.0.0.1"

LINGERING = 1.0
"""Seconds in which what is still coming of a refused request is read: closing before would tear the answer from the client's hands."""

_LOG = logging.getLogger(__name__)
# What is not HTTP is answered with 400, which is all that there is to say of it.
_LOG.addFilter(lambda record: record.exc_info is None or not isinstance(record.exc_info[1], HttpProcessingError))


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
        app = web.Application(client_max_size=self._limits.body)
        app.router.add_route("*", "/{path:.*}", self._answer)
        app.on_response_prepare.append(_as_given)
        self._runner = web.AppRunner(
            app,
            logger=_LOG,
            access_log=None,
            handler_cancellation=True,
            auto_decompress=False,
            keepalive_timeout=self._limits.idle,
            lingering_time=LINGERING,
            max_line_size=LONGEST_HEADER,
            max_field_size=LONGEST_HEADER,
            shutdown_timeout=0.01,
        )

    @property
    def url(self) -> str:
        """The URL for clients."""
        return f"http://{ADDRESS}:{self.port}{self._upstream.path}"

    async def __aenter__(self) -> Self:
        """Listen. Raises InputError where the port is taken."""
        self.failed = asyncio.get_running_loop().create_future()
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, ADDRESS, self.port).start()
        except OSError as error:
            await self._runner.cleanup()
            raise InputError(
                f"port {self.port} cannot be used: {error.strerror}", remedy="choose another with --port"
            ) from None
        self.port = self._runner.addresses[0][1]
        with contextlib.suppress(OSError):
            # Clients that are told `localhost` may try this one first.
            await web.TCPSite(self._runner, "::1", self.port).start()
        self._upstream.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()
        await self._upstream.close()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        exchange = HttpExchange(request, self._upstream, self._perturber, self._journal, self._limits)
        # A web page of another site may have sent it (DNS rebinding).
        refusal = misaddressed(request.headers)
        if refusal is not None:
            return exchange.refuse(*refusal)
        try:
            async with within(self._limits.request, "the request did not come"):
                body = await request.read()
            return await exchange.run(body)
        except web.HTTPRequestEntityTooLarge:
            return exchange.refuse(413, f"the body is larger than {self._limits.body} bytes")
        except web.RequestPayloadError:
            return web.Response(status=400)
        except (Gone, ConnectionError):
            pass
        except InputError as error:
            # The recording cannot be written: there is no going on without it.
            if not self.failed.done():
                self.failed.set_exception(error)
        # Broken off, so that the client does not take what it has for the whole.
        if request.transport is not None:
            request.transport.abort()
        return web.Response()


async def _as_given(request: web.Request, response: web.StreamResponse) -> None:
    """Take away what the library adds to a reply."""
    for name in ("Server", "Date", "Content-Type"):
        if name.lower() not in response.get(GIVEN, ()):
            response.headers.pop(name, None)
