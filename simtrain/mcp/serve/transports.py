"""Transports over MCP: the package's own agents play an episode through a real MCP client and server."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from secrets import token_hex
from types import TracebackType
from typing import Self, cast

from simtrain.contracts.environment import Environment
from simtrain.contracts.perturbation import Armed
from simtrain.contracts.request import Answer
from simtrain.contracts.trajectory import Step
from simtrain.contracts.transport import Connect, Transport
from simtrain.contracts.world import FinishedWorld
from simtrain.mcp.serve.episode_handler import EpisodeHandler
from simtrain.mcp.serve.listening import endpoint_of_handlers
from simtrain.mcp.serve.wire_tools import tool_of
from simtrain.mcp_wire.raw_replies import observation_of
from simtrain.mcp_wire.sdk_client import SdkClient, connect_http, connect_in_process
from simtrain.values.errors import SimulatorFault
from simtrain.values.types import Action, JsonObject, Observation, ToolSpec


class OverMcp(Transport):
    """Over streamable HTTP on this machine: a server for all episodes of the process, an official client for each."""

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Connect]:
        """Run one HTTP server, with its own address for every episode."""
        async with endpoint_of_handlers() as (url, handlers):

            @asynccontextmanager
            async def connect(environment: Environment) -> AsyncGenerator[Environment]:
                seat, name = _Seat(environment), token_hex(12)
                handler = handlers[name] = EpisodeHandler(seat)
                try:
                    async with connect_http(f"{url}/w/{name}/mcp") as client:
                        yield await _Through.open(seat, client, handler.native_names)
                finally:
                    del handlers[name]

            yield connect


class InProcessMcp(Transport):
    """Through an official client and server in this process, without a socket."""

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Connect]:
        """Run nothing, since episodes share nothing."""

        @asynccontextmanager
        async def connect(environment: Environment) -> AsyncGenerator[Environment]:
            seat = _Seat(environment)
            handler = EpisodeHandler(seat)
            async with connect_in_process(handler) as client:
                yield await _Through.open(seat, client, handler.native_names)

        yield connect


class _Seat:
    """The environment behind a handler. Calls keep the ids that the agent gave them."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.next_id = ""
        self.fault: str | None = None

    async def read(self, name: str, arguments: JsonObject, answer: Answer, *, by: str) -> Observation:
        """Read something."""
        return await self.environment.read(Action(self.next_id, name, arguments), answer)

    async def call(self, tool: str, arguments: JsonObject, *, by: str) -> Observation:
        """Make one call; why nobody could answer is kept, since the wire does not say it."""
        try:
            return await self.environment.step(Action(self.next_id, tool, arguments))
        except SimulatorFault as fault:
            self.fault = str(fault)
            raise


class _Through:
    """An environment as a client sees it."""

    def __init__(self, seat: _Seat, client: SdkClient, tools: tuple[ToolSpec, ...], names: dict[str, str]) -> None:
        self._seat = seat
        self._inner = seat.environment
        self._client = client
        self._names = names
        self.tools = tools
        self._steps: list[Step] = []

    @classmethod
    async def open(cls, seat: _Seat, client: SdkClient, native: dict[str, str]) -> Environment:
        """Return the environment of a newly connected client. Raises SimulatorFault if it sees other tools than the episode has."""
        shown = [tool_of(descriptor) for descriptor in await client.tools()]
        listed = [replace(tool, name=native.get(tool.name, tool.name)) for tool in shown]
        if {tool.name for tool in listed} != {tool.name for tool in seat.environment.tools}:
            raise SimulatorFault("the client sees other tools than the episode has")
        return cls(seat, client, tuple(listed), {own: wire for wire, own in native.items()})

    @property
    def steps(self) -> Sequence[Step]:
        """The steps so far, with the observations that arrived."""
        return self._steps

    async def step(self, action: Action) -> Observation:
        """Send one action over the wire. Raises SimulatorFault if nothing could answer."""
        before = len(self._inner.steps)
        if action.malformed is not None:
            # Straight to the environment: a client library refuses arguments that are no object before it sends anything.
            await self._inner.step(action)
            reply = None
        else:
            self._seat.next_id = action.id
            reply = await self._client.call(self._names.get(action.tool, action.tool), action.arguments)
        # The call never became a step: the client library or the server refused it on the way.
        if len(self._inner.steps) == before:
            raise SimulatorFault(self._seat.fault or f"{action.tool}: {_reason(reply)}")
        step = self._inner.steps[-1]
        if reply is not None:
            step = replace(step, observation=_as_received(step.observation, reply))
        self._steps.append(step)
        return step.observation

    async def read(self, action: Action, answer: Answer) -> Observation:
        """Raise a SimulatorFault: the package's own agents only call tools."""
        raise SimulatorFault(f"{action.tool}: only tools are called over a transport")

    @property
    def perturbed(self) -> tuple[str, ...]:
        """The perturbations that changed the task or the tools."""
        return self._inner.perturbed

    def asks(self, prompt: str) -> str:
        """Return the task as the agent reads it."""
        return self._inner.asks(prompt)

    def begin_turn(self) -> None:
        """Begin a new assistant message."""
        self._inner.begin_turn()

    def rearm(self, armed: Sequence[Armed], *, seed: int | None = None) -> None:
        """Let more perturbations change the calls from here on."""
        self._inner.rearm(armed, seed=seed)

    def finished(self) -> FinishedWorld:
        """Return the world in its initial and in its present state."""
        return self._inner.finished()

    async def fork(self) -> Environment:
        """Return a fork of the environment behind the wire."""
        return await self._inner.fork()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return


def _as_received(sent: Observation, reply: JsonObject) -> Observation:
    """Return the observation that arrived: the one sent, unless the wire changed it."""
    received = observation_of(reply, sent.provenance)
    same = received.text == sent.text and received.is_error == sent.is_error and received.structured == sent.content
    # With a raw reply the text was derived from it, and may lack what the client received.
    return sent if same or sent.wire is not None else received


def _reason(reply: JsonObject | None) -> str:
    error = cast(JsonObject, (reply or {}).get("error") or {})
    return str(error.get("message") or "nobody answered")
