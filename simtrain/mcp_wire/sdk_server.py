"""The adapter to the official SDK: its low-level server in both protocol eras, with one middleware that answers in raw dicts.

The SDK handles sessions, headers, streams and the rules of each era. Every reply comes from a handler, byte for byte.
"""

from collections import OrderedDict
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast
from weakref import WeakKeyDictionary

import orjson
from mcp import MCPError
from mcp.server import Server
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import NoBackChannelError
from mcp_types import SubscriptionsListenRequestParams, SubscriptionsListenResult
from mcp_types.methods import SPEC_CLIENT_METHODS, validate_client_request
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ConfigDict, ValidationError

from simtrain.mcp_wire.handler import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Changed,
    ClientLine,
    RequestHandler,
    WireError,
    WireRequest,
)
from simtrain.mcp_wire.request_flaws import LEVELS, flaw
from simtrain.values.types import JsonObject, JsonValue, as_object, writable

META = "io.modelcontextprotocol/"
ASK_TIMEOUT = 300.0
"""Seconds for a client to answer a question."""

KEPT_LEVELS = 4096
"""Most sessions of one handler whose log level is remembered."""

SCOPE_KEY = "simtrain.handler"
"""The key of the ASGI scope under which the HTTP application stores the handler for a request."""

_CACHEABLE = frozenset(
    {"server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list", "resources/read"}
)
# Revision 2026-07-28 removed these methods.
_GONE = frozenset({"ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"})
_BEFORE_THE_HANDSHAKE = frozenset({"initialize", "ping"})
_EVENTS: dict[Changed, ServerEvent] = {
    "tools": ToolsListChanged(),
    "prompts": PromptsListChanged(),
    "resources": ResourcesListChanged(),
}

current_handler: ContextVar[RequestHandler | None] = ContextVar("current_handler", default=None)
"""The handler of the HTTP request being served, needed because the SDK looks up a tool's schema without the request."""


class _Raw(BaseModel):
    """A raw notification, request or result, for an interface that expects models."""

    model_config = ConfigDict(extra="allow")


def build_server(handler: RequestHandler | None = None) -> Server[Any]:
    """Return the SDK's server. `handler` answers requests without an HTTP scope (stdio, in-process)."""
    sdk_server = _SdkServer(handler)
    server: Server[Any] = Server(
        handler.name if handler else "simtrain",
        on_subscriptions_listen=sdk_server.listen,
        get_tool_input_schema=sdk_server.input_schema,
    )
    # All other middleware is removed: it would validate replies against models and drop unknown fields.
    server.middleware[:] = [sdk_server.answer]
    return server


