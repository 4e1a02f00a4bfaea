"""Fields of a reply have other names than documented."""

import json
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.mcp_wire.raw_replies import reworded
from simtrain.perturbations.catalogued import ReplyPerturbation
from simtrain.perturbations.reply_edits import json_like
from simtrain.values.json_walk import each_object
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonObject, JsonValue, Observation, ToolSpec, encode, is_list, is_object


class SchemaDrift(ReplyPerturbation):
    """Fields of replies have new names, in structured content and in text that is JSON.

    Source: ToolMaze, ToolMisuseBench, AgentDisruptBench. An agent should read the fields that it gets. Output schemas allow
    both names, so the reply still fits them; descriptions are unchanged.
    """

    traits: ClassVar[Traits] = Traits(side="reply", layer="P", visible=False, recoverable_by=("cross-check",))
    example: ClassVar[JsonObject] = {"with": {"rename": {"id": "identifier"}}}

    rename: dict[str, str] = Field(min_length=1, description="Fields by their old names, with their new ones.")

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, with output schemas that allow old and new names."""
        return tuple(self._loosened(tool) for tool in tools)

    def changed(self, call: Call, reply: Observation) -> Observation:
        """Return the reply with its fields renamed."""
        content, text = reply.content, reply.text
        renamed = None if content is None else self._renamed(content)
        # Text and structured content are one string here; renaming both would parse and write it twice.
        if reply.json:
            return replace(reply, text=encode(renamed)) if renamed != content else reply
        new_text = self._renamed_text(text)
        return reply if (new_text, renamed) == (text, content) else reworded(reply, new_text, renamed)

    def _renamed(self, value: JsonValue) -> JsonValue:
        return each_object(value, lambda held: {self.rename.get(name, name): item for name, item in held.items()})

    def _renamed_text(self, text: str) -> str:
        try:
            value: JsonValue = json.loads(text)
        except (ValueError, RecursionError):
            return text
        renamed = self._renamed(value)
        if renamed == value:
            return text
        return json_like(text, renamed)

    def _loosened(self, tool: ToolSpec) -> ToolSpec:
        if tool.output_schema is None:
            return tool
        schema = each_object(tool.output_schema, self._both)
        return tool if schema == tool.output_schema else replace(tool, output_schema=schema)

    def _both(self, schema: JsonObject) -> JsonObject:
        """Return a schema in which a declared field may also have its new name, and need not be present."""
        declared: JsonValue = schema.get("properties")
        if not is_object(declared):
            return schema
        declared = declared
        news = {new: declared[old] for old, new in self.rename.items() if old in declared and new not in declared}
        loosened: JsonObject = {**schema, "properties": {**declared, **news}}
        required: JsonValue = schema.get("required")
        if is_list(required):
            loosened["required"] = [name for name in required if name not in self.rename]
        return loosened
