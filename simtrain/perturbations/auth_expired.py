"""A session ends midway."""

from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.catalogued import Refusing
from simtrain.values.seeding import Stream
from simtrain.values.types import Observation, ToolSpec, encode

REFRESH = "refresh_session"
LASTS = 3600
"""Seconds for which a renewed session claims to be valid."""


class AuthExpired(Refusing):
    """From the call on which it fires, a server refuses all its tools with 401, until the session is renewed.

    Source: ToolMisuseBench, AgentDisruptBench. With `refresh`, every server offers a tool that renews the session, from
    the beginning. An agent should renew the session and go on, or say that it cannot.
    """

    traits: ClassVar[Traits] = Traits(
        side="call", layer="P", recoverable_by=("re-auth", "abstain"), follows="fired", shell=True, page=True
    )

    refresh: bool = Field(default=True, description="Offer a tool that renews the session.")
    refresh_tool: str = Field(
        default=REFRESH, pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$", description="What that tool is called, on every server."
    )

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, and for each server one that renews the session."""
        if not self.refresh:
            return tools
        names = {tool.name for tool in tools}
        further = [self._renewing(server) for server in dict.fromkeys(tool.server for tool in tools)]
        # Hosts refuse two tools of one name, so a tool that the world itself has under this name stays alone.
        return (*tools, *(tool for tool in further if tool.name not in names))

    def _renewing(self, server: str) -> ToolSpec:
        name = f"{server}.{self.refresh_tool}" if server else self.refresh_tool
        whose = f" of {server}" if server else ""
        return ToolSpec(name, f"Renew the session{whose} after it has expired.", {"type": "object", "properties": {}})

    def begin(self, call: Call) -> None:
        """End the session."""
        call.memory[call.request.tool.server] = True

    def refused(self, call: Call) -> Observation | None:
        """Refuse while the session is over."""
        if not call.memory.get(call.request.tool.server):
            return None
        remedy = f"Renew the session with {self.refresh_tool}." if self.refresh else "Sign in again in the browser."
        return self.refusal(call, "unauthorized", remedy)

    async def serve(self, call: Call, proceed: Answer) -> Observation:
        """Renew the session."""
        call.memory[call.request.tool.server] = False
        return self.reply(encode({"status": "ok", "expires_in": LASTS}))
