"""A real bash as an MCP server would answer for it: its replies are recorded, and replayed, as those of servers are."""

from collections.abc import Sequence
from time import perf_counter

from simtrain.contracts.request import Request
from simtrain.mcp_wire.eras import HANDSHAKE
from simtrain.mcp_wire.manifest import Exchange
from simtrain.mcp_wire.raw_replies import observation_of
from simtrain.mcp_wire.stdio import environment
from simtrain.mcp_wire.targets import StdioTarget
from simtrain.values.errors import SimulatorFault
from simtrain.values.types import JsonObject, Observation, Provenance, ToolSpec
from simtrain.world_models.domains import keystrokes
from simtrain.world_models.real_shell import RealShell
from simtrain.world_models.real_terminal import RealTerminal
from simtrain.worlds.machine.tool import shown
from simtrain.worlds.recorded.replay_index import CALL

MOST_SHOWN = 30_000
"""Most characters of output that an agent is shown."""
_LIVE = Provenance("live")


class LiveShell:
    """The bash of one episode: command lines go to one on pipes, keystrokes to one on a terminal."""

    def __init__(self, target: StdioTarget, *, timeout: float) -> None:
        """Name the command that starts a bash; `timeout` is the most real seconds of a command line that names none."""
        variables = environment(target.env)
        self._timeout = timeout
        self._shell = RealShell(target.command, environment=variables, directory=target.cwd)
        self._terminal = RealTerminal(target.command, environment=variables, directory=target.cwd)

    async def check(self) -> None:
        """Start a bash and end it. Raises SimulatorFault."""
        try:
            await self._shell.run(":", limit=self._timeout)
        except SimulatorFault as first:
            try:
                # `docker exec -it` wants a terminal.
                await self._terminal.type(())
            except SimulatorFault:
                raise first from None
        finally:
            await self.close()

    async def answer(self, request: Request, *, exchanges: list[Exchange]) -> Observation:
        """Carry out a call for real, and add it to `exchanges`. Raises SimulatorFault for a call that is not one of a terminal."""
        began = perf_counter()
        observation = await self._carried_out(request)
        result: JsonObject = {
            "content": [{"type": "text", "text": observation.text}],
            "structuredContent": observation.structured,
            "isError": False,
        }
        params: JsonObject = {"name": request.tool.name, "arguments": request.arguments}
        exchange = Exchange(CALL, params, {"result": result}, HANDSHAKE, seconds=perf_counter() - began)
        exchanges.append(exchange)
        return observation_of(exchange.response, _LIVE)

    async def close(self) -> None:
        """End what runs."""
        await self._shell.close()
        await self._terminal.close()

    async def _carried_out(self, request: Request) -> Observation:
        entries = keystrokes.entries_of(request.arguments)
        if entries is not None:
            return await self._terminal.type(entries)
        command, asked = request.arguments.get("command"), request.arguments.get("timeout")
        if not isinstance(command, str):
            raise SimulatorFault(f"a shell answers command lines and keystrokes, and {request.tool.name} has neither")
        limit = float(asked) if isinstance(asked, int | float) else self._timeout
        finished = await self._shell.run(command, limit=limit)
        return shown(finished, "", limit=limit, most=MOST_SHOWN)


def listing(tools: Sequence[ToolSpec]) -> Exchange:
    """Return the list of tools as a server gives it: a replay learns from it which tools only read."""
    listed: list[JsonObject] = [
        {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": tool.input_schema,
            "annotations": {"readOnlyHint": not tool.writes},
        }
        for tool in tools
    ]
    return Exchange("tools/list", {}, {"result": {"tools": listed}}, HANDSHAKE)
