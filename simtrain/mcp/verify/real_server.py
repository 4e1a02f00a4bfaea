"""The real server of a verification: reset for every sequence, started, called, ended."""

import asyncio
import re
import shutil
from collections import deque
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, time
from typing import Protocol

from simtrain.contracts.world import World
from simtrain.mcp.verify.subject import Subject
from simtrain.mcp_wire.client import Client, connect, shown
from simtrain.mcp_wire.eras import HANDSHAKE, MODERN, other_era_limit
from simtrain.mcp_wire.manifest import Surface
from simtrain.mcp_wire.targets import StdioTarget, Target, parse_target
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.values.types import JsonObject, is_list, is_object

# Time zone and locale change how servers print dates and sort names.
STEADY = {"TZ": "UTC", "LC_ALL": "C.UTF-8"}
UNANSWERED = -32000
MOST_LOST = 5
MOST_MARGIN = 0.4
"""Maximum time before the end of a second in which no call is made, in seconds."""
AFTER = 0.012
"""Time after the start of a second in which no call is made, in seconds: file timestamps lag by up to a hundredth of a second."""

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class ServerResponse:
    """A response of the real server, and the times of call and reply (Unix time in seconds)."""

    response: JsonObject
    begun: float
    ended: float


class Bench(Protocol):
    """One real server under test, used by one sequence at a time."""

    @property
    def root(self) -> Path:
        """The folder that holds the initial state."""
        ...

    async def fresh(self, sequence: int) -> None:
        """Reset the server to the initial state for a sequence. Raises InputError if it does not start."""
        ...

    async def call(self, tool: str, arguments: JsonObject) -> ServerResponse:
        """Make one call, in the real server's terms. A server that dies or times out yields an error response."""
        ...

    async def close(self) -> None:
        """End the server."""
        ...


class LiveBench:
    """A server started from a command, or reached by URL."""

    def __init__(
        self, command: str, *, subject: Subject, world: World, root: Path, timeout: float, losses: list[str]
    ) -> None:
        """`losses` collects the reasons why servers were lost, shared by all benches of a verification.

        Raises InputError for a command that lacks one of the subject's placeholders, or has an unknown one.
        """
        self.root = root
        self._subject = subject
        self._world = world
        self._timeout = timeout
        self._target = _target(command, subject, root)
        self._client: Client | None = None
        self._stack = AsyncExitStack()
        self._losses = losses
        self._lately: deque[float] = deque(maxlen=20)
        self._started = 0.0

    async def fresh(self, sequence: int) -> None:
        """Empty the root, write the initial state, and start the server if it is not running or must be restarted.

        Raises SimulatorFault once the server was lost in MOST_LOST sequences: every further one may cost the same timeout.
        """
        if len(self._losses) >= MOST_LOST:
            raise SimulatorFault(f"the real server was lost in {MOST_LOST} sequences, at last: {self._losses[-1]}")
        if self._subject.restart:
            await self.close()
        # Not in a thread: a world's database belongs to the thread that plays it.
        self._lay_out()
        if self._client is None:
            begun = monotonic()
            self._client = await self._stack.enter_async_context(connect(self._target, era=HANDSHAKE))
            self._started = monotonic() - begun

    async def surface(self) -> Surface:
        """Return the server's surface in the handshake era. Raises SimulatorFault."""
        assert self._client is not None
        return (await shown(self._client, timeout=self._timeout))[0]

    async def modern_surface(self) -> Surface | None:
        """Return its surface in the era without a handshake; None if it does not speak that. Raises SimulatorFault."""
        await self.close()
        self._lay_out()
        limit = min(self._timeout, other_era_limit(self._started))
        try:
            async with connect(self._target, era=MODERN, timeout=limit) as client:
                return (await shown(client, timeout=self._timeout))[0]
        except InputError:
            # The server has started before, so it does not speak this era.
            return None

    async def call(self, tool: str, arguments: JsonObject) -> ServerResponse:
        """Make one tools/call. Once a server is lost, the rest of its sequence gets error responses too."""
        if self._client is None:
            return ServerResponse(self._unanswered(), time(), time())
        await self._within_a_second()
        begun = time()
        try:
            exchange = await self._client.request(
                "tools/call", {"name": tool, "arguments": arguments}, timeout=self._timeout
            )
        except SimulatorFault as fault:
            await self.close()
            self._losses.append(str(fault))
            return ServerResponse(self._unanswered(), begun, time())
        ended = time()
        self._lately.append(ended - begun)
        return ServerResponse(_readable(exchange.response), begun, ended)

    async def _within_a_second(self) -> None:
        """Wait if the second would probably change during the call: which of the two the server used would be unknown."""
        # Twice the slowest of the last calls; bounded, or a slow server would never be called.
        margin = min(MOST_MARGIN, 2 * max(self._lately, default=0.0))
        passed = time() % 1
        if passed > 1 - margin:
            await asyncio.sleep(1 - passed + AFTER)
        elif passed < AFTER:
            await asyncio.sleep(AFTER - passed)

    async def close(self) -> None:
        """End the server and its processes."""
        self._client = None
        await self._stack.aclose()

    def _unanswered(self) -> JsonObject:
        return {"error": {"code": UNANSWERED, "message": f"no answer: {self._losses[-1]}"}}

    def _lay_out(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        for path in self.root.iterdir():
            # rmtree refuses links, and following one would delete outside the root.
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        self._subject.lay_out(self._world, self.root)


def _readable(response: JsonObject) -> JsonObject:
    """Return the response; replaced by an error if it is neither a CallToolResult nor an error."""
    result, error = response.get("result"), response.get("error")
    if is_object(result) and is_list(result.get("content", [])):
        return {"result": result}
    if is_object(error):
        return {"error": error}
    return {"error": {"code": UNANSWERED, "message": "the answer is neither a tool result nor an error"}}


def _target(command: str, subject: Subject, root: Path) -> Target:
    values = subject.placeholders(root)
    _check_placeholders(command, values)
    target = parse_target(command)
    if not isinstance(target, StdioTarget):
        return target
    words = tuple(_PLACEHOLDER.sub(lambda found: values[found[1]], word) for word in target.command)
    return StdioTarget(words, env={**STEADY, **subject.environment(root)}, cwd=root)


def _check_placeholders(command: str, values: Mapping[str, str]) -> None:
    found = _PLACEHOLDER.findall(command)
    for name in values:
        if name not in found:
            raise InputError(
                f"the command does not contain {{{name}}}",
                remedy=f"write {{{name}}} where the server is told its place, so that it plays with a fresh one and not with yours",
            )
    for name in found:
        if name not in values:
            known = ", ".join(f"{{{name}}}" for name in values) or "none is known here"
            raise InputError(f"the command has the unknown placeholder {{{name}}}", remedy=known)
