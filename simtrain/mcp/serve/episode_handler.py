"""The MCP request handler of one episode: `initialize`, lists, calls and all other methods, in both protocol eras."""

import asyncio
import logging
from dataclasses import replace
from typing import Protocol, cast, get_args

from simtrain.contracts.environment import Environment
from simtrain.contracts.handler import ToolError
from simtrain.contracts.request import FILL, READ, Answer, Caller, Request, caller
from simtrain.mcp.serve.captured_server import CapturedServer
from simtrain.mcp.serve.cursors import seal, unseal
from simtrain.mcp.serve.listing import SERVER_INFO, CapturedSurface, MadeSurface, ServedSurface
from simtrain.mcp.serve.replayed_questions import Conversations
from simtrain.mcp.serve.resource_reads import named, observed, perturbed_reply
from simtrain.mcp.serve.tool_results import Fitting, call_response
from simtrain.mcp.serve.wire_tools import wire_tools
from simtrain.mcp_wire.handler import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Changed,
    ClientLine,
    WireError,
    WireRequest,
    result_of,
)
from simtrain.mcp_wire.manifest import LISTED, Exchange
from simtrain.mcp_wire.request_flaws import flaw
from simtrain.values.errors import EpisodeOver, ModelFault, SimtrainError, SimulatorFault
from simtrain.values.types import JsonObject, JsonValue, Observation, writable
from simtrain.worlds.recorded.recorded_sessions import HANDSHAKE, MODERN
from simtrain.worlds.recorded.replay_index import NotRecorded

MOST_NAMED = 60
"""Characters of a client's name that a trajectory keeps."""

_LOG = logging.getLogger(__name__)

_CHANGES: dict[str, Changed] = {f"notifications/{what}/list_changed": what for what in get_args(Changed)}
_ACKNOWLEDGED = frozenset({"ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"})
_SUBSCRIBED = frozenset({"resources/subscribe", "resources/unsubscribe"})
_ANSWERED = frozenset({READ, FILL, "completion/complete"})
_NEEDS = {"prompts": "prompts", "resources": "resources", "completion": "completions", "logging": "logging"}
"""First word of a method -> the capability that it needs."""


class EpisodeAccess(Protocol):
    """The part of an episode that a handler needs."""

    @property
    def environment(self) -> Environment:
        """The environment, entered."""
        ...

    async def call(self, tool: str, arguments: JsonObject, *, by: str) -> Observation:
        """Make one call, carried out even if its client hangs up. Raises EpisodeOver after the end, SimulatorFault when nobody could
        answer.
        """
        ...

    async def read(self, name: str, arguments: JsonObject, answer: Answer, *, by: str) -> Observation:
        """Read something; `answer` gives the reply. Raises as `call` does."""
        ...