class _SdkServer:
    def __init__(self, handler: RequestHandler | None) -> None:
        self._handler = handler
        self._buses: WeakKeyDictionary[RequestHandler, InMemorySubscriptionBus] = WeakKeyDictionary()
        self._levels: WeakKeyDictionary[RequestHandler, OrderedDict[str, str]] = WeakKeyDictionary()

    def _handler_of(self, context: ServerRequestContext[Any, Any]) -> RequestHandler:
        handler = context.request.scope.get(SCOPE_KEY, self._handler) if context.request is not None else self._handler
        if handler is None:
            raise MCPError(code=METHOD_NOT_FOUND, message="nothing is served at this address")
        return handler

    def input_schema(self, tool: str) -> JsonObject | None:
        handler = current_handler.get() or self._handler
        return handler.input_schema(tool) if handler is not None else None

    def _bus(self, handler: RequestHandler) -> InMemorySubscriptionBus:
        return self._buses.setdefault(handler, InMemorySubscriptionBus())

    async def listen(
        self, context: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Return a subscription stream. Changes of a handler reach only its own subscribers."""
        return await ListenHandler(self._bus(self._handler_of(context)))(context, params)

    async def answer(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Answer a request through its handler. Requests that the SDK handles itself are passed on to it."""
        context = ctx
        modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        method = context.method
        if context.request_id is None or method == "subscriptions/listen" or (method == "initialize" and modern):
            return await call_next(context)
        if modern and method in _GONE:
            raise MCPError(code=METHOD_NOT_FOUND, message="Method not found", data=method)
        if not modern and method not in _BEFORE_THE_HANDSHAKE and context.session.client_params is None:
            raise MCPError(code=INVALID_PARAMS, message="Invalid request parameters", data="")
        handler = self._handler_of(context)
        request = _wire_request(context, modern=modern)
        if method == "logging/setLevel" and not request.flawed:
            self._set_level(handler, request)
        line = (
            _ModernLine(context, (context.meta or {}).get(f"{META}logLevel"), self._bus(handler))
            if modern
            else _Line(context, self._level(handler, request))
        )
        try:
            result = await handler.answer(request, line)
        except WireError as error:
            raise MCPError(code=error.code, message=error.message, data=writable(error.data)) from None
        if context.request is not None:
            result = _sendable(result)
        return _enveloped(method, result) if modern else result

    def _set_level(self, handler: RequestHandler, request: WireRequest) -> None:
        # The SDK keeps no log levels, and one server of it serves all handlers and sessions.
        levels = self._levels.setdefault(handler, OrderedDict[str, str]())
        levels[request.session or ""] = request.params["level"]
        if len(levels) > KEPT_LEVELS:
            levels.popitem(last=False)

    def _level(self, handler: RequestHandler, request: WireRequest) -> str:
        levels = self._levels.get(handler)
        return LEVELS[0] if levels is None else levels.get(request.session or "", LEVELS[0])


def _flawed(context: ServerRequestContext[Any, Any]) -> bool:
    """Return True if the params violate their method's specification. The handler then refuses them in its server's words."""
    # Calls are checked by hand, which is faster, and most requests are calls.
    if context.method == "tools/call":
        return flaw(context.method, cast("JsonObject | None", context.params)) is not None
    if context.method not in SPEC_CLIENT_METHODS:
        return False
    try:
        validate_client_request(context.method, context.protocol_version, context.params)
    except KeyError:
        # Not a method of this revision.
        return False
    except ValidationError:
        return True
    return False


def _wire_request(context: ServerRequestContext[Any, Any], *, modern: bool) -> WireRequest:
    params = dict(context.params or {})
    if context.method == "initialize":
        capabilities = params.get("capabilities")
    elif modern:
        capabilities = as_object(params.get("_meta")).get(f"{META}clientCapabilities")
    else:
        declared = context.session.client_capabilities
        capabilities = declared.model_dump(by_alias=True, exclude_none=True) if declared is not None else {}
    session = context.request.headers.get("mcp-session-id") if context.request is not None else None
    return WireRequest(
        context.method,
        params,
        context.protocol_version,
        modern,
        as_object(capabilities),
        session,
        flawed=_flawed(context),
        bare=context.params is None,
        client=_client(context),
    )


def _client(context: ServerRequestContext[Any, Any]) -> str:
    known = context.session.client_params
    return "" if known is None else known.client_info.name


def _sendable(result: JsonObject) -> JsonObject:
    """Return a result that the SDK can write over HTTP: a captured one may hold values on which its writer fails."""
    try:
        orjson.dumps(result)
    except TypeError:
        return writable(result)
    return result


def _enveloped(method: str, result: JsonObject) -> JsonObject:
    """Return the result with the envelope of 2026-07-28. Fields that the handler set are kept."""
    whole: JsonObject = {**result}
    if method in _CACHEABLE:
        whole.setdefault("ttlMs", 0)
        whole.setdefault("cacheScope", "private")
    whole.setdefault("resultType", "complete")
    return whole


@dataclass
class _Line(ClientLine):
    """The channel back to a client of the handshake era."""

    context: ServerRequestContext[Any, Any]
    level: JsonValue

    async def notify(self, notification: JsonObject) -> None:
        method, params = cast(str, notification["method"]), cast(JsonObject, notification.get("params") or {})
        if method == "notifications/progress":
            await self.context.session.report_progress(
                cast(float, params.get("progress", 0)), params.get("total"), params.get("message")
            )
        elif self._wants(method, params):
            await self._send(method, params)

    def _wants(self, method: str, params: JsonObject) -> bool:
        return method != "notifications/message" or self._is_loud(params)

    def _is_loud(self, params: JsonObject) -> bool:
        level = params.get("level")
        # An unknown level cannot be compared, so the message is sent.
        return level not in LEVELS or LEVELS.index(level) >= LEVELS.index(self.level)

    async def _send(self, method: str, params: JsonObject | None, *, standing: bool = False) -> None:
        raw = cast(Any, _Raw.model_validate({"method": method, **({"params": params} if params else {})}))
        # A message that belongs to no request goes into the client's own stream.
        related = None if standing else self.context.request_id
        await self.context.session.send_notification(raw, related_request_id=related)

    async def changed(self, what: Changed) -> None:
        await self._send(f"notifications/{what}/list_changed", None, standing=True)

    async def updated(self, uri: str) -> None:
        await self._send("notifications/resources/updated", {"uri": uri}, standing=True)

    async def hang_up(self) -> None:
        if self.context.close_sse_stream is not None:
            await self.context.close_sse_stream()

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        # Imported when used: few recordings ask the client anything.
        from mcp.shared.message import ServerMessageMetadata

        raw = cast(Any, _Raw.model_validate({"method": method, "params": params}))
        try:
            answered = await self.context.session.send_request(
                raw,
                _Raw,
                request_read_timeout_seconds=ASK_TIMEOUT,
                metadata=ServerMessageMetadata(related_request_id=self.context.request_id),
            )
        except NoBackChannelError as error:
            raise WireError(INVALID_PARAMS, f"the client cannot be asked here: {error}") from None
        except MCPError as error:
            raise WireError(error.error.code, error.error.message, error.error.data) from None
        return answered.model_dump()


@dataclass
class _ModernLine(_Line):
    """The channel back to a client of 2026-07-28: the request's own stream, and subscriptions."""

    bus: InMemorySubscriptionBus

    def _wants(self, method: str, params: JsonObject) -> bool:
        # In this era the server may log only for requests that name a level.
        return method == "notifications/message" and self.level in LEVELS and self._is_loud(params)

    async def changed(self, what: Changed) -> None:
        await self.bus.publish(_EVENTS[what])

    async def updated(self, uri: str) -> None:
        await self.bus.publish(ResourceUpdated(uri=uri))

    async def hang_up(self) -> None:
        return

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        raise WireError(INVALID_PARAMS, "a client of 2026-07-28 is asked by an input_required result")
