"""One failure makes dependants fail."""

from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.contracts.tool_globs import matches
from simtrain.files.json_schemas import properties_of
from simtrain.perturbations.catalogued import Catalogued
from simtrain.values.tool_words import tool_words
from simtrain.values.types import JsonObject, Observation, ToolSpec


class Cascade(Catalogued):
    """A tool fails, and for some calls every tool that depends on it fails too, naming the cause; then all work again.

    Source: ReliabilityBench, AgentDisruptBench. An agent should meanwhile do what does not depend on it, and come back.
    A tool depends on the failed one if it is of the same server or noun, or takes an id of that noun.
    """

    traits: ClassVar[Traits] = Traits(
        side="call", layer="D", recoverable_by=("switch", "wait", "retry"), follows="fired", shell=True, page=True
    )

    calls: int | None = Field(
        default=None, ge=1, description="Further calls that fail; unset, 1 and up to 4 more by severity."
    )
    dependants: list[str] | None = Field(
        default=None, description="Globs over the tools that fail with it; unset, those that lean on it."
    )

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Break the tool, unless another one is broken already."""
        # One cascade at a time: a second root cause would make the named one wrong.
        if call.memory.get("left"):
            return await self.follow(call, proceed)
        left = 1 + round(4 * self.severity) if self.calls is None else self.calls
        call.memory.update(broken=call.request.tool.name, left=left)
        return self.refusal(call, "internal")

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Refuse the broken tool and its dependants for as many calls as are left."""
        if not call.memory.get("left") or not self._leans(call.request.tool, call.memory):
            return await proceed(call.request)
        call.memory["left"] -= 1
        return self.refusal(call, "bad_gateway", f"{call.memory['broken']} does not respond.")

    def _leans(self, tool: ToolSpec, memory: JsonObject) -> bool:
        broken = str(memory["broken"])
        if self.dependants is not None:
            return tool.name == broken or matches(tool.name, tuple(self.dependants))
        server, noun = broken.rpartition(".")[0], tool_words(broken).noun
        # Tools of one server share its processes, and an argument such as order_id comes from the tool of that noun.
        if (server and server == tool.name.rpartition(".")[0]) or tool.name == broken:
            return True
        taken = properties_of(tool.input_schema)
        return bool(noun) and (tool_words(tool.name).noun == noun or any(noun in name.lower() for name in taken))
