"""The control plane: opens, plays, lists, inspects, forks, grades and closes episodes; apart from the MCP side, behind a token.

Other processes play sessions over it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from secrets import token_urlsafe
from typing import Final, TypeAlias, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from simtrain.agents.answers import spoken
from simtrain.mcp.serve.guard import HostGuard, bearer, same
from simtrain.mcp.serve.session import ServingSession
from simtrain.mcp_wire.validation import ARRIVAL, MAX_BODY, WholeBodies
from simtrain.runs.episode_host import EpisodeCall
from simtrain.runs.held_episode import HeldEpisode
from simtrain.values.errors import InputError, ModelFault, SimtrainError, SimulatorFault
from simtrain.values.types import JsonObject, JsonValue, Message, Observation, Usage
from simtrain.values.version import VERSION

BodyT = TypeVar("BodyT", bound=BaseModel)

LONG_POLL = 20.0
"""Seconds that a request for the next episode waits for one."""

NAME: Final = r"^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$"
"""The pattern for names of episodes. They are arguments of commands, so none may look like an option."""

PROTOCOL = "1"
"""The protocol version; incremented with every change that breaks existing clients of sessions."""

SPEAKS = "simtrain-sessions"
"""The header with the protocol version of a client of sessions."""

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class OpenRequest(_Body):
    """What to open: a scenario (by default the first), one of its cases, a seed, an attempt, and optionally a name.

    `token` true gives the episode its own bearer token, without which it cannot be reached. `tools` true includes its tools in the reply.
    """

    scenario: str | None = None
    case: int | None = Field(None, ge=0)
    seed: int | None = None
    attempt: int = Field(0, ge=0)
    name: str | None = Field(None, pattern=NAME)
    token: bool = False
    tools: bool = False


class CallRequest(_Body):
    """One call in an episode; `by` names the acting party, if several act in it."""

    episode: str
    tool: str
    arguments: JsonObject = Field(default_factory=dict)
    by: str | None = Field(None, max_length=64)


class Batch(_Body):
    """Calls in any number of episodes: those of one episode are made in order, the others concurrently."""

    calls: list[CallRequest]


class Forking(_Body):
    """The name of a fork, and whether it gets a token of its own."""

    name: str | None = Field(None, pattern=NAME)
    token: bool = False


class EndRequest(_Body):
    """The last message of the agent (or of `by`, if several act), read like any agent's.

    `abstain` means that it declined the task, `failed` describes a failure of the agent. Tokens and `cost` (US dollars) are
    the totals of its models over the whole episode.
    """

    answer: str | None = None
    abstain: bool = False
    failed: str | None = None
    by: str | None = Field(None, max_length=64)
    prompt_tokens: int = Field(0, ge=0)
    completion_tokens: int = Field(0, ge=0)
    cost: float = Field(0.0, ge=0)

    @property
    def message(self) -> Message | None:
        """The agent's last message; None if there was none."""
        if self.answer is None:
            return None
        spent = Usage(self.prompt_tokens, self.completion_tokens, cost=self.cost)
        return spoken(self.answer, abstain=self.abstain, usage=None if spent == Usage() else spent)


class StateQuery(_Body):
    """One SELECT over an episode's world."""

    sql: str


