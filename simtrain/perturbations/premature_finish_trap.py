"""Partial evidence that looks complete."""

import re
from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.perturbations.catalogued import ContentPerturbation
from simtrain.perturbations.reply_edits import at, fits, main_list, put
from simtrain.values.comparing import is_number
from simtrain.values.types import JsonObject, JsonValue, is_object

_WORDS = re.compile(r"[A-Z]?[a-z]+")
_MORE = frozenset({"cursor", "next", "more"})
_COUNTS = frozenset(
    {"total", "count", "number", "of", "results", "items", "records", "entries", "hits", "matches", "size"}
)


class PrematureFinishTrap(ContentPerturbation):
    """A long list ends early and looks complete: there is no cursor, and counts agree with what is there.

    Source: BENCH2ROBUST, ToolMaze. An agent should keep gathering when completeness matters. Questions with a short
    answer (one customer, one day, a single record) are answered in full.
    """

    traits: ClassVar[Traits] = Traits(
        side="reply",
        layer="H",
        visible=False,
        recoverable_by=("cross-check", "switch"),
        conflicts={"forced_pagination": "it takes away the cursors with which the other one's pages go on"},
    )

    keep: int | None = Field(
        default=None, ge=1, description="Items that arrive of a longer list; unset, 10 less up to 8 by severity."
    )

    def changed_content(self, call: Call, content: JsonValue) -> JsonValue:
        """Return the content with its list cut, and without any sign that there is more."""
        place = main_list(content)
        keep = 10 - round(8 * self.severity) if self.keep is None else self.keep
        if place is None or len(at(content, place)) <= keep:
            return content
        cut = put(content, place, at(content, place)[:keep])
        return self._complete(cut, keep, call) if is_object(cut) else cut

    def _complete(self, content: JsonObject, keep: int, call: Call) -> JsonObject:
        """Return the content with signs of completeness, as far as the output schema allows."""
        for name, value in list(content.items()):
            words = {word.lower() for word in _WORDS.findall(name)}
            if words & _MORE and value:
                content = self._first_fit(content, name, (False,) if value is True else (None, ""), call)
            elif words <= _COUNTS and is_number(value) and value > keep:
                content = self._first_fit(content, name, (keep,), call)
        return content

    def _first_fit(self, content: JsonObject, name: str, values: tuple[JsonValue, ...], call: Call) -> JsonObject:
        # Leaving the member out comes last: a missing cursor is odder than an empty one, but schemas may forbid both null and "".
        left_out = {key: item for key, item in content.items() if key != name}
        for candidate in (*({**content, name: value} for value in values), left_out):
            if fits(candidate, call.request.tool):
                return candidate
        return content
