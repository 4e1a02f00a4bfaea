"""Words a composed question: from a shape to the text of the question, in one of several styles."""

from typing import Final

from simtrain.contracts.question import AnswerKind, Column, Language, cell_text
from simtrain.questions.headings import Headings
from simtrain.questions.lexicon import is_plural
from simtrain.questions.phrases import Phrases
from simtrain.questions.schema import QuestionAttribute, WorldSchema
from simtrain.questions.shapes import Shape, Term
from simtrain.values.seeding import Stream

_ENDS: Final = {
    "date": ("latest", "earliest"),
    "several": ("most", "fewest"),
    "quantity": ("greatest", "smallest"),
    "other": ("highest", "lowest"),
}
"""Kind of ranked value -> the words for the first and the last of a ranking."""


class Wording:
    """Words shapes in one language. Styles are drawn from the stream."""

    def __init__(self, schema: WorldSchema, language: Language) -> None:
        self.schema = schema
        self.language: Language = language
        self.phrases = Phrases(schema, language)
        self.words = self.phrases.words
        self.lexicon = self.phrases.lexicon
        self.headings = Headings(self.phrases)

    def columns(self, shape: Shape) -> list[Column]:
        """Return the columns of a shape, with distinct headings and the rules for comparing their cells."""
        return [heading.column for heading in self.headings.of(shape)]

    def query(self, shape: Shape, stream: Stream, *, answer: AnswerKind = "table") -> str:
        """Return the whole text of a question."""
        words = self.words.columns
        sentences = [self._ask(shape, stream, answer)]
        if answer == "single":
            sentences.append(stream.choose(words.single))
        else:
            sentences += self._table(shape, stream)
        sentences.append(stream.choose(words.truth).format(today=self.schema.today))
        sentences.append(stream.choose(self.words.abstain))
        # Chinese has no spaces between sentences.
        return ("" if self.language == "zh" else " ").join(sentences)

    def _table(self, shape: Shape, stream: Stream) -> list[str]:
        """Return the sentences about the required table: headings, their meanings, and the form of cells."""
        words, headings = self.words.columns, self.headings.of(shape)
        names = words.separator.join(heading.column.name for heading in headings)
        meant = [
            words.means.format(heading=heading.column.name, term=heading.meaning)
            for heading in headings
            if heading.meaning
        ]
        sentences = [stream.choose(words.table).format(columns=names)]
        if meant:
            sentences.append(stream.choose(words.meanings).format(meanings=self.words.listed.join(meant)))
        return [*sentences, stream.choose(words.rules)]

    def _ask(self, shape: Shape, stream: Stream, answer: AnswerKind) -> str:
        asks = self.words.asks
        table = self.schema.tables[shape.subject]
        if answer == "single":
            conditions = self.phrases.conditions(shape, stream, plural=False)
            return stream.choose(asks["single"]).format(thing=self.lexicon.thing(table), conditions=conditions)
        if shape.family == "looked_up":
            names = self.words.listed.join(cell_text(value) for value in shape.tests[0].values)
            return stream.choose(asks["lookup"]).format(things=self.lexicon.thing(table, plural=True), names=names)
        filled = {"things": self._things(shape, stream)}
        if shape.dispute is not None:
            filled["term"] = self.lexicon.label(table.attributes[shape.dispute.attribute])
            filled |= {name: self.schema.site_titles[getattr(shape.dispute, name)] for name in ("trusted", "other")}
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
        """Return the phrase for the requested rows, with their conditions."""
        table = self.schema.tables[shape.subject]
        things = self.lexicon.thing(table, plural=True)
        if table.lasting and not any(test.operator in ("current", "ended", "on") for test in shape.tests):
            things = self.words.ever.format(things=things)
        conditions = self.phrases.conditions(shape, stream, plural=True)
        return self.words.things.format(things=things, conditions=conditions) if conditions else things

    def _group(self, shape: Shape, node: int) -> str:
        """Return the phrase for the name at a node, built from the labels on the way to it."""
        name, phrases = Term(node, "name"), self.phrases
        return self.words.chain(phrases.labels(phrases.path(shape, name), phrases.attribute(shape, name)))


def _end(attribute: QuestionAttribute, *, highest: bool) -> str:
    """Return the key of the word for the first (or last) of a ranking by an attribute."""
    kind = "other"
    if attribute.kind == "date":
        kind = "date"
    elif attribute.kind == "number" and is_plural(attribute.label):
        kind = "several"
    elif attribute.kind == "quantity":
        kind = "quantity"
    return _ENDS[kind][not highest]
