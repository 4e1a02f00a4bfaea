"""Composing: draws shapes of questions by walking the schema of a world."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from simtrain.questions.conditions import TESTED, test_of
from simtrain.questions.schema import QuestionAttribute, QuestionTable, WorldSchema
from simtrain.questions.shapes import DrawRefused, Exists, JoinNode, Shape, Term, Test, drawn
from simtrain.values.seeding import Stream

SHOWN: Final = frozenset({"category", "date", "number", "quantity", "money"})
"""The kinds of attributes, beside names, that columns show."""

MOST_COLUMNS: Final = 6

LEAST_SHARED: Final = 1.4
"""Least average number of rows per group for a question about groups."""

_NAMING: Final = re.compile(
    r"\b(number|no|year|rank|rating|score|grade|index|level|age|edition|version|share|rate)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of a composed question: hops to the farthest fact, gold rows, columns (None: those of its kind)."""

    hops: tuple[int, int] = (0, 4)
    rows: tuple[int, int] = (3, 40)
    columns: tuple[int, int] | None = None


class Composer:
    """Draws shapes, or raises DrawRefused. The caller must check that a shape has rows, and not too many."""

    def __init__(self, schema: WorldSchema, bounds: Bounds) -> None:
        self.schema = schema
        self.bounds = bounds
        self.entities = [
            table for table in schema.tables.values() if table.kind == "entity" and schema.size(table.name)
        ]
        self.relations = [
            table for table in schema.tables.values() if table.kind == "relation" and schema.size(table.name)
        ]
        self.disputes = _disputes(schema)
        self._walks: dict[tuple[str, int], list[tuple[JoinNode, ...]]] = {}
        self._tied: dict[tuple[str, str, tuple[str, ...]], dict[str, set[int]]] = {}

    def share(self, table: str, stream: Stream) -> float:
        """Return a share of a table's rows that gives a number of rows within the bounds."""
        low, high = self.bounds.rows
        # Log-uniform, so that short tables are as frequent as long ones.
        wanted = low * (high / low) ** stream.random()
        return min(0.9, wanted / max(1, self.schema.size(table)))

    def tested(self, shape: Shape, stream: Stream, nodes: range, share: float) -> Shape:
        """Return the shape with a condition on one of these nodes, which about `share` of its rows meet."""
        taken = {(test.term.node, test.term.attribute) for test in shape.tests}
        terms = [
            (Term(node, attribute.name), attribute)
            for node in nodes
            for attribute in self.schema.tables[shape.nodes[node].table].attributes.values()
            if attribute.kind in TESTED
            and attribute.name not in ("since", "until")
            and (node, attribute.name) not in taken
        ]
        term, attribute = drawn(terms, stream)
        test = test_of(term, attribute, self.schema, stream, share=share)
        if test is None:
            raise DrawRefused
        return replace(shape, tests=(*shape.tests, test))

    def walks(self, table: str, hops: int) -> list[tuple[JoinNode, ...]]:
        """Return every walk of that many references from a table that visits no table twice."""
        place = (table, hops)
        if place not in self._walks:
            found: list[tuple[JoinNode, ...]] = [(JoinNode(table),)]
            for at in range(hops):
                found = [
                    (*nodes, JoinNode(ref.target, at, ref.name))
                    for nodes in found
                    for ref in self.schema.tables[nodes[-1].table].refs
                    # A walk that returns to a table could ask for a thing by itself.
                    if ref.target and ref.target not in {node.table for node in nodes}
                ]
            self._walks[place] = found
        return self._walks[place]

    def rooted(self, tables: Sequence[QuestionTable], hops: int, stream: Stream) -> tuple[JoinNode, ...]:
        """Return a walk of that many references from one of these tables."""
        roots = [walks for table in tables if (walks := self.walks(table.name, hops))]
        return stream.choose(drawn(roots, stream))

    def groups(self, nodes: tuple[JoinNode, ...]) -> bool:
        """Return True if rows share the first reference of a walk. Groups by a reference of nearly one row each mean little."""
        ref = self.schema.tables[nodes[0].table].attributes[nodes[1].ref]
        return LEAST_SHARED * len(self.schema.present(ref)) <= self.schema.size(nodes[0].table)

    def reached(self, shape: Shape, hops: int, stream: Stream, *, share: float, named: float = 0.5) -> Shape:
        """Return the shape with a condition on the node `hops` references away, on its name or another attribute."""
        if hops and stream.random() < named:
            # Sorted, since SQLite chooses the order of rows and a draw must not depend on it.
            name = stream.choose(sorted(self.schema.names[shape.nodes[hops].table].values()))
            return replace(shape, tests=(*shape.tests, Test(Term(hops, "name"), "=", (name,))))
        return self.tested(shape, stream, range(hops, hops + 1), share)

    def keyed(self, nodes: tuple[JoinNode, ...]) -> tuple[tuple[JoinNode, ...], list[Term], tuple[int, ...]]:
        """Return the nodes, extended by those that identify a row of the subject, its key columns, and their indices."""
        subject = self.schema.tables[nodes[0].table]
        if subject.kind == "entity":
            return nodes, [Term(0, "name")], (0,)
        found, terms = list(nodes), list[Term]()
        for ref in subject.refs[:2]:
            place = next((at for at, node in enumerate(found) if node.parent == 0 and node.ref == ref.name), None)
            if place is None:
                assert ref.target is not None
                place = len(found)
                found.append(JoinNode(ref.target, 0, ref.name))
            terms.append(Term(place, "name"))
        if subject.lasting:
            terms.append(Term(0, "since"))
        return tuple(found), terms, tuple(range(len(terms)))

    def columned(self, shape: Shape, stream: Stream, *, most: int = MOST_COLUMNS) -> Shape:
        """Return the shape with further columns: attributes of its nodes, and names of things that references point to."""
        nodes, columns = list(shape.nodes), list(shape.columns)
        choices = [
            Term(place, attribute.name)
            for place, node in enumerate(nodes)
            for attribute in self.schema.tables[node.table].attributes.values()
            if attribute.kind in SHOWN
        ] + [Term(place, "name") for place in range(1, len(nodes))]
        # A column that a condition fixes would say the same in every row.
        fixed = {test.term for test in shape.tests if test.operator == "="}
        open_ends = [(0, ref) for ref in self.schema.tables[nodes[0].table].refs]
        wanted = stream.integer(1, max(1, most - len(columns)))
        for term in stream.shuffled([term for term in choices if term not in columns and term not in fixed])[:wanted]:
            columns.append(term)
        # Only if the shape has hops already: the name of a referenced thing adds a hop of its own.
        if shape.hops and open_ends and len(columns) < most and stream.random() < 0.35:
            place, ref = stream.choose(open_ends)
            if ref.target and not any(node.parent == place and node.ref == ref.name for node in nodes):
                nodes.append(JoinNode(ref.target, place, ref.name))
                columns.append(Term(len(nodes) - 1, "name"))
        return replace(shape, nodes=tuple(nodes), columns=tuple(columns))

    def tied(self, item: Exists) -> dict[str, set[int]]:
        """Return, for the rows of a relation, the name at the end of the path -> the ids of entities at the other end."""
        place = (item.table, item.ref, item.path)
        if place not in self._tied:
            joins = ""
            for at, ref in enumerate(self.schema.along(item.table, item.path)):
                joins += (
                    f" join {ref.target} as end{at} on end{at}.id = {f'end{at - 1}' if at else item.table}.{ref.name}"
                )
            sql = f"select end{len(item.path) - 1}.name as name, {item.table}.{item.ref} as id from {item.table}{joins}"
            found: dict[str, set[int]] = {}
            for row in self.schema.world.query(sql):
                found.setdefault(str(row["name"]), set()).add(row["id"])
            self._tied[place] = found
        return self._tied[place]

    def numbers(self, table: QuestionTable) -> list[QuestionAttribute]:
        """Return the numeric attributes that every row has."""
        return [item for item in table.attributes.values() if item.numeric and not self.schema.has_nulls(item)]

    def additive(self, table: QuestionTable) -> list[QuestionAttribute]:
        """Return the numeric attributes with a meaningful sum: amounts and counts, but no shares, rates, ranks or identifiers."""
        return [item for item in self.numbers(table) if item.unit != "%" and not _NAMING.search(item.label)]

    def ordered(self, table: QuestionTable) -> list[QuestionAttribute]:
        """Return the attributes by which rows can be ranked."""
        dates = [item for item in table.attributes.values() if item.kind == "date" and not self.schema.has_nulls(item)]
        return [item for item in self.numbers(table) + dates if len(self.schema.values(item)) > 5]


