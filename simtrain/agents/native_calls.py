"""Tool calls in the fields of the chat completions API."""

from collections.abc import Sequence

import orjson

from simtrain.contracts.trajectory import Step
from simtrain.llm.completion import Completion, ToolCall
from simtrain.llm.conversation import wire_arguments
from simtrain.llm.tool_names import definition, wire_names
from simtrain.values.types import Action, JsonObject, ToolSpec, encode


class NativeCalls:
    """Tools offered as function definitions, under names that the API allows."""

    __slots__ = ("_native", "_wire", "tools")

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._wire = wire_names(tool.name for tool in tools)
        self._native = {wire: native for native, wire in self._wire.items()}
        definitions = [definition(tool, self._wire[tool.name]) for tool in tools]
        self.tools = orjson.Fragment(orjson.dumps(definitions)) if tools else None

    def system(self, system: str) -> str:
        """Return the system prompt unchanged: the tools have a field of their own."""
        return system

    def read(self, completion: Completion) -> tuple[str, tuple[ToolCall, ...]]:
        """Return the text and the calls, with the tools' own names. A name that was never offered is kept as the model wrote it."""
        calls = completion.calls
        return completion.text, tuple(
            ToolCall(call.id, self._native.get(call.name, call.name), call.arguments) for call in calls
        )

    def write(self, text: str, steps: Sequence[Step]) -> list[JsonObject]:
        """Return one turn for the history, with the arguments as the model wrote them."""
        if not steps:
            return [{"role": "assistant", "content": text}]
        calls = [self._call(step.action) for step in steps]
        return [
            {"role": "assistant", "content": text or None, "tool_calls": calls},
            *({"role": "tool", "tool_call_id": step.action.id, "content": step.observation.text} for step in steps),
        ]

    def _call(self, action: Action) -> JsonObject:
        # Arguments that are no JSON make llama.cpp answer 500 when they come back in the history.
        sound = action.malformed is None
        arguments = (action.written if sound else None) or encode(wire_arguments(action))
        function = {"name": self._wire_name(action.tool), "arguments": arguments}
        return {"id": action.id, "type": "function", "function": function}

    def _wire_name(self, tool: str) -> str:
        """Return a name that servers accept, even for a tool that was never offered."""
        known = self._wire.get(tool)
        return known if known is not None else wire_names([*self._wire, tool])[tool]
