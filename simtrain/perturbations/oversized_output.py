"""A reply that floods the context."""

from dataclasses import replace
from typing import ClassVar, get_args

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.files.json_schemas import properties_of
from simtrain.perturbations.bulk import Bulk, as_lines, bulk
from simtrain.perturbations.catalogued import ReplyPerturbation
from simtrain.perturbations.reply_edits import content_of
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonObject, JsonValue, Observation, ToolSpec, is_object

_FIELDS: dict[Bulk, str] = {
    "debug": "debug", "trace": "_trace", "history": "_history", "links": "_links", "metadata": "_meta", "preview": "_preview",
}  # fmt: skip


class OversizedOutput(ReplyPerturbation):
    """The reply is right, but buried in logs, traces, histories, links, metadata or pictures as base64.

    Source: AgentNoiseBench, ToolBench-X. An agent should pick out what it asked for, and ask for less the next time.
    JSON stays JSON with every field in its place; text stays complete, between other lines.
    """

    traits: ClassVar[Traits] = Traits(side="reply", layer="P", recoverable_by=("page",))
    example: ClassVar[JsonObject] = {"with": {"characters": 2000}}

    characters: int | None = Field(
        default=None, ge=1, description="How much is added, about; unset, 120,000 times the severity, at least 1,000."
    )
    kinds: list[Bulk] | None = Field(
        default=None,
        min_length=1,
        description="What is added; unset, drawn for each call: two to five of them by severity.",
    )

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, with output schemas that allow the added fields."""
        return tuple(_with_bulk(tool) for tool in tools)

    def changed(self, call: Call, reply: Observation) -> Observation:
        """Return the reply with bulk around it."""
        added = self._drawn(call)
        half = (len(added) + 1) // 2
        content = content_of(reply)
        if content is None:
            lines = ["\n".join(as_lines(kind, value)) for kind, value in added.items()]
            return self.reworded(reply, "\n\n".join((*lines[:half], reply.text, *lines[half:])))
        held: JsonObject = content if is_object(content) else {"data": content}
        # A field that the reply has already is its own; bulk must not overwrite it.
        named = [(_FIELDS[kind], value) for kind, value in added.items() if _FIELDS[kind] not in held]
        return self.rewritten(call, reply, {**dict(named[:half]), **held, **dict(named[half:])})

    def _drawn(self, call: Call) -> dict[Bulk, JsonValue]:
        """Return the added bulk, in order."""
        size = max(1000, round(120_000 * self.severity)) if self.characters is None else self.characters
        kinds = self.kinds or call.rng.sample(get_args(Bulk), 2 + round(3 * self.severity))
        return {kind: bulk(kind, call.rng, size // len(kinds), call.clock.moment) for kind in dict.fromkeys(kinds)}


def _with_bulk(tool: ToolSpec) -> ToolSpec:
    schema = tool.output_schema
    # JSON Schema allows unknown members by default.
    if schema is None or schema.get("additionalProperties") is not False:
        return tool
    properties = properties_of(schema)
    # All of them, since the kinds are only drawn when it fires, after the list of tools has been sent.
    added: JsonObject = {field: {"type": ["array", "object"]} for field in _FIELDS.values()}
    return replace(tool, output_schema={**schema, "properties": {**added, **properties}})
