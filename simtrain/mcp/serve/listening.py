"""HTTP servers for a serving session: MCP on one port, the control plane on another."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from errno import EADDRINUSE
from functools import partial
from pathlib import Path
from secrets import token_urlsafe
from typing import cast

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from simtrain.mcp.serve.addresses import Addresses, NamedHandlers
from simtrain.mcp.serve.app_pages import AppPages
from simtrain.mcp.serve.control import Control
from simtrain.mcp.serve.guard import LOOPBACK, HostGuard
from simtrain.mcp.serve.session import ServingSession
from simtrain.mcp.serve.shutdown import OrderlyShutdown
from simtrain.mcp.serve.slow_heads import BriskProtocol
from simtrain.mcp.serve.unix_socket import unix_socket
from simtrain.mcp_wire.handler import RequestHandler
from simtrain.mcp_wire.http_server import MAX_BODY, http_endpoint
from simtrain.mcp_wire.validation import ARRIVAL, WholeBodies
from simtrain.values.errors import InputError

KEEP_ALIVE = 120
"""Seconds that an idle connection is kept open: longer than this process is ever busy, so that no client uses a closed one."""

BACKLOG = 2048
"""Connections that may wait to be accepted."""

STOPPING = 5
"""Seconds that open connections have to end when serving ends."""


@dataclass(frozen=True)
class Listening:
    """Where to listen, and access rules. Port 0 means any free port; `control_port` None means no control plane.

    With `control_socket` the control plane is on a Unix socket at that path, for this user alone, without a token. Else `control_token` is
    its token, or a random one.

    `token` is required of every MCP client. `hosts` are the names under which the machine may be addressed. `patience` is how many
    seconds the head of a request may take to arrive, and then its body.
    """

    host: str = "127.0.0.1"
    port: int = 0
    control_port: int | None = 0
    control_socket: Path | None = None
    control_token: str | None = None
    token: str | None = None
    hosts: tuple[str, ...] = LOOPBACK
    max_body: int = MAX_BODY
    patience: float = ARRIVAL
    json_replies: bool = True
    default: bool = True
    pages: bool = False
    """Whether apps are shown to people and browsers as well."""


@dataclass(frozen=True)
class Door:
    """The URLs of a listening session: MCP, and the control plane with its token, which a Unix socket (`unix:PATH`) has none of."""

    url: str
    control_url: str | None
    control_token: str | None


@dataclass(frozen=True)
class Sockets:
    """The bound sockets of a serving session."""

    main: socket.socket
    control: socket.socket | None


@contextmanager
def bind(options: Listening) -> Generator[Sockets]:
    """Bind the ports for the block. Raises InputError for one that is not available."""
    with _bind(options.host, options.port) as main:
        if options.control_socket is not None:
            with unix_socket(options.control_socket, backlog=BACKLOG) as control:
                yield Sockets(main, control)
            return
        if options.control_port is None:
            yield Sockets(main, None)
            return
        # A port of its own: the agent's network may be limited to the MCP port, so that it cannot reach the grading.
        with _bind(options.host, options.control_port) as control:
            yield Sockets(main, control)


@asynccontextmanager
async def listen(serving: ServingSession, options: Listening, sockets: Sockets | None = None) -> AsyncGenerator[Door]:
    """Serve over HTTP while the block runs, on the given sockets or new ones. Raises InputError as `bind` does."""
    if sockets is None:
        with bind(options) as own:
            async with listen(serving, options, own) as door:
                yield door
        return
    url = _url(options.host, sockets.main)
    token = None if options.control_socket else options.control_token or token_urlsafe(24)
    async with http_endpoint(
        json_replies=options.json_replies, max_body=options.max_body, arrival=options.patience
    ) as endpoint:
        addresses = Addresses(
            endpoint,
            serving.host,
            serving.handlers,
            open_default=serving.open_default if options.default else None,
            token=options.token,
        )
        shown: ASGIApp = addresses
        if options.pages:
            shown = _with_pages(addresses, serving, options)
        async with served(HostGuard(shown, hosts=options.hosts), sockets.main, options.patience):
            if sockets.control is None:
                yield Door(url, None, token)
                return
            control = Control(serving, token=token, base=url)
            app = control.app(hosts=options.hosts, max_body=options.max_body, arrival=options.patience)
            at = f"unix:{options.control_socket}" if options.control_socket else _url(options.host, sockets.control)
            async with served(app, sockets.control, options.patience):
                yield Door(url, at, token)


def _with_pages(addresses: Addresses, serving: ServingSession, options: Listening) -> ASGIApp:
    """Return the application that shows apps, and passes on what belongs to MCP."""
    pages = AppPages(addresses, serving.host, serving.open_default, token=options.token)
    whole = WholeBodies(pages, max_body=options.max_body, arrival=options.patience)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        # MCP has limits of its own, and streams.
        inner = addresses if scope["type"] != "http" or scope["path"].rstrip("/").endswith("/mcp") else whole
        await inner(scope, receive, send)

    return app


@asynccontextmanager
async def endpoint_of_handlers() -> AsyncGenerator[tuple[str, dict[str, RequestHandler]]]:
    """Open an MCP endpoint on a free local port. Handlers that the caller adds to the mapping are served at `/w/NAME/mcp`."""
    handlers: dict[str, RequestHandler] = {}
    bound = _bind("127.0.0.1", 0)
    async with (
        http_endpoint(json_replies=True) as endpoint,
        served(HostGuard(NamedHandlers(endpoint, handlers)), bound, ARRIVAL),
    ):
        yield _url("127.0.0.1", bound), handlers


@asynccontextmanager
async def served(app: ASGIApp, listening: socket.socket, patience: float) -> AsyncGenerator[None]:
    """Serve an application while the block runs. A request that takes longer than `patience` seconds to arrive is dropped."""
    # h11, since with httptools the SDK misreads trailing white space in routing headers.
    ending = OrderlyShutdown(app)
    config = uvicorn.Config(
        ending,
        http=cast("type[BriskProtocol]", partial(BriskProtocol, patience=patience)),
        log_level="error",
        access_log=False,
        lifespan="off",
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=STOPPING,
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield
    finally:
        # Both are needed: uvicorn stops accepting, and open streams, which would never end, are told to.
        server.should_exit = True
        ending.end()
        await task


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    # Otherwise a restarted server would have to wait for old connections to leave TIME_WAIT.
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        # Listening at once: clients may connect as soon as the address is known, and two servers cannot get the same port.
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise InputError(
            f"cannot listen on {host}:{port}: {error.strerror or error}",
            remedy="choose another port, or 0 for a free one" if error.errno == EADDRINUSE else "choose another --host",
        ) from None
    return bound


def _url(host: str, bound: socket.socket) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{bound.getsockname()[1]}"
