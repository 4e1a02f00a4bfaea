"""A reverse proxy on this machine in front of one HTTP server; what becomes of a request is its subclass's."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self, TypeVar

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from simtrain.mcp.relay.upstream import LONGEST_HEADER, Gone, RelayLimits, Upstream, within
from simtrain.mcp.serve.guard import misaddressed
from simtrain.mcp_wire.targets import HttpTarget
from simtrain.values.errors import InputError

ADDRESS = "127.0.0.1"

LINGERING = 1.0
"""Seconds in which what is still coming of a refused request is read: closing before would tear the answer from the client's hands."""

GIVEN = web.ResponseKey("given", frozenset[str])
"""Where a reply says which headers it has from the server, in small letters."""

_ResponseT = TypeVar("_ResponseT", bound=web.StreamResponse)

_LOG = logging.getLogger(__name__)
# What is not HTTP is answered with 400, which is all that there is to say of it.
_LOG.addFilter(lambda record: record.exc_info is None or not isinstance(record.exc_info[1], HttpProcessingError))


class ReverseProxy(ABC):
    """An async context manager: while it is open, the server can be reached at `url` as at its own address.

    It listens on the loopback interface alone, and turns away requests whose Host or Origin is another.
    """

    def __init__(self, target: HttpTarget, *, port: int = 0, limits: RelayLimits | None = None) -> None:
        self.port = port
        self.failed: asyncio.Future[None]
        self.limits = limits or RelayLimits()
        self.upstream = Upstream(target, self.limits)
        app = web.Application(client_max_size=self.limits.body)
        app.router.add_route("*", "/{path:.*}", self._answer)
        app.on_response_prepare.append(_as_given)
        self._runner = web.AppRunner(
            app,
            logger=_LOG,
            access_log=None,
            handler_cancellation=True,
            auto_decompress=False,
            keepalive_timeout=self.limits.idle,
            lingering_time=LINGERING,
            max_line_size=LONGEST_HEADER,
            max_field_size=LONGEST_HEADER,
            shutdown_timeout=0.01,
        )

    @property
    def url(self) -> str:
        """The URL for clients."""
        return f"http://{ADDRESS}:{self.port}{self.upstream.path}"

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
        self.upstream.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()
        await self.upstream.close()

    @abstractmethod
    async def exchange(self, request: web.Request, body: bytes) -> web.StreamResponse:
        """Return the answer to a request that has come whole. Raises Gone, and InputError where there is no going on."""

    @abstractmethod
    def refuse(self, request: web.Request, status: int, message: str) -> web.Response:
        """Return an answer in the server's stead, which says why."""

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        # A web page of another site may have sent it (DNS rebinding).
        refusal = misaddressed(request.headers)
        if refusal is not None:
            return self.refuse(request, *refusal)
        try:
            async with within(self.limits.request, "the request did not come"):
                body = await request.read()
            return await self.exchange(request, body)
        except web.HTTPRequestEntityTooLarge:
            return self.refuse(request, 413, f"the body is larger than {self.limits.body} bytes")
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


def given(response: _ResponseT) -> _ResponseT:
    """Return the reply, with note taken that its headers are the server's."""
    response[GIVEN] = frozenset(name.lower() for name in response.headers)
    return response


async def _as_given(request: web.Request, response: web.StreamResponse) -> None:
    """Take away what the library adds to a reply."""
    for name in ("Server", "Date", "Content-Type"):
        if name.lower() not in response.get(GIVEN, ()):
            response.headers.pop(name, None)