_DISPUTES = """
with claimed as (
  select c.attribute, c.entity, c.site, a.type, a.name, t.position from _claims c
  join _attributes a on a.id = c.attribute join _types t on t.name = a.type
  where c.value is not null and c.entity <= :rows
)
select c.type, c.name, o.name as other, s.name as trusted, count(distinct c.entity) as stated,
  (select count(*) from claimed d where d.attribute = c.attribute and d.site = c.site) as disputed
from claimed c join _sites o on o.id = c.site
join _statements m on m.entity = c.entity and m.type = c.position and m.attribute = c.attribute and m.claim is null
join _pages p on p.id = m.page join _sites s on s.id = p.site and s.id <> c.site
group by 1, 2, 3, 4 order by 1, 2, 3, stated desc, s.id
"""
_ROWS_TRIED = 400
"""Rows of a type that are compared to find a site that is right about it."""


def _disputes(schema: WorldSchema) -> list[tuple[QuestionAttribute, str, str]]:
    """Return the attributes that some site has wrong, each with a site that is right about the same rows, and the wrong site."""
    found: dict[tuple[str, str, str], tuple[QuestionAttribute, str, str]] = {}
    for row in schema.world.query(_DISPUTES, {"rows": _ROWS_TRIED}):
        key = str(row["type"]), str(row["name"]), str(row["other"])
        table = schema.tables.get(key[0])
        attribute = table.attributes.get(key[1]) if table and table.kind == "entity" else None
        # The trusted site must be right wherever the other is wrong, or the question would have no single gold.
        if attribute and attribute.kind in SHOWN and row["disputed"] > 2 and row["stated"] == row["disputed"]:
            found.setdefault(key, (attribute, str(row["trusted"]), key[2]))
    return list(found.values())
