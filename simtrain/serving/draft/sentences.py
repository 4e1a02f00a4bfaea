"""Sentences with values filled in: the template behind texts that differ in what was asked, or in what a row holds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simtrain.serving.draft.forms import escaped, literal, shown_text
from simtrain.types import JsonValue


@dataclass(frozen=True)
class Said:
    """A text, and the values that may stand in it, by name; of two names for one value the first is meant."""

    text: str
    values: Mapping[str, JsonValue]


@dataclass(frozen=True)
class Sentence:
    """A template: literal texts, and between them the names of values."""

    texts: tuple[str, ...]
    slots: tuple[str, ...]
    lists: frozenset[str]
    """Slots that hold lists, written with commas."""

    def template(self) -> str:
        """The template in the language of worlds."""
        parts = [escaped(self.texts[0])]
        for slot, text in zip(self.slots, self.texts[1:], strict=True):
            joined = " | join(', ')" if slot in self.lists else ""
            parts += [f"{{{{ {slot}{joined} }}}}", escaped(text)]
        return "".join(parts)

    def sql(self, expressions: Mapping[str, str]) -> str:
        """SQL that makes the sentence."""
        parts = [literal(self.texts[0])] if self.texts[0] else []
        for slot, text in zip(self.slots, self.texts[1:], strict=True):
            parts.append(f"({expressions[slot]})" if " " in expressions[slot] else expressions[slot])
            parts += [literal(text)] if text else []
        return " || ".join(parts) or "''"

    def says(self, said: Said) -> bool:
        """Whether it comes out as a text."""
        shown = [shown_text(said.values.get(slot)) for slot in self.slots]
        if any(value is None for value in shown):
            return False
        filled = [self.texts[0]]
        for value, text in zip(shown, self.texts[1:], strict=True):
            filled += [str(value), text]
        return "".join(filled) == said.text


def learn_sentence(said: Sequence[Said]) -> Sentence | None:
    """The sentence that most of the texts are; None where there is none for at least half of them."""
    candidates = [sentence for one in said for sentence in (_read(one, said), _constant(one))]
    if not candidates:
        return None
    best = max(candidates, key=lambda sentence: sum(sentence.says(one) for one in said))
    return best if 2 * sum(best.says(one) for one in said) >= len(said) else None


def _constant(said: Said) -> Sentence:
    return Sentence((said.text,), (), frozenset())


def _read(said: Said, others: Sequence[Said]) -> Sentence:
    """One text with its values taken out: the longest first, and each under the name that fits most of the texts."""
    marks: list[tuple[int, int, list[str]]] = []
    shown: dict[str, list[str]] = {}
    for name, value in said.values.items():
        text = shown_text(value)
        if text is not None:
            shown.setdefault(text, []).append(name)
    for text, names in sorted(shown.items(), key=lambda item: -len(item[0])):
        for found in re.finditer(
            rf"(?<!\w){re.escape(text)}(?!\w)" if text[:1].isalnum() and text[-1:].isalnum() else re.escape(text),
            said.text,
        ):
            if all(found.end() <= begin or found.start() >= end for begin, end, _ in marks):
                marks.append((found.start(), found.end(), names))
    marks.sort()
    texts: list[str] = []
    slots: list[str] = []
    place = 0
    for begin, end, names in marks:
        texts.append(said.text[place:begin])
        slots.append(max(names, key=lambda name: sum(_stands_in(name, other) for other in others)))
        place = end
    texts.append(said.text[place:])
    lists = frozenset(slot for slot in slots if isinstance(said.values[slot], list))
    return Sentence(tuple(texts), tuple(slots), lists)


def _stands_in(name: str, said: Said) -> bool:
    text = shown_text(said.values.get(name))
    return text is not None and text in said.text
