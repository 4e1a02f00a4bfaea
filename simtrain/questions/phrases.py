"""Conditions in words."""

from collections.abc import Sequence

from simtrain.contracts.question import Language, cell_text
from simtrain.questions.conditions import years_of
from simtrain.questions.lexicon import Lexicon, is_plural
from simtrain.questions.schema import QuestionAttribute, WorldSchema
from simtrain.questions.shapes import Exists, Shape, Term, Test
from simtrain.questions.wordings import wordings
from simtrain.values.seeding import Stream


class Phrases:
    """The conditions of shapes in words of one language. Styles are drawn from the stream."""

    def __init__(self, schema: WorldSchema, language: Language) -> None:
        self.schema = schema
        self.words = wordings(language)
        self.lexicon = Lexicon(schema, language)

    def conditions(self, shape: Shape, stream: Stream, *, plural: bool) -> str:
        """Return all conditions of a shape, about one thing or several. A described thing comes last, with its description."""
        own = [test for test in shape.tests if shape.described is None or test.term.node != shape.described]
        parts = [self._tested(test, self.path(shape, test.term), stream, shape=shape, plural=plural) for test in own]
        parts += [self._exists(item, stream, plural=plural) for item in shape.exists]
        if shape.described is not None:
            parts.append(self._described(shape, shape.described, stream))
        return self.words.joins.joined(parts)

    def path(self, shape: Shape, term: Term) -> list[QuestionAttribute]:
        """Return the references on the way to a term."""
        return [
            self.schema.tables[shape.nodes[step.parent].table].attributes[step.ref] for step in shape.path(term.node)
        ]

    def attribute(self, shape: Shape, term: Term) -> QuestionAttribute:
        """Return the attribute of a term."""
        return self.schema.tables[shape.nodes[term.node].table].attributes[term.attribute]

    def labels(self, path: Sequence[QuestionAttribute], attribute: QuestionAttribute) -> list[str]:
        """Return the labels along a path to an attribute. A name gets the label of the reference to it."""
        steps = path if path and attribute.kind == "name" else [*path, attribute]
        return [self.lexicon.label(step) for step in steps]

    def measured(self, path: Sequence[QuestionAttribute], attribute: QuestionAttribute) -> list[str]:
        """Return the labels along a path to a compared attribute; for a count, `number of ...`."""
        *path_labels, last = self.labels(path, attribute)
        counted = attribute.kind == "number" and is_plural(last)
        return [*path_labels, self.words.many.format(label=last) if counted else last]

    def _described(self, shape: Shape, node: int, stream: Stream) -> str:
        """Return the description of the thing at a node, by conditions that nothing else meets."""
        table = self.schema.tables[shape.nodes[node].table]
        tests = [test for test in shape.tests if test.term.node == node]
        inner = [self._phrase(test, table.attributes[test.term.attribute], (), stream, plural=False) for test in tests]
        path = self.path(shape, tests[0].term)
        return stream.choose(self.words.conditions["described"]).format(
            term=self._term([self.lexicon.label(step) for step in path]),
            thing=self.lexicon.thing(table),
            conditions=self.words.joins.joined(inner),
            **self.words.inflected(plural=False),
        )

    def _tested(
        self, test: Test, path: Sequence[QuestionAttribute], stream: Stream, *, shape: Shape, plural: bool
    ) -> str:
        other = "" if test.other is None else self._other(shape, test.other)
        return self._phrase(test, self.attribute(shape, test.term), path, stream, plural=plural, other=other)

    def _other(self, shape: Shape, term: Term) -> str:
        return self.words.chain(self.measured(self.path(shape, term), self.attribute(shape, term)))

    def _phrase(
        self,
        test: Test,
        attribute: QuestionAttribute,
        path: Sequence[QuestionAttribute],
        stream: Stream,
        *,
        plural: bool,
        other: str = "",
    ) -> str:
        """Return a condition on an attribute at the end of a path."""
        kind, filled = self._kind(test, attribute)
        if kind in ("yes", "no"):
            # A flag belongs to the thing itself or to the end of the path, not to a label.
            labels = [self.lexicon.label(step) for step in path]
            verbs = self.words.inflected(plural=plural and not path)
            term = self._term(labels) if labels else self.words.itself
            filled["noun"] = self.lexicon.label(attribute)
        else:
            labels = self.measured(path, attribute)
            verbs = self.words.inflected(plural=is_plural(labels[-1]))
            term = self._term(labels)
        filled |= {"other": other} if other else {}
        return stream.choose(self.words.conditions[kind]).format(
            **{**filled, **verbs, "term": term, "today": self.schema.today}
        )

    def _term(self, labels: list[str]) -> str:
        opening = self.words.own if len(labels) < 3 else self.words.far
        return opening.format(term=self.words.chain(labels))

    def _exists(self, item: Exists, stream: Stream, *, plural: bool) -> str:
        relation = self.schema.tables[item.table]
        kind = ("never" if item.path else "none") if item.negated else "exists"
        kind += "_now" if item.current else "" if relation.lasting else "_ever"
        clause = ""
        if item.test is not None:
            path = self.schema.along(item.table, item.path)
            attribute = self.schema.tables[path[-1].target or ""].attributes[item.test.term.attribute]
            clause = self._phrase(item.test, attribute, path, stream, plural=False)
        return stream.choose(self.words.conditions[kind]).format(
            relation=self.lexicon.thing(relation), clause=clause, **self.words.inflected(plural=plural)
        )

    def _kind(self, test: Test, attribute: QuestionAttribute) -> tuple[str, dict[str, str]]:
        """Return the kind of phrase for a condition, and the values to fill in."""
        values = [self.lexicon.value(attribute, value) for value in test.values]
        dated = attribute.kind == "date"
        match test.operator:
            case "current" | "ended":
                return test.operator, {}
            case "on":
                return "held_on", {"day": cell_text(test.values[0])}
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
                return _dated(*years_of(test))
            case ">=":
                return "at_least", {"value": values[0]}
            case "<=":
                return "at_most", {"value": values[0]}
            case _:
                return "range", {"low": values[0], "high": values[1]}


def _dated(first: str | None, last: str | None) -> tuple[str, dict[str, str]]:
    """Return the phrase for a stretch of years."""
    if first is None:
        return "until_year", {"last": str(last)}
    if last is None:
        return "since_year", {"first": first}
    if first == last:
        return "year", {"first": first}
    if first.endswith("0") and int(last) == int(first) + 9:
        return "decade", {"first": first}
    return "years", {"first": first, "last": last}
