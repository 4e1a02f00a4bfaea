"""The words of a language for the types, attributes, units and categories of a world, as given by its author."""

import re
from typing import Final

from simtrain.contracts.question import Language, cell_text
from simtrain.questions.schema import QuestionAttribute, QuestionTable, WorldSchema
from simtrain.questions.wordings import wordings
from simtrain.values.types import JsonValue

_PHRASE: Final = re.compile(
    r" (?:of|in|for|per|a|an|on|under|that|to|over|by|with|from|above|the|last|sent|made|used)\b.*"
)
"""The part of a label after its noun: the noun of `flight hours per year` is `flight hours`."""

_PARTICIPLE: Final = re.compile(r" (?:\w+ed|\w+en|won|sold)$")
_PLURAL: Final = re.compile(r"(?<![suiy])s$|(?<=ay)s$|ies$")


class Lexicon:
    """The words of one language for one world. Without a word of the author, the word used on pages is taken."""

    def __init__(self, schema: WorldSchema, language: Language) -> None:
        self._given = schema.words(language)
        self._general = wordings(language).terms

    def thing(self, table: QuestionTable, *, plural: bool = False) -> str:
        """Return the noun for a row of a table, singular or plural."""
        name = table.plural if plural else table.name
        given = self._given.get(("plural", table.name)) if plural else None
        return given or self._given.get(("type", table.name)) or name.replace("_", " ")

    def label(self, attribute: QuestionAttribute) -> str:
        """Return the label of an attribute within a sentence."""
        given = self._given.get(("label", f"{attribute.type}.{attribute.name}"))
        return given or self._general.get(attribute.label, attribute.label)

    def value(self, attribute: QuestionAttribute, value: JsonValue) -> str:
        """Return a value for a sentence: categories by their word, amounts with their unit."""
        text = cell_text(value)
        if not attribute.numeric:
            return self._given.get(("value", f"{attribute.type}.{attribute.name}={text}"), text)
        number = f"{value:,}" if isinstance(value, int | float) else text
        return f"{number}{self._after(attribute.unit)}" if attribute.unit else number

    def categories(self, attribute: QuestionAttribute) -> dict[str, str]:
        """Return the words for an attribute's categories, each with the value it translates."""
        begin = f"{attribute.type}.{attribute.name}="
        given = {subject: word for (kind, subject), word in self._given.items() if kind == "value"}
        return {word: subject.removeprefix(begin) for subject, word in given.items() if subject.startswith(begin)}

    def unit(self, unit: str) -> str:
        """Return the word for a unit."""
        return self._given.get(("unit", unit), unit)

    def _after(self, unit: str) -> str:
        """Return a unit to put after a number, with a space if it is a word in Latin letters."""
        word = self.unit(unit)
        return f" {word}" if word[0].isascii() and word != "%" else word


def is_plural(label: str) -> bool:
    """Return True if an English label is plural: `flight hours`, `bugs fixed`, `sailings a year`, but not `share of voters`."""
    bare = noun(label)
    return any(_PLURAL.search(part) is not None for part in (bare, _PARTICIPLE.sub("", bare)))


def noun(label: str) -> str:
    """Return the noun of an English label, without what follows it."""
    return _PHRASE.sub("", label)
