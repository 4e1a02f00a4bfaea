"""Headings: a short noun phrase for each column, and its full meaning if the phrase says less."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from simtrain.contracts.question import Column
from simtrain.questions.lexicon import noun
from simtrain.questions.phrases import Phrases
from simtrain.questions.schema import QuestionAttribute
from simtrain.questions.shapes import GroupMeasure, Shape, Term

NUMBER_TOLERANCE: Final = 0.02
"""Relative tolerance for numbers in answers, since pages round."""

MOST_WORDS: Final = 5
"""Most words of a heading, including its unit."""

_SIGNS: Final = 3
"""Chinese characters that count as one word."""

_WORD: Final = re.compile(r"[^\W\u4e00-\u9fff][\w'’./²³%-]*|%")
_HAN: Final = re.compile(r"[\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class Heading:
    """A column with its heading, and the heading's meaning; empty if the heading says it all."""

    column: Column
    meaning: str = ""


class Headings:
    """The headings of shapes over one schema in one language."""

    def __init__(self, phrases: Phrases) -> None:
        self.phrases = phrases
        self.schema = phrases.schema
        self.lexicon = phrases.lexicon
        self.words = phrases.words

    def of(self, shape: Shape) -> list[Heading]:
        """Return the columns of a shape, with distinct headings and the rules for comparing their cells."""
        found: list[Heading] = []
        taken: set[str] = set()
        for attribute, full, names in self._called(shape):
            unit = "" if attribute is None or attribute.unit is None else self.lexicon.unit(attribute.unit)
            plain = _chosen(names, taken, unit)
            # Headings must differ, since cells of an answer are matched to columns by them.
            taken.add(plain.casefold())
            name = _capital(self.words.columns.unit.format(label=plain, unit=unit) if unit else plain)
            column = self._counted(name) if attribute is None else self._typed(attribute, name)
            found.append(Heading(column, "" if plain == full else full))
        return found

    def _called(self, shape: Shape) -> Iterator[tuple[QuestionAttribute | None, str, list[str]]]:
        """Yield the attribute of each column (None for a count), its full name, and candidates for its heading, best first."""
        for column in shape.columns:
            if isinstance(column, GroupMeasure):
                attribute, names = self._measured(shape, column)
                yield attribute, names[0], names
            else:
                yield self.phrases.attribute(shape, column), *self._names(shape, column)
        if shape.dispute is not None:
            attribute = self.schema.tables[shape.subject].attributes[shape.dispute.attribute]
            label, words = self.lexicon.label(attribute), self.words.columns
            for site in map(self.schema.site_titles.__getitem__, (shape.dispute.trusted, shape.dispute.other)):
                forms = (words.by_site, words.site)
                # The genitive of a name in s.
                names = [form.format(label=label, site=site).replace("s's ", "s' ") for form in forms]
                yield attribute, names[0], [*names, site]

    def _names(self, shape: Shape, term: Term) -> tuple[str, list[str]]:
        attribute = self.phrases.attribute(shape, term)
        thing = self.lexicon.thing(self.schema.tables[attribute.type])
        if attribute.kind == "name" and not term.node:
            return thing, [thing]
        labels = self.phrases.labels(self.phrases.path(shape, term), attribute)
        last = labels[-1]
        chained = [] if attribute.kind == "name" else [self.words.chain([thing, last])]
        near = [self.words.chain(labels[-2:]), *chained] if term.node else chained
        short = noun(last)
        full = self.words.chain(labels)
        names = [*near, last] if term.node else [last, *near]
        names += [self.words.chain([*labels[-2:-1], short]), self.words.chain([thing, short]), short]
        return full, list(dict.fromkeys(names))

    def _measured(self, shape: Shape, measure: GroupMeasure) -> tuple[QuestionAttribute | None, list[str]]:
        words = self.words.columns
        if measure.combine == "count":
            things = self.lexicon.thing(self.schema.tables[shape.subject], plural=True)
            return None, [words.count.format(things=things)]
        attribute = self.phrases.attribute(shape, measure.term)
        form = words.sum if measure.combine == "sum" else words.mean
        label = self.lexicon.label(attribute)
        return attribute, list(dict.fromkeys([form.format(label=label), form.format(label=noun(label))]))

    @staticmethod
    def _counted(name: str) -> Column:
        return Column(name=name, preprocess=("extract_number",), metric=("number_near",), criterion=0.0)

    def _typed(self, attribute: QuestionAttribute, name: str) -> Column:
        if attribute.kind == "name":
            return Column(name=name, names=attribute.type)
        return typed_column(attribute, name).model_copy(update={"words": self.lexicon.categories(attribute)})


def typed_column(attribute: QuestionAttribute, name: str) -> Column:
    """Return a column for values of an attribute, with the comparison that fits its kind."""
    if attribute.numeric:
        return Column(name=name, preprocess=("extract_number",), metric=("number_near",), criterion=NUMBER_TOLERANCE)
    if attribute.kind == "date":
        return Column(name=name, preprocess=("norm_date",), metric=("exact_match",))
    return Column(name=name)


def _chosen(names: list[str], taken: set[str], unit: str) -> str:
    """Return the first name that is free and short enough; else the shortest, with a number if it is taken."""
    free = [name for name in names if name.casefold() not in taken]
    fitting = next((name for name in free if length(name) + length(unit) <= MOST_WORDS), None)
    if fitting is not None:
        return fitting
    shortest = min(free or names, key=length)
    number, found = 2, shortest
    while found.casefold() in taken:
        found, number = f"{shortest} {number}", number + 1
    return found


def length(name: str) -> float:
    """Return the length of a heading, in words."""
    return len(_WORD.findall(name)) + len(_HAN.findall(name)) / _SIGNS


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
