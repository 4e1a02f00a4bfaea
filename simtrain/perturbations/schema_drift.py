"""Fields of a reply are called otherwise than the documentation says."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Perturbation, Traits
from simtrain.contracts.request import Answer
from simtrain.mcp_wire.raw_replies import reworded
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonObject, JsonValue, Observation, ToolSpec, encode, is_list, is_object


class SchemaDrift(Perturbation):
    """The server has moved on: fields of its replies bear new names, in the structured content and in text that is JSON.

    Source: ToolMaze, ToolMisuseBench, AgentDisruptBench. An agent should read the reply as it is. Output schemas allow for both
    names, so that the reply still fits them; descriptions stay as they were.
    """

    traits: ClassVar[Traits] = Traits(
        side="reply", layer="P", effect="after", visible=False, permanent=True, recoverable_by=("cross-check",)
    )
    example: ClassVar[JsonObject] = {"with": {"rename": {"id": "identifier"}}}

    rename: dict[str, str] = Field(min_length=1, description="Fields by their old names, with their new ones.")

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, with output schemas that allow for old and new names."""
        return tuple(self._loosened(tool) for tool in tools)

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Pass the call on and rename the fields of the reply; errors arrive as they are."""
        observation = await proceed(call.request)
        if observation.is_error:
            return observation
        content, text = observation.content, observation.text
        renamed = None if content is None else self._renamed(content)
        if observation.json:
            return replace(observation, text=encode(renamed)) if renamed != content else observation
        new_text = self._renamed_text(text)
        return observation if (new_text, renamed) == (text, content) else reworded(observation, new_text, renamed)

    def _renamed(self, value: JsonValue) -> JsonValue:
        if is_object(value):
            members = value.items()
            return {self.rename.get(name, name): self._renamed(item) for name, item in members}
        if is_list(value):
            return [self._renamed(item) for item in value]
        return value

    def _renamed_text(self, text: str) -> str:
        try:
            value: JsonValue = json.loads(text)
        except (ValueError, RecursionError):
            return text
        renamed = self._renamed(value)
        if renamed == value:
            return text
        return json.dumps(renamed, indent=2, ensure_ascii=False) if "\n" in text else encode(renamed)

    def _loosened(self, tool: ToolSpec) -> ToolSpec:
        if tool.output_schema is None:
            return tool
        schema = self._both(tool.output_schema)
        return tool if schema == tool.output_schema else replace(tool, output_schema=schema)

    def _both(self, schema: JsonValue) -> JsonValue:
        """Return a schema in which, wherever a field is declared, it may also bear its new name and need not be there."""
        if is_list(schema):
            return [self._both(item) for item in schema]
        if not is_object(schema):
            return schema
        changed: JsonObject = {name: self._both(item) for name, item in schema.items()}
        properties: JsonValue = changed.get("properties")
        if not is_object(properties):
            return changed
        declared = properties
        changed["properties"] = declared | {
            new: declared[old] for old, new in self.rename.items() if old in declared and new not in declared
        }
        required: JsonValue = changed.get("required")
        if is_list(required):
            changed["required"] = [name for name in required if name not in self.rename]
        return changed
