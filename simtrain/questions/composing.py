"""Composing: shapes of questions, drawn by walking the schema of a world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from simtrain.questions.conditions import TESTED, test_of
from simtrain.questions.schema import Attribute, Schema, Table
from simtrain.questions.shapes import Combine, Dispute, Exists, Extreme, Measure, Node, Shape, Term, Test
from simtrain.seeding import Stream

SHOWN: Final = frozenset({"category", "date", "number", "quantity", "money"})
"""The kinds of attribute that stand in a column beside names."""

MOST_COLUMNS: Final = 6


@dataclass(frozen=True, slots=True)
class Bounds:
    """How large a composed question may be: hops to the farthest fact, gold rows."""

    hops: tuple[int, int] = (0, 4)
    rows: tuple[int, int] = (3, 40)


class Composer:
    """Draws shapes from one stream. What it draws may have no rows, or too many: that is for the caller to check."""

    def __init__(self, schema: Schema, bounds: Bounds) -> None:
        self.schema = schema
        self.bounds = bounds
        self.entities = [
            table for table in schema.tables.values() if table.kind == "entity" and schema.size(table.name)
        ]
        self.relations = [
            table for table in schema.tables.values() if table.kind == "relation" and schema.size(table.name)
        ]
        self.disputes = _disputes(schema)

    def draw(self, family: str, stream: Stream) -> Shape | None:
        """A shape of one of FAMILIES; None where the draw led nowhere."""
        return FAMILIES[family](self, stream)

    def narrowed(self, shape: Shape, stream: Stream, *, share: float) -> Shape | None:
        """The shape with one more condition on the subject, or on a node that it already has."""
        return self._tested(shape, stream, range(len(shape.nodes)), share)

    def _share(self, table: str, stream: Stream) -> float:
        """The share of a table's rows that gives a number of rows within the bounds."""
        low, high = self.bounds.rows
        wanted = low * (high / low) ** stream.random()
        return min(0.9, wanted / max(1, self.schema.size(table)))

    def _tested(self, shape: Shape, stream: Stream, nodes: range, share: float) -> Shape | None:
        taken = {(test.term.node, test.term.attribute) for test in shape.tests}
        terms = [
            (Term(node, attribute.name), attribute)
            for node in nodes
            for attribute in self.schema.table(shape.nodes[node].table).attributes.values()
            if attribute.kind in TESTED
            and attribute.name not in ("since", "until")
            and (node, attribute.name) not in taken
        ]
        if not terms:
            return None
        term, attribute = stream.choose(terms)
        test = test_of(term, attribute, self.schema, stream, share=share)
        return None if test is None else replace(shape, tests=(*shape.tests, test))

    def _walked(self, table: str, hops: int, stream: Stream) -> tuple[Node, ...] | None:
        """The subject and `hops` references from it, one after the other, through tables not yet met."""
        nodes = [Node(table)]
        for place in range(hops):
            met = {node.table for node in nodes}
            refs = [ref for ref in self.schema.table(nodes[-1].table).refs if ref.target not in met]
            if not refs:
                return None
            ref = stream.choose(refs)
            assert ref.target is not None
            nodes.append(Node(ref.target, place, ref.name))
        return tuple(nodes)

    def _rooted(self, stream: Stream, hops: int) -> tuple[Node, ...] | None:
        tables = [table for table in self.entities if table.refs] if hops else self.entities
        return self._walked(stream.choose(tables).name, hops, stream) if tables else None

    def _keyed(self, nodes: tuple[Node, ...]) -> tuple[tuple[Node, ...], list[Term], tuple[int, ...]]:
        """The nodes with those that name a row of the subject, its key columns, and their places."""
        subject = self.schema.table(nodes[0].table)
        if subject.kind == "entity":
            return nodes, [Term(0, "name")], (0,)
        found, terms = list(nodes), list[Term]()
        for ref in subject.refs[:2]:
            place = next((at for at, node in enumerate(found) if node.parent == 0 and node.ref == ref.name), None)
            if place is None:
                assert ref.target is not None
                place = len(found)
                found.append(Node(ref.target, 0, ref.name))
            terms.append(Term(place, "name"))
        if subject.lasting:
            terms.append(Term(0, "since"))
        return tuple(found), terms, tuple(range(len(terms)))

    def _columned(self, shape: Shape, stream: Stream, *, most: int = MOST_COLUMNS) -> Shape:
        """The shape with some more columns: attributes of its nodes, and names of what references point to."""
        nodes, columns = list(shape.nodes), list(shape.columns)
        choices = [
            Term(place, attribute.name)
            for place, node in enumerate(nodes)
            for attribute in self.schema.table(node.table).attributes.values()
            if attribute.kind in SHOWN
        ] + [Term(place, "name") for place in range(1, len(nodes))]
        fixed = {test.term for test in shape.tests if test.operator == "="}
        open_ends = [(0, ref) for ref in self.schema.table(nodes[0].table).refs]
        wanted = stream.integer(1, max(1, most - len(columns)))
        for term in stream.shuffled([term for term in choices if term not in columns and term not in fixed])[:wanted]:
            columns.append(term)
        if open_ends and len(columns) < most and stream.random() < 0.35:
            place, ref = stream.choose(open_ends)
            if ref.target and not any(node.parent == place and node.ref == ref.name for node in nodes):
                nodes.append(Node(ref.target, place, ref.name))
                columns.append(Term(len(nodes) - 1, "name"))
        return replace(shape, nodes=tuple(nodes), columns=tuple(columns))

    def _numbers(self, table: Table, *, additive: bool = False) -> list[Attribute]:
        found = [item for item in table.attributes.values() if item.numeric and not self.schema.has_nulls(item)]
        return [item for item in found if not additive or len(self.schema.values(item)) > 3]

    def _ordered(self, table: Table) -> list[Attribute]:
        dates = [item for item in table.attributes.values() if item.kind == "date" and not self.schema.has_nulls(item)]
        return [item for item in self._numbers(table) + dates if len(self.schema.values(item)) > 5]

    # The families.

    def filtered(self, stream: Stream) -> Shape | None:
        """Entities by one to three conditions of their own."""
        nodes = self._rooted(stream, 0)
        if nodes is None:
            return None
        shape: Shape | None = Shape("filtered", nodes, (Term(0, "name"),))
        count = stream.choose((1, 2, 3))
        share = self._share(nodes[0].table, stream) ** (1 / count)
        for _ in range(count):
            shape = shape and self._tested(shape, stream, range(1), share)
        return shape and self._columned(shape, stream)

    def joined(self, stream: Stream) -> Shape | None:
        """Entities by what lies one to four references away: its name, or conditions on it."""
        hops = stream.integer(max(1, self.bounds.hops[0]), max(1, self.bounds.hops[1]))
        nodes = self._rooted(stream, hops)
        if nodes is None:
            return None
        shape: Shape | None = Shape("joined", nodes, (Term(0, "name"),))
        if stream.random() < 0.5:
            target = nodes[-1].table
            name = stream.choose(sorted(self.schema.names[target].values()))
            shape = replace(shape, tests=(Test(Term(hops, "name"), "=", (name,)),))
        else:
            shape = self._tested(shape, stream, range(hops, hops + 1), self._share(nodes[0].table, stream))
        if shape is not None and stream.random() < 0.4:
            shape = self._tested(shape, stream, range(hops), 0.5)
        return shape and self._columned(shape, stream)

    def linked(self, stream: Stream) -> Shape | None:
        """Rows of a relation, by its ends, its own attributes, or the time for which they hold."""
        if not self.relations:
            return None
        subject = stream.choose(self.relations)
        nodes, terms, key = self._keyed((Node(subject.name),))
        shape: Shape | None = Shape("linked", nodes, tuple(terms), key)
        if stream.random() < 0.5:
            end = stream.choose((1, 2))
            name = stream.choose(sorted(self.schema.names[nodes[end].table].values()))
            shape = replace(shape, tests=(Test(Term(end, "name"), "=", (name,)),))
        else:
            shape = self._tested(shape, stream, range(1, 3), self._share(subject.name, stream))
        if shape is not None and subject.lasting:
            shape = self._timed(shape, stream)
        return shape and self._columned(shape, stream)

    def _timed(self, shape: Shape, stream: Stream) -> Shape:
        mark = stream.random()
        term = Term(0, "since")
        if mark < 0.3:
            return replace(shape, tests=(*shape.tests, Test(term, "current")))
        if mark < 0.45 and self.schema.has_nulls(self.schema.table(shape.subject).attributes["until"]):
            return replace(shape, tests=(*shape.tests, Test(Term(0, "until"), "ended")))
        if mark < 0.75:
            value, _ = stream.choose(self.schema.values(self.schema.table(shape.subject).attributes["since"]))
            year = min(int(str(value)[:4]) + 1, int(self.schema.today[:4]))
            return replace(shape, tests=(*shape.tests, Test(term, "on", (f"{year}-01-01",))))
        return shape

    def temporal(self, stream: Stream) -> Shape | None:
        """Entities by the order of two dates (or two like amounts), or by rows that held on a day."""
        if self.relations and stream.random() < 0.5:
            shape = self.linked(stream)
            return None if shape is None else replace(shape, family="temporal")
        nodes = self._rooted(stream, 1)
        if nodes is None:
            return None
        far = self.schema.table(nodes[1].table)
        pairs = [
            (Term(0, own.name), Term(1, other.name))
            for own in self._ordered(self.schema.table(nodes[0].table))
            for other in self._ordered(far)
            if own.kind == other.kind and own.unit == other.unit and (own.kind == "date" or own.name == other.name)
        ]
        if not pairs:
            return None
        first, second = stream.choose(pairs)
        test = Test(first, stream.choose(("more", "less")), other=second)
        shape = Shape("temporal", nodes, (Term(0, "name"), first, second), tests=(test,))
        return self._tested(shape, stream, range(2), 0.4)

    def counted(self, stream: Stream) -> Shape | None:
        """For each entity that references point to: how many rows do, their sum or their mean."""
        hops = stream.choose((1, 1, 2))
        tables = [table for table in (*self.entities, *self.relations) if table.refs]
        if not tables:
            return None
        subject = stream.choose(tables)
        nodes = self._walked(subject.name, hops, stream)
        if nodes is None:
            return None
        shape: Shape | None = Shape("counted", nodes, (Term(hops, "name"),), group=hops)
        numbers = self._numbers(subject, additive=True)
        combine: Combine = stream.choose(("count", "count", "sum", "mean")) if numbers else "count"
        term = Term(0, stream.choose(numbers).name) if combine != "count" else self._counting(subject, nodes)
        measures = [Measure(combine, term)]
        if combine != "count" and stream.random() < 0.4:
            measures.insert(0, Measure("count", self._counting(subject, nodes)))
        # A test on what lies before the group keeps the facts to be gathered few.
        low, high = self.bounds.rows
        share = min(0.8, stream.number(2 * low, 3 * high) / self.schema.size(subject.name))
        shape = self._tested(shape, stream, range(1), share)
        if shape is None:
            return None
        if subject.lasting and stream.random() < 0.5:
            shape = replace(shape, tests=(*shape.tests, Test(Term(0, "since"), "current")))
        extra = [item for item in self.schema.table(nodes[hops].table).attributes.values() if item.kind in SHOWN]
        columns = (
            *shape.columns,
            *([Term(hops, stream.choose(extra).name)] if extra and stream.random() < 0.5 else []),
        )
        return replace(shape, columns=(*columns, *measures))

    @staticmethod
    def _counting(subject: Table, nodes: tuple[Node, ...]) -> Term:
        """What is read of each row that is counted: its name; of a relation, the reference to the group."""
        return Term(0, "name") if subject.kind == "entity" else Term(1, "name")

    def topped(self, stream: Stream) -> Shape | None:
        """The first few by a number or a date, of all or of those that meet a condition."""
        nodes = self._rooted(stream, stream.choose((0, 0, 1)))
        if nodes is None:
            return None
        orders = self._ordered(self.schema.table(nodes[0].table))
        if not orders:
            return None
        term = Term(0, stream.choose(orders).name)
        low, high = self.bounds.rows
        extreme = Extreme(term, stream.random() < 0.6, stream.integer(low, min(high, 15) if high > low else low))
        shape: Shape | None = Shape("topped", nodes, (Term(0, "name"), term), extreme=extreme)
        if len(nodes) > 1 and stream.random() < 0.6:
            name = stream.choose(sorted(self.schema.names[nodes[1].table].values()))
            shape = replace(shape, tests=(Test(Term(1, "name"), "=", (name,)),))
        elif len(nodes) > 1 or stream.random() < 0.8:
            shape = self._tested(shape, stream, range(len(nodes) - 1, len(nodes)), 0.4)
        return shape and self._columned(shape, stream, most=4)

    def best(self, stream: Stream) -> Shape | None:
        """For each entity that references point to, the one row with the highest (lowest) number or date."""
        nodes = self._rooted(stream, 1)
        if nodes is None:
            return None
        orders = self._ordered(self.schema.table(nodes[0].table))
        if not orders:
            return None
        term = Term(0, stream.choose(orders).name)
        shape: Shape | None = Shape(
            "best",
            nodes,
            (Term(1, "name"), Term(0, "name"), term),
            extreme=Extreme(term, stream.random() < 0.6, group=1),
        )
        if stream.random() < 0.5:
            shape = self._tested(shape, stream, range(1), 0.5)
        if shape is not None and self.schema.size(nodes[1].table) > self.bounds.rows[1]:
            share = self.bounds.rows[1] / self.schema.size(nodes[1].table)
            shape = self._tested(shape, stream, range(1, 2), share * 0.7)
        return shape

    def differed(self, stream: Stream) -> Shape | None:
        """Entities that rows of a relation point at by one end but not by another, or that none does."""
        tables = [(table, ref) for table in self.relations for ref in table.refs]
        if not tables:
            return None
        table, ref = stream.choose(tables)
        others = [other for other in table.refs if other.name != ref.name]
        if not others or ref.target is None:
            return None
        other = stream.choose(others)
        assert other.target is not None
        first, second = stream.sample(sorted(self.schema.names[other.target].values()), 2)
        current = table.lasting and stream.random() < 0.4
        mark = stream.random()
        if mark < 0.3:
            exists = (Exists(table.name, ref.name, negated=True, current=current),)
        elif mark < 0.65:
            exists = (Exists(table.name, ref.name, other.name, first, current=current),)
        else:
            exists = (
                Exists(table.name, ref.name, other.name, first),
                Exists(table.name, ref.name, other.name, second, negated=True),
            )
        shape: Shape | None = Shape("differed", (Node(ref.target),), (Term(0, "name"),), exists=exists)
        if mark < 0.3:
            shape = self._tested(shape, stream, range(1), self._share(ref.target, stream) * 2)
        return shape and self._columned(shape, stream, most=4)

    def disputed(self, stream: Stream) -> Shape | None:
        """Entities of which two sites say different things, with what each says."""
        if not self.disputes:
            return None
        attribute, trusted, other = stream.choose(self.disputes)
        dispute = Dispute(attribute.name, trusted, other)
        shape: Shape | None = Shape("disputed", (Node(attribute.type),), (Term(0, "name"),), dispute=dispute)
        if stream.random() < 0.5:
            nodes = self._walked(attribute.type, 1, stream)
            if nodes is not None and stream.random() < 0.5:
                name = stream.choose(sorted(self.schema.names[nodes[1].table].values()))
                return replace(shape, nodes=nodes, tests=(Test(Term(1, "name"), "=", (name,)),))
        if stream.random() < 0.8:
            shape = self._tested(shape, stream, range(1), 0.6)
        return shape

    def single(self, stream: Stream) -> Shape | None:
        """One entity, told by several veiled conditions near and far."""
        nodes = self._rooted(stream, stream.choose((1, 1, 2)))
        if nodes is None:
            return None
        shape: Shape | None = Shape("single", nodes, (Term(0, "name"),))
        count = stream.choose((2, 3))
        share = min(0.9, 6 / self.schema.size(nodes[0].table)) ** (1 / count)
        for number in range(count):
            far = range(len(nodes) - 1, len(nodes)) if number == 0 else range(len(nodes))
            shape = shape and self._tested(shape, stream, far, share)
        return shape


