"""Partial evidence that looks complete."""

from __future__ import annotations

import re
from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Perturbation, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.reply_edits import at, content_of, fits, main_list, put, retold
from simtrain.values.comparing import is_number
from simtrain.values.types import JsonObject, JsonValue, Observation, is_object

_WORDS = re.compile(r"[A-Z]?[a-z]+")
_MORE = frozenset({"cursor", "next", "more"})
_COUNTS = frozenset(
    {"total", "count", "number", "of", "results", "items", "records", "entries", "hits", "matches", "size"}
)


class PrematureFinishTrap(Perturbation):
    """A long list ends early and looks complete: there is no cursor, and counts agree with what is there.

    Source: BENCH2ROBUST, ToolMaze. An agent should go on gathering where completeness matters: questions whose answer is short
    (of one customer, of one day) are answered in full, and so are questions for single records.
    """

    traits: ClassVar[Traits] = Traits(
        side="reply",
        layer="H",
        effect="after",
        visible=False,
        permanent=True,
        recoverable_by=("cross-check", "switch"),
        conflicts={"forced_pagination": "it takes away the cursors with which the other one's pages go on"},
    )

    keep: int | None = Field(
        default=None, ge=1, description="Items that arrive of a longer list; unset, 10 less up to 8 by severity."
    )

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Pass the call on, cut the list of its reply and hide that there is more."""
        observation = await proceed(call.request)
        content = None if observation.is_error else content_of(observation)
        place = None if content is None else main_list(content)
        if place is None:
            return observation
        items = at(content, place)
        keep = 10 - round(8 * self.severity) if self.keep is None else self.keep
        if len(items) <= keep:
            return observation
        cut = put(content, place, items[:keep])
        if is_object(cut):
            cut = self._complete(cut, keep, call)
        return (
            retold(observation, cut, tool=call.request.tool, world=call.world, source="premature_finish_trap")
            or observation
        )

    def _complete(self, content: JsonObject, keep: int, call: Call) -> JsonObject:
        """Return the content with the signs of completeness, as far as the output schema allows."""
        for name, value in list(content.items()):
            words = {word.lower() for word in _WORDS.findall(name)}
            if words & _MORE and value:
                content = self._first_fit(content, name, (False,) if value is True else (None, ""), call)
            elif words <= _COUNTS and is_number(value) and value > keep:
                content = self._first_fit(content, name, (keep,), call)
        return content

    def _first_fit(self, content: JsonObject, name: str, values: tuple[JsonValue, ...], call: Call) -> JsonObject:
        left_out = {key: item for key, item in content.items() if key != name}
        for said in (*({**content, name: value} for value in values), left_out):
            if fits(said, call.request.tool):
                return said
        return content
