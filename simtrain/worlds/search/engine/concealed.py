"""Finds the gold cells of the running question in any text: a teasing snippet must not show them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from simtrain.values.types import JsonValue

GAP = "…"
"""The mark for words that were left out."""

_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


@dataclass(frozen=True)
class Concealed:
    """The gold cells of a question. Texts are matched as whole words in any case, numbers by value in any grouping."""

    texts: frozenset[str] = field(default_factory=frozenset[str])
    numbers: frozenset[float] = field(default_factory=frozenset[float])

    @classmethod
    def of(cls, cells: Iterable[JsonValue]) -> Concealed:
        """Return the cells of a gold table, without empty cells and truth values, which no single word reveals."""
        texts: set[str] = set()
        numbers: set[float] = set()
        for cell in cells:
            if cell is None or isinstance(cell, bool):
                continue
            text = str(cell).strip().casefold()
            number = None if isinstance(cell, str) and _NUMBER.fullmatch(text) is None else _number(text)
            if number is not None:
                numbers.add(number)
            elif text:
                texts.add(text)
        return cls(frozenset(texts), frozenset(numbers))

    @cached_property
    def _words(self) -> re.Pattern[str] | None:
        if not self.texts:
            return None
        # An alternation takes the first match, so `New York City` must come before `New York`.
        longest_first = sorted(self.texts, key=lambda text: (-len(text), text))
        return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)", re.IGNORECASE)

    def stated_in(self, text: str) -> list[str]:
        """Return the gold cells that a text states, as written there."""
        found = self._words.findall(text) if self._words else []
        return [*found, *(token for token in _NUMBER.findall(text) if _number(token) in self.numbers)]

    def left_out(self, text: str) -> str:
        """Return the text with every gold cell replaced by GAP."""
        if self._words:
            text = self._words.sub(GAP, text)
        if not self.numbers:
            return text
        return _NUMBER.sub(lambda found: GAP if _number(found[0]) in self.numbers else found[0], text)


def _number(token: str) -> float | None:
    try:
        return float(token.replace(",", ""))
    except ValueError:
        return None