Family: TypeAlias = Callable[[Composer, Stream], Shape | None]

FAMILIES: Final[dict[str, Family]] = {
    "filtered": Composer.filtered,
    "joined": Composer.joined,
    "linked": Composer.linked,
    "temporal": Composer.temporal,
    "counted": Composer.counted,
    "topped": Composer.topped,
    "best": Composer.best,
    "differed": Composer.differed,
    "disputed": Composer.disputed,
    "single": Composer.single,
}


def _disputes(schema: Schema) -> list[tuple[Attribute, str, str]]:
    """The attributes of which some site says what is not so, with the most reliable site that tells the truth of them."""
    rows = schema.world.query(
        "select a.type, a.name, s.name as other, count(*) as n from _claims c join _attributes a on a.id = c.attribute"
        " join _sites s on s.id = c.site group by 1, 2, 3 having n > 2 order by 1, 2, 3"
    )
    trusted = schema.world.query("select name from _sites order by reliability desc, lag_days, id limit 1")
    if not trusted:
        return []
    best = str(trusted[0]["name"])
    found: list[tuple[Attribute, str, str]] = []
    for row in rows:
        table = schema.tables[str(row["type"])] if row["type"] in schema.tables else None
        attribute = table.attributes.get(str(row["name"])) if table else None
        if table and table.kind == "entity" and attribute and attribute.kind in SHOWN and row["other"] != best:
            found.append((attribute, best, str(row["other"])))
    return found