class EpisodeHandler:
    """Answers the requests at one address of an episode, which stands for one server or for all."""

    def __init__(
        self,
        held: EpisodeAccess,
        *,
        server: str | None = None,
        captured: CapturedServer | None = None,
        page_size: int | None = None,
    ) -> None:
        """`captured`, if given, is served verbatim. `page_size`, if given, splits lists into pages."""
        world = held.environment.finished().initial
        self.name = server or world.name
        self.held = held
        self._server = server or ""
        self._tools = wire_tools(held.environment.tools, world.descriptors, server=server)
        self._fitting = Fitting()
        self._surface: ServedSurface = (
            CapturedSurface(captured.manifest, self._tools, world.tools)
            if captured
            else MadeSurface(
                self.name,
                self._tools,
                resources=[offer for offer in world.resources if server is None or offer.server in ("", server)],
                prompts=[offer for offer in world.prompts if server is None or offer.server in ("", server)],
            )
        )
        self._mistakes = captured.mistakes if captured else None
        self._says_success = captured is not None and captured.says_success
        # A world with several servers prefixes tools with their server; one made from a single capture does not.
        self._prefix = captured.name if captured and any(tool.server for tool in world.tools) else ""
        recordings = captured.recordings.items() if captured else ()
        # One replay position per recorded client: each has its own order of calls.
        self._playing = {client: index.play() for client, index in recordings}
        self._conversations = Conversations()
        self._page_size = page_size

    @property
    def native_names(self) -> dict[str, str]:
        """Name on the wire -> name in the world."""
        return {name: tool.name for name, tool in self._tools.native.items()}

    def input_schema(self, tool: str) -> JsonObject | None:
        """Return the input schema of a tool by its name on the wire."""
        found = self._tools.native.get(tool)
        return found.input_schema if found is not None else None

    async def answer(self, request: WireRequest, line: ClientLine) -> JsonObject:
        """Return the result of a request; in the modern era with the server's identity in `_meta`. Raises WireError."""
        result = await self._answer(request, line)
        if not request.modern:
            return result
        meta = cast(JsonObject, result.get("_meta") or {})
        info = cast(JsonObject, self._surface.initialize(request).get("_meta") or {}).get(SERVER_INFO)
        return result if info is None or SERVER_INFO in meta else {**result, "_meta": {**meta, SERVER_INFO: info}}

    async def _answer(self, request: WireRequest, line: ClientLine) -> JsonObject:
        # The order is that of the official SDKs: malformed params are refused before the method is looked at.
        method = request.method
        if request.flawed:
            return result_of(self._flawed(request))
        if method == ("server/discover" if request.modern else "initialize"):
            return self._surface.initialize(request)
        if method == "tools/call":
            return await self._call(request, line)
        # After tools/call, which is by far the most frequent, and needs no such check.
        refused = self._refused(request)
        if refused is not None:
            return result_of(refused)
        if method in (READ, FILL):
            return await self._read(request, line)
        if method in LISTED and self._surface.shows(request):
            return self._list(request)
        recorded = self._recorded(request)
        if recorded is not None:
            return await self._replay(request, line, _wire(recorded))
        return self._unrecorded(request)

    def _recorded(self, request: WireRequest) -> Exchange | None:
        """Return the recorded exchange for a request: with the client most like this one if possible, else with another."""
        # A reply recorded with another client is closer to the truth than an invented one.
        for client in sorted(self._playing, key=_caller(request).misfit):
            try:
                return self._playing[client].find(request.method, request.params)
            except NotRecorded:
                continue
        return None

    def _flawed(self, request: WireRequest) -> JsonObject:
        """Return the response to malformed params: the captured server's to the same flaw, else to a similar one."""
        found = flaw(request.method, None if request.bare else request.params) or f"{request.method} params"
        name = request.params.get("name")
        for kind in (found, f"{found.rpartition(' ')[0]} missing"):
            captured = self._mistake(kind, request, name if isinstance(name, str) else "")
            if captured is not None:
                return captured
        return _error(INVALID_PARAMS, "Invalid request parameters", "")

    def _refused(self, request: WireRequest) -> JsonObject | None:
        """Return the error for a method that is not supported here; None if it is."""
        method, word = request.method, request.method.partition("/")[0]
        unknown = self._mistake("unknown_method", request, method)
        if method not in LISTED and method not in _ACKNOWLEDGED and method not in _ANSWERED:
            recorded = self._recorded(request)
            return recorded.response if recorded else unknown or _error(METHOD_NOT_FOUND, "Method not found", method)
        if word in ("tools", "ping") or _NEEDS[word] in self._surface.capabilities(request):
            return None
        # Whether a server names the method in `data` was captured with an unknown method, and holds for one not offered too.
        named = unknown is None or cast(JsonObject, unknown.get("error") or {}).get("data") == method
        return _error(METHOD_NOT_FOUND, "Method not found", method if named else None)

    def _mistake(self, kind: str, request: WireRequest, name: str) -> JsonObject | None:
        return self._mistakes.response(kind, name, modern=request.modern) if self._mistakes else None

    def _unrecorded(self, request: WireRequest) -> JsonObject:
        if request.method in _SUBSCRIBED:
            return self._subscribed(request)
        if request.method in _ACKNOWLEDGED:
            return {}
        if request.method == "completion/complete":
            return self._completed(request)
        raise WireError(METHOD_NOT_FOUND, "Method not found", request.method)

    def _subscribed(self, request: WireRequest) -> JsonObject:
        """Acknowledge, unless the captured server has no subscriptions or refuses them for resources that it does not list."""
        uri = str(request.params.get("uri"))
        captured = self._mistake(request.method.partition("/")[2], request, uri)
        if captured is None or "error" not in captured:
            return {}
        unsupported = captured["error"].get("code") == METHOD_NOT_FOUND
        return (
            {}
            if self._surface.names("resources/list", "uri", uri, request) and not unsupported
            else result_of(captured)
        )

    def _completed(self, request: WireRequest) -> JsonObject:
        """Return no suggestions, or the captured server's error for a name that it does not list."""
        ref = request.params["ref"]
        by_prompt = ref.get("type") == "ref/prompt"
        name = str(ref.get("name") if by_prompt else ref.get("uri"))
        known = (
            self._surface.names("prompts/list", "name", name, request)
            if by_prompt
            else self._surface.names("resources/templates/list", "uriTemplate", name, request)
        )
        captured = self._mistake("completion_prompt" if by_prompt else "completion_resource", request, name)
        return (
            {"completion": {"values": [], "total": 0, "hasMore": False}}
            if known or not captured
            else result_of(captured)
        )

    async def _read(self, request: WireRequest, line: ClientLine) -> JsonObject:
        """Return a resource or a filled prompt. Reading one is a step of the episode, as a call is."""
        if self._conversations.knows(request):
            return self._conversations.go_on(request)
        replies: list[tuple[JsonObject, Observation]] = []

        async def answer(step: Request) -> Observation:
            reply, source = self._reply(replace(request, params={**request.params, **step.arguments}))
            # A perturbation may ask several times; every reply is kept to recognise the one that comes out.
            replies.append((reply, observed(reply, source)))
            return replies[-1][1]

        try:
            observation = await self.held.read(
                self._step_of(request.method), named(request.params), answer, by=_actor(request)
            )
        except EpisodeOver as over:
            raise WireError(INTERNAL_ERROR, str(over)) from None
        except (SimulatorFault, ModelFault) as fault:
            raise self._unanswered(request.method, fault) from None
        # An unperturbed reply goes out verbatim, with everything an observation does not hold: blobs, annotations, notifications.
        clean = next((reply for reply, seen in replies if seen == observation), None)
        if clean is not None:
            return await self._replay(request, line, clean)
        return result_of(
            perturbed_reply(request.method, request.params, observation, replies[0][0] if replies else None)
        )

    def _reply(self, request: WireRequest) -> tuple[JsonObject, str]:
        """Return the reply to a read and its source: the recording if it has one, else the world."""
        recorded = self._recorded(request)
        if recorded is not None:
            return _wire(recorded), "replay"
        params = request.params
        try:
            if request.method == READ:
                return {"result": self._resource(request, str(params.get("uri")))}, "embedded"
            return {"result": self._prompt(request, str(params.get("name")), params.get("arguments") or {})}, "embedded"
        except WireError as error:
            return _error(error.code, error.message, error.data), "embedded"

    def _unanswered(self, name: str, fault: SimtrainError) -> WireError:
        """Return the error for a request that nothing could answer."""
        # The reason is logged, not sent: it may quote recordings or plans, which an agent must not see.
        _LOG.error("%s: %s: %s", self.name, name, fault)
        return WireError(INTERNAL_ERROR, "Internal error")

    def _resource(self, request: WireRequest, uri: str) -> JsonObject:
        found = self.held.environment.finished().final.read_resource(uri, server=self._server)
        if found is not None:
            return found
        if self._surface.names("resources/list", "uri", uri, request):
            raise WireError(INTERNAL_ERROR, f"{uri} is not supported by this simulated server")
        # -32002 is the code of the handshake era's specification; 2026-07-28 uses invalid params.
        code = INVALID_PARAMS if request.modern else -32002
        made = _error(code, f"Resource not found: {uri}", {"uri": uri})
        return result_of(self._mistake("missing_resource", request, uri) or made)

    def _prompt(self, request: WireRequest, name: str, arguments: JsonObject) -> JsonObject:
        try:
            found = self.held.environment.finished().final.fill_prompt(name, arguments, server=self._server)
        except ToolError as error:
            raise WireError(INVALID_PARAMS, str(error)) from None
        if found is not None:
            return found
        if self._surface.names("prompts/list", "name", name, request):
            raise WireError(INTERNAL_ERROR, f"{name} is not supported by this simulated server")
        return result_of(
            self._mistake("missing_prompt", request, name) or _error(INVALID_PARAMS, f"Unknown prompt: {name}")
        )

    def _list(self, request: WireRequest) -> JsonObject:
        if self._page_size is None:
            return self._surface.page(request)
        key = LISTED[request.method]
        items = self._surface.items(request)
        # Sealed, so that a cursor of another list, or an invented one, is refused rather than misread.
        cursor = request.params.get("cursor")
        try:
            start = 0 if cursor is None else int(unseal(str(cursor)).removeprefix(f"{request.method} "))
        except ValueError:
            raise WireError(INVALID_PARAMS, "Invalid cursor") from None
        page: JsonObject = {key: items[start : start + self._page_size]}
        if start + self._page_size < len(items):
            page["nextCursor"] = seal(f"{request.method} {start + self._page_size}")
        return page

    async def _call(self, request: WireRequest, line: ClientLine) -> JsonObject:
        name, arguments = request.params["name"], request.params.get("arguments")
        # In the modern era the client repeats its request with its answers; that is no new step.
        if self._conversations.knows(request):
            return self._conversations.go_on(request)
        tool = self._tools.native.get(name)
        # A context variable, since the world model that replays is several layers away and must not know about MCP.
        caller.set(_caller(request))
        try:
            observation = await self.held.call(self._native(name), arguments or {}, by=_actor(request))
        except EpisodeOver as over:
            return {"content": [{"type": "text", "text": str(over)}], "isError": True}
        except (SimulatorFault, ModelFault) as fault:
            raise self._unanswered(name, fault) from None
        response = call_response(observation)
        if "result" in response and tool is not None:
            response = {"result": self._fitting.fit(response["result"], tool)}
        # No raw reply: the world itself or a perturbation answered, and `isError` follows the captured server's habit.
        if observation.wire is None:
            result: JsonObject = response["result"]
            return {**result, "isError": False} if self._says_success and "isError" not in result else result
        return await self._replay(request, line, {**observation.wire, **response})

    def _step_of(self, method: str) -> str:
        """Return the name of a read in trajectories and for the globs of perturbations: the method, prefixed by the server."""
        server = self._prefix or self._server
        return f"{server}.{method}" if server else method

    def _native(self, name: str) -> str:
        """Return the world's name for a tool on the wire. An unknown tool gets the captured server's prefix, if there is one."""
        tool = self._tools.native.get(name)
        if tool is not None:
            return tool.name
        return f"{self._prefix}.{name}" if self._prefix else name

    async def _replay(self, request: WireRequest, line: ClientLine, wire: JsonObject) -> JsonObject:
        """Return a recorded reply, after sending what preceded it: notifications, and questions to the client."""
        # The recorded stream broke here; the client must reconnect to get the rest.
        if wire.get("resumed"):
            await line.hang_up()
        for notification in wire.get("notifications") or ():
            await _say(line, notification)
        if request.modern:
            begun = self._conversations.begin(request, wire)
            if begun is not None:
                return begun
        else:
            for question in self._conversations.questions(wire):
                await line.ask(question["method"], question.get("params") or {})
        return result_of(wire)


def _error(code: int, message: str, data: JsonValue = None) -> JsonObject:
    return {"error": {"code": code, "message": message, **({} if data is None else {"data": data})}}


async def _say(line: ClientLine, notification: JsonObject) -> None:
    method = notification.get("method", "")
    if method in _CHANGES:
        await line.changed(_CHANGES[method])
    elif method == "notifications/resources/updated":
        await line.updated(str(cast(JsonObject, notification.get("params") or {}).get("uri", "")))
    else:
        await line.notify(notification)
    # Lets the transport write, so that notifications leave in their recorded order.
    await asyncio.sleep(0)


def _actor(request: WireRequest) -> str:
    """Return how a trajectory names an MCP client that acts beside others."""
    return f"mcp:{writable(request.client)[:MOST_NAMED]}" if request.client else "mcp"


def _caller(request: WireRequest) -> Caller:
    return Caller(MODERN if request.modern else HANDSHAKE, frozenset(request.capabilities))


def _wire(exchange: Exchange) -> JsonObject:
    return {
        **exchange.response,
        "notifications": list(exchange.notifications),
        "asks": list(exchange.asks),
        "rounds": list(exchange.rounds),
        "resumed": exchange.resumed,
    }
