"""A reverse proxy on this machine in front of one HTTP server; subclasses decide what happens to a request."""

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
"""Seconds for reading the rest of a refused request: if the connection closed sooner, the client would not get the reply."""

GIVEN = web.ResponseKey("given", frozenset[str])
"""The key under which a reply keeps the names, in lower case, of the headers that the server sent."""

_ResponseT = TypeVar("_ResponseT", bound=web.StreamResponse)

_LOG = logging.getLogger(__name__)
# Input that is not HTTP gets status 400; a traceback in the log would add nothing.
_LOG.addFilter(lambda record: record.exc_info is None or not isinstance(record.exc_info[1], HttpProcessingError))


class ReverseProxy(ABC):
    """An async context manager: while it is open, the server can be reached at `url` as at its own address.

    It listens only on the loopback interface, and refuses requests with any other Host or Origin.
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
            # A client that hangs up must not leave its request to the server running.
            handler_cancellation=True,
            # Bodies pass as they are; a client that asked for gzip gets the server's own bytes.
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
        """Listen. Raises InputError if the port is taken."""
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
        """Return the reply to a completely received request. Raises Gone, and InputError if the relay cannot go on."""

    @abstractmethod
    def refuse(self, request: web.Request, status: int, message: str) -> web.Response:
        """Return an error in place of the server's reply."""

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
            # The recording cannot be written, and a relay that goes on without it would lose what it was started for.
            if not self.failed.done():
                self.failed.set_exception(error)
        # Aborted, so that the client does not take a partial reply for a complete one.
        if request.transport is not None:
            request.transport.abort()
        return web.Response()


def made(status: int, body: bytes) -> web.Response:
    """Return a reply of the relay's own, in JSON."""
    return given(web.Response(body=body, status=status, headers={"Content-Type": "application/json"}))


def given(response: _ResponseT) -> _ResponseT:
    """Return the reply with its headers marked as the server's."""
    response[GIVEN] = frozenset(name.lower() for name in response.headers)
    return response


async def _as_given(request: web.Request, response: web.StreamResponse) -> None:
    """Remove the headers that aiohttp adds to a reply."""
    for name in ("Server", "Date", "Content-Type"):
        if name.lower() not in response.get(GIVEN, ()):
            response.headers.pop(name, None)
