"""The account lacks a permission."""

from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.catalogued import Refusing
from simtrain.values.seeding import Stream
from simtrain.values.tool_words import tool_words
from simtrain.values.types import Observation, ToolSpec, arguments_of

_GRANTED = "granted"
_NAMES = ("access.request", "request_access")
_SCHEMA = arguments_of(
    ("right",),
    right={"type": "string", "description": "The right, as the refusal names it."},
    reason={"type": "string", "description": "What it is needed for."},
)


class PermissionDenied(Refusing):
    """The account may not use a tool: it is refused from the first firing on, until the right is granted.

    Source: AgentDisruptBench, ToolMisuseBench, ToolBench-X. An agent should request the missing right, and go on if it
    is granted. A tool that asks the owner is offered from the beginning. If the owner declines, it should find another
    way that the account is allowed, or say that the task cannot be done.
    """

    traits: ClassVar[Traits] = Traits(
        side="call", layer="D", recoverable_by=("switch", "ask", "abstain"), follows="fired", shell=True, page=True
    )

    grants: bool | None = Field(
        default=None,
        description="Whether the owner grants what is asked for; unset, as long as the severity is below 1.",
    )

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, and one that requests a permission."""
        named = ToolSpec(_name(tools), "Ask the owner for a right that this account lacks.", _SCHEMA, None, True)
        return (*tools, named)

    def refused(self, call: Call) -> Observation | None:
        """Refuse the tools on which this fired, unless permission was granted since."""
        right = _right(call.request.tool)
        if call.request.tool.name not in call.memory or right in call.memory.get(_GRANTED, ()):
            return None
        detail = f"This account does not have the right '{right}'. It can be asked for with {_name(call.given)}."
        return self.refusal(call, "forbidden", detail)

    async def serve(self, call: Call, proceed: Answer) -> Observation:
        """Return the owner's decision."""
        wanted = str(call.request.arguments["right"])
        # Only rights that a refusal has named: no real owner grants a right that does not exist.
        if wanted not in (_right(tool) for tool in call.given if tool.name in call.memory):
            return self.reply(f"This account lacks no right '{wanted}'.", is_error=True)
        if not (self.severity < 1 if self.grants is None else self.grants):
            return self.reply(f"The owner has declined to grant '{wanted}'.", is_error=True)
        call.memory[_GRANTED] = [*call.memory.get(_GRANTED, []), wanted]
        return self.reply(f"The owner has granted '{wanted}'.")


def _name(tools: tuple[ToolSpec, ...]) -> str:
    """Return a name for the tool that requests a permission, in the style of the others."""
    return _NAMES[0 if any("." in tool.name for tool in tools) else 1]


def _right(tool: ToolSpec) -> str:
    words = tool_words(tool.name)
    return f"{tool.server or words.noun or tool.name}:{words.intent or ('write' if tool.writes else 'read')}"
