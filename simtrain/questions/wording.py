"""The words of composed questions: from a shape to what is asked, in one of several styles."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Annotated, Final, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict

from simtrain.documents import read_document
from simtrain.question import Column, Language, Metric, Preprocess, cell_text
from simtrain.questions.conditions import years_of
from simtrain.questions.schema import Attribute, Schema
from simtrain.questions.shapes import Exists, Measure, Shape, Term, Test
from simtrain.seeding import Stream

NUMBER_TOLERANCE: Final = 0.02
"""How far, as a share, a number in an answer may be off: pages round."""

_DAY = re.compile(r"\b(date|day|since|until|refit|time)\b", re.IGNORECASE)
_FOLDER = Path(__file__).parent / "wordings"

Styles: TypeAlias = Annotated[list[str], BeforeValidator(lambda given: [given] if isinstance(given, str) else given)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ColumnWords(_Part):
    """How the table that is wanted is described, and how its columns are called."""

    table: Styles
    single: Styles
    separator: str
    rules: str
    truth: str
    name: str
    count: str
    sum: str
    mean: str
    by_site: str


class Wordings(_Part):
    """The words of one language."""

    language: Language
    asks: dict[str, Styles]
    things: str
    day: str
    ever: str
    and_: str
    listed: str
    of: str
    conditions: dict[str, Styles]
    ends: dict[str, str]
    columns: ColumnWords
    abstain: str
    terms: dict[str, str]

    def term(self, label: str) -> str:
        """A word of the world in this language, where it is known."""
        return self.terms.get(label.lower(), label)


@cache
def wordings(language: Language) -> Wordings:
    """The shipped words of a language."""
    document = read_document(_FOLDER / f"{language}.yaml")
    data = {**document.data, "language": language}
    data["and_"] = data.pop("and")
    return document.parse(Wordings, data)


class Wording:
    """Words for the shapes over one schema in one language; styles are drawn from the stream."""

    def __init__(self, schema: Schema, language: Language) -> None:
        self.schema = schema
        self.language: Language = language
        self.words = wordings(language)

    def columns(self, shape: Shape) -> list[Column]:
        """The columns of a shape, with names that tell them apart and the rules by which their cells are compared."""
        found: list[Column] = []
        for column in shape.columns:
            taken = [other.name.casefold() for other in found]
            found.append(
                self._measure(shape, column) if isinstance(column, Measure) else self._column(shape, column, taken)
            )
        if shape.dispute is not None:
            attribute = self.schema.table(shape.subject).attributes[shape.dispute.attribute]
            for site in (shape.dispute.trusted, shape.dispute.other):
                label = self.words.columns.by_site.format(label=self._labelled(attribute), site=self.schema.site(site))
                found.append(typed_column(attribute, label))
        return found

    def query(self, shape: Shape, columns: list[Column], stream: Stream, *, answer: str = "table") -> str:
        """The whole text of a question."""
        words = self.words.columns
        sentences = [self._ask(shape, stream, answer)]
        if answer == "single":
            sentences.append(stream.choose(words.single))
        else:
            names = words.separator.join(column.name for column in columns)
            sentences += [stream.choose(words.table).format(columns=names), words.rules]
        sentences.append(words.truth.format(today=self.schema.today))
        sentences.append(self.words.abstain)
        return ("" if self.language == "zh" else " ").join(sentences)

    def _ask(self, shape: Shape, stream: Stream, answer: str) -> str:
        asks = self.words.asks
        table = self.schema.table(shape.subject)
        conditions = self._conditions(shape, stream)
        things = self.words.term(table.plural.replace("_", " "))
        if table.lasting and not any(test.operator in ("current", "ended", "on") for test in shape.tests):
            things = self.words.ever.format(things=things)
        if answer == "single":
            thing = self.words.term(_spoken(table.name))
            return stream.choose(asks["single"]).format(thing=thing, conditions=conditions)
        named = self.words.things.format(things=things, conditions=conditions) if conditions else things
        if shape.dispute is not None:
            attribute = table.attributes[shape.dispute.attribute]
            sites = {"trusted": self.schema.site(shape.dispute.trusted), "other": self.schema.site(shape.dispute.other)}
            return stream.choose(asks["dispute"]).format(things=named, term=self._said(attribute), **sites)
        if shape.group is not None:
            return stream.choose(asks["groups"]).format(things=named, group=self._path(shape, shape.group))
        if shape.extreme is not None:
            attribute = self._attribute(shape, shape.extreme.term)
            end = ("latest", "earliest") if attribute.kind == "date" else ("highest", "lowest")
            filled = {
                "things": named,
                "term": self._path_term(shape, shape.extreme.term),
                "end": self.words.ends[end[0] if shape.extreme.highest else end[1]],
            }
            if shape.extreme.group is not None:
                return stream.choose(asks["best"]).format(group=self._path(shape, shape.extreme.group), **filled)
            return stream.choose(asks["top"]).format(count=shape.extreme.count, **filled)
        return stream.choose(asks["rows"]).format(things=named)

    def _conditions(self, shape: Shape, stream: Stream) -> str:
        parts = [self._test(shape, test, stream) for test in shape.tests]
        parts += [self._exists(item, stream) for item in shape.exists]
        return self.words.and_.join(parts)

    def _test(self, shape: Shape, test: Test, stream: Stream) -> str:
        attribute = self._attribute(shape, test.term)
        if test.operator == "in" and attribute.kind == "name":
            names = self.words.listed.join(cell_text(value) for value in test.values)
            return stream.choose(self.words.conditions["called"]).format(names=names)
        kind, filled = _phrase(test, attribute)
        filled["term"] = self._path_term(shape, test.term)
        filled["today"] = self.schema.today
        if test.other is not None:
            filled["other"] = self._path_term(shape, test.other)
        elif attribute.numeric:
            filled = {
                name: _with_unit(value, attribute) if name in _AMOUNTS else value for name, value in filled.items()
            }
        return stream.choose(self.words.conditions[kind]).format(**filled)

    def _exists(self, item: Exists, stream: Stream) -> str:
        relation = self.schema.table(item.table)
        kind = ("none" if not item.end else "never") if item.negated else "exists"
        if item.current and kind in ("none", "exists"):
            kind += "_now"
        return stream.choose(self.words.conditions[kind]).format(
            relation=self.words.term(_spoken(relation.name)),
            end=self.words.term(relation.attributes[item.end].label) if item.end else "",
            value=item.name,
            today=self.schema.today,
        )

    def _attribute(self, shape: Shape, term: Term) -> Attribute:
        return self.schema.table(shape.nodes[term.node].table).attributes[term.attribute]

    def _path(self, shape: Shape, node: int) -> str:
        """What a node is called from the subject: its references, one after the other."""
        parts = [self._ref(shape, step.parent, step.ref) for step in shape.path(node)]
        text = parts[0]
        for part in parts[1:]:
            text = self.words.of.format(first=text, second=part)
        return text

    def _ref(self, shape: Shape, parent: int, ref: str) -> str:
        return self.words.term(self.schema.table(shape.nodes[parent].table).attributes[ref].label)

    def _path_term(self, shape: Shape, term: Term) -> str:
        label = self._said(self._attribute(shape, term))
        if term.node == 0:
            return label
        path = self._path(shape, term.node)
        return path if term.attribute == "name" else self.words.of.format(first=path, second=label)

    def _said(self, attribute: Attribute) -> str:
        """An attribute within a sentence: a date whose label is a participle (`opened`) reads as a day."""
        label = self.words.term(attribute.label)
        if attribute.kind != "date" or label != attribute.label or _DAY.search(label):
            return label
        return self.words.day.format(label=label)

    def _column(self, shape: Shape, term: Term, taken: list[str]) -> Column:
        attribute = self._attribute(shape, term)
        if term.attribute == "name":
            label = self._path(shape, term.node) if term.node else self.words.term(_spoken(attribute.type))
            entity = shape.nodes[term.node].table
            return Column(name=self._apart(_capital(label), taken), names=entity)
        label = self._labelled(attribute)
        name = _capital(label)
        if name.casefold() in taken or term.node:
            far = self._path(shape, term.node) if term.node else self.words.term(_spoken(attribute.type))
            name = _capital(self.words.of.format(first=far, second=label))
        return typed_column(attribute, self._apart(name, taken))

    @staticmethod
    def _apart(name: str, taken: list[str]) -> str:
        number = 2
        found = name
        while found.casefold() in taken:
            found, number = f"{name} {number}", number + 1
        return found

    def _measure(self, shape: Shape, measure: Measure) -> Column:
        words = self.words.columns
        table = self.schema.table(shape.subject)
        if measure.combine == "count":
            name = words.count.format(things=self.words.term(table.plural.replace("_", " ")))
            return Column(name=name, preprocess=("extract_number",), metric=("number_near",), criterion=0.0)
        attribute = self._attribute(shape, measure.term)
        form = words.sum if measure.combine == "sum" else words.mean
        return typed_column(attribute, form.format(label=self._labelled(attribute)))

    def _labelled(self, attribute: Attribute) -> str:
        label = self.words.term(attribute.label)
        return f"{label} ({attribute.unit})" if attribute.unit else label


_AMOUNTS = frozenset({"value", "low", "high"})


def _phrase(test: Test, attribute: Attribute) -> tuple[str, dict[str, str]]:
    """The kind of phrase that a condition needs, and what is filled in."""
    values = [cell_text(value) for value in test.values]
    dated = attribute.kind == "date"
    match test.operator:
        case "current" | "ended":
            return test.operator, {}
        case "on":
            return "held_on", {"day": values[0]}
        case "more":
            return ("later" if dated else "larger"), {}
        case "less":
            return ("earlier" if dated else "smaller"), {}
        case "in":
            return "either", {"value": values[0], "other": values[1]}
        case "<>":
            return "differs", {"value": values[0]}
        case "=" if attribute.kind == "flag":
            return ("yes" if test.values[0] else "no"), {}
        case "=":
            return ("named" if attribute.kind == "name" else "equals"), {"value": values[0]}
        case _ if dated:
            first, last = years_of(test)
            if first and last:
                return ("year" if first == last else "years"), {"first": first, "last": last}
            return ("since_year", {"first": first}) if first else ("until_year", {"last": str(last)})
        case ">=":
            return "at_least", {"value": values[0]}
        case "<=":
            return "at_most", {"value": values[0]}
        case _:
            return "range", {"low": values[0], "high": values[1]}


def _with_unit(value: str, attribute: Attribute) -> str:
    return f"{value} {attribute.unit}" if attribute.unit else value


def typed_column(attribute: Attribute, name: str) -> Column:
    """A column for values of an attribute, compared as its kind demands."""
    preprocess: Preprocess = "norm_str"
    metric: Metric = "exact_match"
    if attribute.numeric:
        return Column(name=name, preprocess=("extract_number",), metric=("number_near",), criterion=NUMBER_TOLERANCE)
    if attribute.kind == "date":
        preprocess = "norm_date"
    return Column(name=name, preprocess=(preprocess,), metric=(metric,))


def _spoken(name: str) -> str:
    return name.replace("_", " ")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
