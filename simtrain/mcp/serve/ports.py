"""Ports: bound before anything is served, so that nothing is lost between, and the HTTP server that listens on them."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from errno import EADDRINUSE
from functools import partial
from pathlib import Path
from typing import cast

import uvicorn
from starlette.types import ASGIApp

from simtrain.mcp.serve.guard import LOOPBACK
from simtrain.mcp.serve.shutdown import OrderlyShutdown
from simtrain.mcp.serve.slow_heads import BriskProtocol
from simtrain.mcp.serve.unix_socket import unix_socket
from simtrain.mcp_wire.validation import ARRIVAL, MAX_BODY
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
class Sockets:
    """The bound sockets of a serving session."""

    main: socket.socket
    control: socket.socket | None


@contextmanager
def bind(options: Listening) -> Generator[Sockets]:
    """Bind the ports for the block. Raises InputError for one that is not available."""
    with bound_socket(options.host, options.port) as main:
        if options.control_socket is not None:
            with unix_socket(options.control_socket, backlog=BACKLOG) as control:
                yield Sockets(main, control)
            return
        if options.control_port is None:
            yield Sockets(main, None)
            return
        # A port of its own: the agent's network may be limited to the MCP port, so that it cannot reach the grading.
        with bound_socket(options.host, options.control_port) as control:
            yield Sockets(main, control)


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


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 is any free one. Raises InputError for a port that is not available."""
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


def url_of(host: str, bound: socket.socket) -> str:
    """Return the URL of a socket that `bound_socket` gave."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{bound.getsockname()[1]}"
