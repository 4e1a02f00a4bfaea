"""A successful but empty reply."""

from typing import ClassVar, cast

from simtrain.contracts.perturbation import Call, Traits
from simtrain.perturbations.catalogued import ReplyPerturbation
from simtrain.perturbations.reply_edits import content_of
from simtrain.perturbations.schema_edits import or_less, widened
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonValue, Observation, ToolSpec, is_object


class EmptySuccess(ReplyPerturbation):
    """The tool does its work, but its reply is empty: no items, no texts, null values, and no error.

    Source: ToolMaze, ToolBench-X, AgentDisruptBench. This does not prove that nothing was found. An agent should ask
    again, or in other words, before it believes the reply.
    """

    traits: ClassVar[Traits] = Traits(side="reply", layer="P", visible=False, recoverable_by=("retry", "verify"))

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, with output schemas that allow empty values."""
        return widened(tools, or_less)

    def changed(self, call: Call, reply: Observation) -> Observation:
        """Return the reply, emptied."""
        content = content_of(reply)
        return self.reworded(reply, "") if content is None else self.rewritten(call, reply, _emptied(content))


def _emptied(content: JsonValue) -> JsonValue:
    """Return the content emptied: its members stay but are empty, and there is no cursor to a next page."""
    if not is_object(content):
        return []
    return {name: None if "cursor" in name else _nothing(value) for name, value in content.items()}


def _nothing(value: JsonValue) -> JsonValue:
    if isinstance(value, list | dict | str):
        return type(cast(object, value))()
    return None