class Control:
    """The control plane of one serving session. `base` is the URL of the MCP side.

    `token` is required in every request. Without one, the socket itself must admit only the right user.
    """

    def __init__(self, serving: ServingSession, *, token: str | None, base: str) -> None:
        self._serving = serving
        self._token = token
        self._base = base.rstrip("/")

    def app(self, *, hosts: tuple[str, ...], max_body: int = MAX_BODY, arrival: float = ARRIVAL) -> HostGuard:
        """Return the ASGI application."""
        routes = [
            Route("/calls", self._guarded(self.calls), methods=["POST"]),
            Route("/", self._guarded(self.about), methods=["GET"]),
            Route("/episodes", self._guarded(self.list_episodes), methods=["GET"]),
            Route("/episodes", self._guarded(self.open), methods=["POST"]),
            Route("/episodes/next", self._guarded(self.take), methods=["POST"]),
            Route("/episodes/{name}", self._guarded(self.inspect), methods=["GET"]),
            Route("/episodes/{name}", self._guarded(self.drop), methods=["DELETE"]),
            Route("/episodes/{name}/fork", self._guarded(self.fork), methods=["POST"]),
            Route("/episodes/{name}/query", self._guarded(self.query), methods=["POST"]),
            Route("/episodes/{name}/grade", self._guarded(self.grade), methods=["POST"]),
            Route("/episodes/{name}/close", self._guarded(self.close), methods=["POST"]),
        ]
        return HostGuard(WholeBodies(Starlette(routes=routes), max_body=max_body, arrival=arrival), hosts=hosts)

    def _guarded(self, handler: Handler) -> Handler:
        async def guarded(request: Request) -> Response:
            # Before anything else: not even the protocol version is told to a caller without the token.
            if self._token is not None and not same(bearer(request.scope), self._token):
                return _json({"error": "the control token is needed as a bearer token"}, 401)
            spoken = request.headers.get(SPEAKS, PROTOCOL)
            if spoken != PROTOCOL:
                return _json({"error": _other_protocol(spoken)}, 400)
            try:
                return await handler(request)
            except InputError as error:
                return _json({"error": str(error)}, 400)
            except LookupError as error:
                return _json({"error": str(error.args[0])}, 404)
            except (SimulatorFault, ModelFault) as error:
                return _json({"error": str(error)}, 503)

        return guarded

    def _held(self, request: Request) -> HeldEpisode:
        name = request.path_params["name"]
        held = self._serving.host.find(name)
        if held is None:
            raise LookupError(_unknown(name)["error"])
        return held

    def _facts(self, held: HeldEpisode) -> JsonObject:
        servers = dict.fromkeys(tool.server for tool in held.environment.tools if tool.server)
        url = f"{self._base}/w/{held.name}"
        facts = held.facts() | {"url": f"{url}/mcp", "servers": {name: f"{url}/{name}/mcp" for name in servers}}
        return facts if held.token is None else facts | {"token": held.token}

    async def about(self, request: Request) -> Response:
        """Return what is served, and by which version."""
        facts: JsonObject = {
            "simtrain": VERSION,
            "sessions": PROTOCOL,
            "scenarios": list(self._serving.host.scenarios),
            "open": len(self._serving.host),
            "mcp": self._base,
        }
        return _json(facts)

    async def list_episodes(self, request: Request) -> Response:
        """Return all open episodes."""
        return _json({"episodes": [self._facts(held) for held in self._serving.host]})

    async def open(self, request: Request) -> Response:
        """Open an episode."""
        body = await _read(request, OpenRequest)
        if self._serving.counter is not None:
            raise InputError("the episodes of a run are dealt", remedy="ask for the next one with POST /episodes/next")
        held = await self._serving.host.open(
            body.scenario,
            case=body.case,
            seed=body.seed,
            attempt=body.attempt,
            name=body.name,
            token=token_urlsafe(24) if body.token else None,
        )
        return _json(self._facts(held) | ({"tools": held.environment.tools} if body.tools else {}), 201)

    async def calls(self, request: Request) -> Response:
        """Make a batch of calls; return for each its observation, or the error that prevented it."""
        body = await _read(request, Batch)
        found = [self._serving.host.find(call.episode) for call in body.calls]
        made = [
            EpisodeCall(held, call.tool, call.arguments, call.by or held.opener)
            for held, call in zip(found, body.calls, strict=True)
            if held is not None
        ]
        replies = iter(await self._serving.host.carry_out(made))
        results = [
            _unknown(call.episode) if held is None else _reply(next(replies))
            for held, call in zip(found, body.calls, strict=True)
        ]
        return _json({"results": results})

    async def take(self, request: Request) -> Response:
        """Return the next episode of a run that waits for an agent; 204 if there is none for LONG_POLL seconds."""
        counter = self._serving.counter
        if counter is None:
            raise InputError("no run waits for agents here", remedy="open an episode with POST /episodes")
        held = await counter.take(within=LONG_POLL)
        if held is None:
            return Response(status_code=204)
        # The agent may have disconnected during the long poll, and the episode would be lost with it.
        if await request.is_disconnected():
            counter.give_back(held)
            return Response(status_code=204)
        counter.taken(held)
        return _json(self._facts(held))

    async def inspect(self, request: Request) -> Response:
        """Return one episode with its steps and its changes so far."""
        held = self._held(request)
        finished = held.environment.finished()
        state: JsonObject = {"tools": held.environment.tools, "turns": held.journal.turns, "changes": finished.changes}
        return _json({**self._facts(held), **state})

    async def drop(self, request: Request) -> Response:
        """Free an episode that leaves no trajectory."""
        await self._serving.host.drop(self._held(request))
        return Response(status_code=204)

    async def fork(self, request: Request) -> Response:
        """Return an independent copy of an episode in its present state."""
        body = await _read(request, Forking)
        held = await self._serving.host.fork(
            self._held(request), name=body.name, token=token_urlsafe(24) if body.token else None
        )
        return _json(self._facts(held), 201)

    async def query(self, request: Request) -> Response:
        """Return the rows of a SELECT over the current world of the episode."""
        body = await _read(request, StateQuery)
        final = self._held(request).environment.finished().final
        # In a thread, since SQL of the caller may take long and must not stop the episodes.
        return _json({"rows": await asyncio.to_thread(final.query, body.sql)})

    async def grade(self, request: Request) -> Response:
        """Return the trajectory so far, graded as if it ended here; the episode goes on."""
        return _json(await self._held(request).graded())

    async def close(self, request: Request) -> Response:
        """End, grade and free an episode, and return its trajectory."""
        body, held = await _read(request, EndRequest), self._held(request)
        return _json(await self._serving.host.finish(held, body.message, failed=body.failed, by=body.by))


def _other_protocol(spoken: str) -> str:
    theirs = f"the client speaks version {spoken} of the protocol of sessions, simtrain {VERSION} speaks {PROTOCOL}"
    return f"{theirs}; install simtrain-client {VERSION}"


def _unknown(episode: str) -> JsonObject:
    return {"error": f"no episode {episode!r} is open", "kind": "LookupError"}


def _reply(result: Observation | SimtrainError) -> JsonObject:
    if isinstance(result, SimtrainError):
        return {"error": str(result), "kind": type(result).__name__}
    return {"text": result.text, "is_error": result.is_error, "structured": result.structured, "json": result.json}


def _json(value: object, status: int = 200) -> Response:
    return Response(orjson.dumps(value), status, media_type="application/json")


async def _read(request: Request, model: type[BodyT]) -> BodyT:
    """Return the body of a request; an empty body means all defaults. Raises InputError."""
    content = await request.body()
    try:
        value: JsonValue = orjson.loads(content) if content else {}
        return model.model_validate(value)
    except orjson.JSONDecodeError as error:
        raise InputError(f"the body is not JSON: {error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{place}: {first['msg']}" if place else first["msg"]) from None
