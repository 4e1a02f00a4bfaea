"""Routing: finds the episode and the server for a URL path and a bearer token."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Receive, Scope, Send

from simtrain.contracts.world import World
from simtrain.mcp.serve.captured_server import CapturedServer, captured_servers
from simtrain.mcp.serve.episode_handler import EpisodeHandler
from simtrain.mcp.serve.guard import bearer, refusal, same
from simtrain.mcp.serve.wire_tools import servers_of
from simtrain.mcp_wire.handler import RequestHandler
from simtrain.mcp_wire.sdk_server import SCOPE_KEY, current_handler
from simtrain.mcp_wire.sessions import ProtocolSessions
from simtrain.runs.episode_host import EpisodeHost
from simtrain.runs.held_episode import HeldEpisode
from simtrain.values.errors import InputError

PATH = re.compile(r"(?:/w/(?P<episode>[^/]+))?(?:/(?P<server>[^/]+))?/mcp/?")
DEFAULT = "default"
"""The name of the episode at `/mcp`."""


class AddressRefused(Exception):
    """An address that does not exist or needs another token."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Handlers:
    """The request handlers of open episodes, made on first use."""

    page_size: int | None = None
    _made: dict[HeldEpisode, dict[str | None, RequestHandler]] = field(
        default_factory=dict[HeldEpisode, dict[str | None, RequestHandler]], init=False
    )

    def of(self, held: HeldEpisode, server: str | None = None) -> RequestHandler:
        """Return the handler for one server of an episode, or for all its servers together. Raises InputError for an unknown server."""
        made = self._made.setdefault(held, {})
        handler = made.get(server)
        if handler is None:
            handler = made[server] = self._make(held, server)
        return handler

    def drop(self, held: HeldEpisode) -> list[RequestHandler]:
        """Return the handlers made for an episode that is closed, and forget them."""
        return [*self._made.pop(held, {}).values()]

    def _make(self, held: HeldEpisode, server: str | None) -> EpisodeHandler:
        servers = servers_of(held.environment.tools)
        if server is not None and server not in servers:
            raise InputError(f"there is no server {server!r} here", remedy=f"one of {', '.join(servers)}")
        return EpisodeHandler(
            held,
            server=server,
            captured=_captured(held.environment.finished().initial, server),
            page_size=self.page_size,
        )


def _captured(world: World, server: str | None) -> CapturedServer | None:
    """Return the captured server of this name; without a name, the only one."""
    if world.manifest is None:
        return None
    servers = captured_servers(world.manifest)
    if server is None:
        return next(iter(servers.values())) if len(servers) == 1 else None
    return servers.get(server)


def server_urls(world: World, base: str) -> dict[str, str]:
    """Return the URL of each server of a world, by its captured name if it has one.

    `base` is the address of an episode, without the final `/mcp`. A world with only one server gives it the world's name.
    """
    servers = servers_of(world.tools)
    if len(servers) == 1:
        captured = _captured(world, None)
        return {captured.manifest.name if captured else servers[0] or world.name: f"{base}/mcp"}
    named = {server: _captured(world, server) for server in servers if server}
    return {own.manifest.name if own else name: f"{base}/{name}/mcp" for name, own in named.items()}


@dataclass(frozen=True, eq=False)
class Addresses:
    """The ASGI application that finds the handler for each request and passes both on to the MCP endpoint."""

    endpoint: ProtocolSessions
    host: EpisodeHost
    handlers: Handlers
    open_default: Callable[[], Awaitable[HeldEpisode]] | None
    token: str | None = None
    """If given, protects all episodes that have no token of their own."""

    def __post_init__(self) -> None:
        # An SDK session would keep the handler, and with it the whole episode, after its end.
        self.host.leaving.append(self._end_sessions)

    async def _end_sessions(self, held: HeldEpisode) -> None:
        for handler in self.handlers.drop(held):
            await self.endpoint.end(handler)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            handler = await self._handler(scope)
        except AddressRefused as refused:
            await refusal(refused.status, str(refused))(scope, receive, send)
            return
        await _through(handler, self.endpoint, scope, receive, send)

    async def _handler(self, scope: Scope) -> RequestHandler:
        found = PATH.fullmatch(scope["path"])
        if found is None:
            raise AddressRefused(404, "Nothing is served here; episodes are at /w/EPISODE/mcp")
        held = await self._episode(found["episode"], bearer(scope))
        try:
            return self.handlers.of(held, found["server"])
        except InputError as error:
            raise AddressRefused(404, str(error)) from None

    async def _episode(self, name: str | None, token: str | None) -> HeldEpisode:
        held = self.host.find(name or DEFAULT)
        # A client with a token of an episode need not know its address.
        if name is None and token is not None:
            held = self.host.by_token(token) or held
        if held is None and name is None and self.open_default is not None and self._admitted(None, token):
            held = await self.open_default()
        if held is None:
            # 404 only for callers that are admitted here: anybody else learns nothing about names.
            raise AddressRefused(
                404 if self._admitted(None, token) else 401, "There is no such episode; open one first"
            )
        if not self._admitted(held.token, token):
            raise AddressRefused(401, "A bearer token is needed here")
        return held

    def _admitted(self, own: str | None, given: str | None) -> bool:
        wanted = own or self.token
        return wanted is None or same(given, wanted)


class NamedHandlers:
    """The ASGI application for a caller's own handlers, by the name in `/w/NAME/mcp`."""

    def __init__(self, endpoint: ASGIApp, handlers: Mapping[str, RequestHandler]) -> None:
        self.endpoint = endpoint
        self.handlers = handlers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = PATH.fullmatch(scope["path"])
        handler = self.handlers.get(found["episode"]) if found else None
        if handler is None:
            await refusal(404, "Nothing is served here")(scope, receive, send)
            return
        await _through(handler, self.endpoint, scope, receive, send)


async def _through(handler: RequestHandler, endpoint: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Pass a request and its handler to the MCP endpoint."""
    # Stored twice: the SDK loses the scope on its way to a tool's schema, and that look-up uses the context variable.
    scope[SCOPE_KEY] = handler
    before = current_handler.set(handler)
    try:
        await endpoint(scope, receive, send)
    finally:
        current_handler.reset(before)
