"""A subset of the results."""

from typing import ClassVar, TypeVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.files.json_schemas import may_hold
from simtrain.perturbations.catalogued import ReplyPerturbation
from simtrain.perturbations.reply_edits import Path, at, content_of, lists_within, main_list, put
from simtrain.values.tool_words import tool_words
from simtrain.values.types import JsonValue, Observation, ToolSpec, canonical

T = TypeVar("T")

LISTING = 4
"""Fewest lines of a prose reply, from a tool that lists or searches, to be taken for a list."""


class PartialResults(ReplyPerturbation):
    """A list lacks some of its items, different ones each time, as if a part of the storage did not answer.

    Source: ToolBench-X, AgentDisruptBench. An agent should compare the reply with counts, ask again and join the
    replies, or ask for single items. It is the main list of the reply or, if that has fewer than two items, the lists
    inside its records. Counts and cursors beside the list stay; lists of one item pass.
    """

    traits: ClassVar[Traits] = Traits(side="reply", layer="D", visible=False, recoverable_by=("retry", "cross-check"))

    keep: float | None = Field(
        default=None, ge=0.5, lt=1, description="Share of the items that arrive; unset, 1 less half the severity."
    )

    def reaches(self, tool: ToolSpec) -> bool:
        """True if a tool may return a list or declares no output."""
        return may_hold(tool.output_schema, "array")

    def changed(self, call: Call, reply: Observation) -> Observation:
        """Return the reply with items left out at regular intervals."""
        share = 1 - self.severity / 2 if self.keep is None else self.keep
        if share == 1:
            return reply
        # Every nth item is missing, so that a list has gaps and no visible end, and repeated calls together show all.
        parts = round(1 / (1 - share))
        content = content_of(reply)
        if content is None:
            return self._fewer_lines(call, reply, parts)
        places = _thinnable(content)
        if not places:
            return reply
        absent = self._absent(call, parts, max(len(at(content, place)) for place in places))
        for place in places:
            content = put(content, place, _fewer(at(content, place), parts, absent))
        return self.rewritten(call, reply, content)

    def _fewer_lines(self, call: Call, reply: Observation, parts: int) -> Observation:
        lines = reply.text.splitlines()
        if len(lines) < LISTING or tool_words(call.request.tool.name).intent not in ("list", "search"):
            return reply
        return self.reworded(reply, "\n".join(_fewer(lines, parts, self._absent(call, parts, len(lines)))))

    def _absent(self, call: Call, parts: int, most: int) -> int:
        """Return the index of the part to leave out; the same call again gets the next part."""
        key = canonical([call.request.tool.name, call.request.arguments]).decode()
        # At most as many as there are items, so that some item is missing the first time.
        absent = call.memory.get(key, call.rng.integer(0, min(parts, most) - 1))
        call.memory[key] = (absent + 1) % parts
        return absent


def _thinnable(content: JsonValue) -> list[Path]:
    """Return the places of the lists that can lose items: the reply's main list, else those inside records."""
    place = main_list(content)
    if place is not None and len(at(content, place)) > 1:
        return [place]
    return [place for place in lists_within(content) if len(at(content, place)) > 1]


def _fewer(items: list[T], parts: int, absent: int) -> list[T]:
    """Return the items without those of one part."""
    return [item for index, item in enumerate(items) if index % parts != absent]
