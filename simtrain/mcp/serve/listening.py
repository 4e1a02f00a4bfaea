"""HTTP servers for a serving session: MCP on one port, the control plane on another."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from secrets import token_urlsafe

from starlette.types import ASGIApp, Receive, Scope, Send

from simtrain.mcp.serve.addresses import Addresses, NamedHandlers
from simtrain.mcp.serve.app_pages import Admission, AppPages
from simtrain.mcp.serve.control import Control
from simtrain.mcp.serve.guard import HostGuard
from simtrain.mcp.serve.ports import Listening, Sockets, bind, bound_socket, served, url_of
from simtrain.mcp.serve.session import ServingSession
from simtrain.mcp_wire.handler import RequestHandler
from simtrain.mcp_wire.http_server import http_endpoint
from simtrain.mcp_wire.validation import ARRIVAL


@dataclass(frozen=True)
class Door:
    """The URLs of a listening session: MCP, and the control plane with its token, which a Unix socket (`unix:PATH`) has none of."""

    url: str
    control_url: str | None
    control_token: str | None


@asynccontextmanager
async def listen(serving: ServingSession, options: Listening, sockets: Sockets | None = None) -> AsyncGenerator[Door]:
    """Serve over HTTP while the block runs, on the given sockets or new ones. Raises InputError as `bind` does."""
    if sockets is None:
        with bind(options) as own:
            async with listen(serving, options, own) as door:
                yield door
        return
    url = url_of(options.host, sockets.main)
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
            at = f"unix:{options.control_socket}" if options.control_socket else url_of(options.host, sockets.control)
            async with served(app, sockets.control, options.patience):
                yield Door(url, at, token)


def _with_pages(addresses: Addresses, serving: ServingSession, options: Listening) -> ASGIApp:
    """Return the application that shows apps, and passes on what belongs to MCP."""
    admission = Admission(options.max_body, options.patience)
    pages = AppPages(addresses, serving.host, serving.open_default, token=options.token, admission=admission)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        # MCP has limits of its own, and streams.
        inner = addresses if scope["type"] != "http" or scope["path"].rstrip("/").endswith("/mcp") else pages
        await inner(scope, receive, send)

    return app


@asynccontextmanager
async def endpoint_of_handlers() -> AsyncGenerator[tuple[str, dict[str, RequestHandler]]]:
    """Open an MCP endpoint on a free local port. Handlers that the caller adds to the mapping are served at `/w/NAME/mcp`."""
    handlers: dict[str, RequestHandler] = {}
    bound = bound_socket("127.0.0.1", 0)
    async with (
        http_endpoint(json_replies=True) as endpoint,
        served(HostGuard(NamedHandlers(endpoint, handlers)), bound, ARRIVAL),
    ):
        yield url_of("127.0.0.1", bound), handlers
