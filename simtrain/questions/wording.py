"""The words of composed questions: from a shape to what is asked, in one of several styles."""

from __future__ import annotations

from typing import Final

from simtrain.question import AnswerKind, Column, Language, cell_text
from simtrain.questions.lexicon import is_plural
from simtrain.questions.phrases import Phrases
from simtrain.questions.schema import Attribute, Schema
from simtrain.questions.shapes import Measure, Shape, Term
from simtrain.seeding import Stream

NUMBER_TOLERANCE: Final = 0.02
"""How far, as a share, a number in an answer may be off: pages round."""

_ENDS: Final = {
    "date": ("latest", "earliest"),
    "several": ("most", "fewest"),
    "quantity": ("greatest", "smallest"),
    "other": ("highest", "lowest"),
}
"""What the first and the last of a ranking are called, by what is ranked."""


class Wording:
    """Words for the shapes over one schema in one language; styles are drawn from the stream."""

    def __init__(self, schema: Schema, language: Language) -> None:
        self.schema = schema
        self.language: Language = language
        self.phrases = Phrases(schema, language)
        self.words = self.phrases.words
        self.lexicon = self.phrases.lexicon

    def columns(self, shape: Shape) -> list[Column]:
        """The columns of a shape, with names that tell them apart and the rules by which their cells are compared."""
        found: list[Column] = []
        for column in shape.columns:
            taken = {other.name.casefold() for other in found}
            found.append(
                self._measure(shape, column) if isinstance(column, Measure) else self._column(shape, column, taken)
            )
        if shape.dispute is not None:
            attribute = self.schema.table(shape.subject).attributes[shape.dispute.attribute]
            for site in (shape.dispute.trusted, shape.dispute.other):
                label = self.words.columns.by_site.format(label=self._headed(attribute), site=self.schema.site(site))
                found.append(self._typed(attribute, _capital(label)))
        return found

    def query(self, shape: Shape, columns: list[Column], stream: Stream, *, answer: AnswerKind = "table") -> str:
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

    def _ask(self, shape: Shape, stream: Stream, answer: AnswerKind) -> str:
        asks = self.words.asks
        table = self.schema.table(shape.subject)
        if answer == "single":
            conditions = self.phrases.conditions(shape, stream, plural=False)
            return stream.choose(asks["single"]).format(thing=self.lexicon.thing(table), conditions=conditions)
        if shape.family == "looked_up":
            names = self.words.listed.join(cell_text(value) for value in shape.tests[0].values)
            return stream.choose(asks["lookup"]).format(things=self.lexicon.thing(table, plural=True), names=names)
        filled = {"things": self._things(shape, stream)}
        if shape.dispute is not None:
            filled["term"] = self.lexicon.label(table.attributes[shape.dispute.attribute])
            filled |= {name: self.schema.site(getattr(shape.dispute, name)) for name in ("trusted", "other")}
            return stream.choose(asks["dispute"]).format(**filled)
        if shape.extreme is not None:
            attribute = self.phrases.attribute(shape, shape.extreme.term)
            filled["term"] = self.lexicon.label(attribute)
            filled["end"] = self.words.ends[_end(attribute, highest=shape.extreme.highest)]
            if shape.extreme.group is None:
                return stream.choose(asks["top"]).format(count=shape.extreme.count, **filled)
            return stream.choose(asks["best"]).format(group=self._group(shape, shape.extreme.group), **filled)
        if shape.group is not None:
            return stream.choose(asks["groups"]).format(group=self._group(shape, shape.group), **filled)
        return stream.choose(asks["rows"]).format(**filled)

    def _things(self, shape: Shape, stream: Stream) -> str:
        """The rows that are asked for, with their conditions."""
        table = self.schema.table(shape.subject)
        things = self.lexicon.thing(table, plural=True)
        if table.lasting and not any(test.operator in ("current", "ended", "on") for test in shape.tests):
            things = self.words.ever.format(things=things)
        conditions = self.phrases.conditions(shape, stream, plural=True)
        return self.words.things.format(things=things, conditions=conditions) if conditions else things

    def _group(self, shape: Shape, node: int) -> str:
        return self._far(shape, Term(node, "name"))

    def _far(self, shape: Shape, term: Term) -> str:
        """What lies some references away, by the labels on the way."""
        path = [
            self.schema.table(shape.nodes[step.parent].table).attributes[step.ref] for step in shape.path(term.node)
        ]
        return self.words.chain(self.phrases.labels(path, self.phrases.attribute(shape, term)))

    def _column(self, shape: Shape, term: Term, taken: set[str]) -> Column:
        attribute = self.phrases.attribute(shape, term)
        table = self.schema.table(attribute.type)
        if attribute.kind == "name":
            label = self._far(shape, term) if term.node else self.lexicon.thing(table)
            return Column(name=_apart(_capital(label), taken), names=attribute.type)
        name = _capital(self._headed(attribute, self._far(shape, term)))
        if name.casefold() in taken:
            chained = self.words.chain([self.lexicon.thing(table), self.lexicon.label(attribute)])
            name = _capital(self._headed(attribute, chained))
        return self._typed(attribute, _apart(name, taken))

    def _typed(self, attribute: Attribute, name: str) -> Column:
        column = typed_column(attribute, name)
        return column.model_copy(update={"words": self.lexicon.categories(attribute)})

    def _measure(self, shape: Shape, measure: Measure) -> Column:
        words = self.words.columns
        if measure.combine == "count":
            name = words.count.format(things=self.lexicon.thing(self.schema.table(shape.subject), plural=True))
            return Column(name=name, preprocess=("extract_number",), metric=("number_near",), criterion=0.0)
        attribute = self.phrases.attribute(shape, measure.term)
        form = words.sum if measure.combine == "sum" else words.mean
        return typed_column(attribute, self._headed(attribute, form.format(label=self.lexicon.label(attribute))))

    def _headed(self, attribute: Attribute, label: str | None = None) -> str:
        """A heading: the label with the unit in which amounts are to stand."""
        label = label or self.lexicon.label(attribute)
        if attribute.unit is None:
            return label
        return self.words.columns.unit.format(label=label, unit=self.lexicon.unit(attribute.unit))


def _end(attribute: Attribute, *, highest: bool) -> str:
    """What the first of a ranking by an attribute has, or the last."""
    kind = "other"
    if attribute.kind == "date":
        kind = "date"
    elif attribute.kind == "number" and is_plural(attribute.label):
        kind = "several"
    elif attribute.kind == "quantity":
        kind = "quantity"
    return _ENDS[kind][not highest]


def typed_column(attribute: Attribute, name: str) -> Column:
    """A column for values of an attribute, compared as its kind demands."""
    if attribute.numeric:
        return Column(name=name, preprocess=("extract_number",), metric=("number_near",), criterion=NUMBER_TOLERANCE)
    if attribute.kind == "date":
        return Column(name=name, preprocess=("norm_date",), metric=("exact_match",))
    return Column(name=name)


def _apart(name: str, taken: set[str]) -> str:
    """A heading that is not taken yet."""
    number, found = 2, name
    while found.casefold() in taken:
        found, number = f"{name} {number}", number + 1
    return found


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
