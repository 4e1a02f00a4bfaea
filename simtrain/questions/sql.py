"""Compiles a shape to SQL: the gold table, and the evidence by which each cell is found on a page."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from simtrain.contracts.question import CellSource, Evidence, Fact
from simtrain.questions.schema import QuestionAttribute, WorldSchema
from simtrain.questions.shapes import Exists, GroupMeasure, JoinNode, Shape, Term, Test
from simtrain.values.types import JsonValue

_SAYING: Final = Term(-1, "_trusted"), Term(-1, "_other")
"""The values of both sites in a dispute, from the joined claims."""

_COMPARISONS = {"more": ">", "less": "<"}
_TOKEN = re.compile(r""""[^"]*"|:\w+|\b[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*|\b[a-z_][a-z0-9_]*|\S""")
_KEYWORD = re.compile(
    "select|from|join|left|on|where|and|or|not|exists|is|null|in|between|order|by|desc|limit|group"
    "|count|sum|round|avg|min|as|case|when|then|else|end"
)


@dataclass(frozen=True, slots=True)
class Compiled:
    """A shape in SQL, with its parameters."""

    sql: str
    parameters: dict[str, JsonValue]
    evidence: Evidence
    skeleton: str
    limit: str | None
    """The parameter with the length of a ranking; None if it is no ranking."""


def compile_shape(shape: Shape, schema: WorldSchema, columns: Sequence[str]) -> Compiled:
    """Return the SQL of a shape. `columns` are the headings of its columns."""
    return _Compiler(shape, schema, columns).compiled()


class _Compiler:
    def __init__(self, shape: Shape, schema: WorldSchema, columns: Sequence[str]) -> None:
        self.shape = shape
        self.schema = schema
        self.columns = columns
        self.parameters: dict[str, JsonValue] = {}
        self.aliases: list[str] = []
        for node in shape.nodes:
            self.aliases.append(self._alias(node.table))
        self.witnesses: list[str] = []

    def compiled(self) -> Compiled:
        """Return the gold SQL and the evidence, over the same rows."""
        origin, where = self._from(), self._where()
        order = self._order()
        ranked = self.shape.extreme is not None and self.shape.extreme.group is None
        last = self._bind(self.shape.extreme.count) if self.shape.extreme is not None and ranked else None
        limit = f" limit {last}" if last else ""
        selected = [
            f'{self._expression(column)} as "{name}"'
            for column, name in zip(self._columns(), self.columns, strict=True)
        ]
        group = "" if self.shape.group is None else f" group by {self.aliases[self.shape.group]}.id"
        sql = f"select {', '.join(selected)} {origin}{where}{group} order by {order}{limit}"
        keys = [selected[place] for place in self.shape.key]
        ids = [f"{alias}.id as _{place}" for place, alias in enumerate(self.aliases)]
        rows = ", ".join([*keys, *ids, *self.witnesses])
        evidence = Evidence(
            sql=f"select {rows} {origin}{where} order by {order}, {self.aliases[0]}.id{limit}",
            cells=dict(zip(self.columns, self._cells(), strict=True)),
            deciding=tuple(self._deciding()),
        )
        return Compiled(sql, self.parameters, evidence, skeleton(sql), last and last.removeprefix(":"))

    def _alias(self, table: str) -> str:
        taken = sum(alias == table or alias.startswith(f"{table}__") for alias in self.aliases)
        return f"{table}__{taken + 1}" if taken else table

    def _columns(self) -> list[Term | GroupMeasure]:
        """Return the columns; for a dispute, followed by the values of both sites."""
        shape = self.shape
        return list(shape.columns) if shape.dispute is None else [*shape.columns, *_SAYING]

    def _expression(self, column: Term | GroupMeasure) -> str:
        if isinstance(column, Term):
            return self._term(column)
        if column.combine == "count":
            return "count(*)"
        inner = self._term(column.term)
        return f"sum({inner})" if column.combine == "sum" else f"round(avg({inner}), 2)"

    def _term(self, term: Term) -> str:
        return self._says(term.attribute) if term.node < 0 else f"{self.aliases[term.node]}.{term.attribute}"

    def _says(self, site: str) -> str:
        """Return the SQL of a site's value in a dispute: its claim, or the truth if it has none."""
        assert self.shape.dispute is not None
        truth = self._term(Term(0, self.shape.dispute.attribute))
        # Not coalesce: a claim may be null, where a site hides a fact that it does not know of yet.
        return f"case when {site}.id is null then {truth} else {site}.value end"

    def _claimed(self) -> Iterator[str]:
        """Yield the joins of the claims of both sites in a dispute."""
        dispute = self.shape.dispute
        if dispute is None:
            return
        place = self.schema.tables[self.shape.subject].attributes[dispute.attribute]
        attribute = (
            f"(select id from _attributes where type = {self._bind(place.type)} and name = {self._bind(place.name)})"
        )
        for term, site in zip(_SAYING, (dispute.trusted, dispute.other), strict=True):
            alias = term.attribute
            yield (
                f" left join _claims as {alias} on {alias}.entity = {self.aliases[0]}.id and {alias}.attribute = {attribute}"
                f" and {alias}.site = (select id from _sites where name = {self._bind(site)})"
            )

    def _bind(self, value: JsonValue) -> str:
        # Bound, never written into the text: names may hold quotes, and questions of one structure then share their SQL.
        name = f"p{len(self.parameters) + 1}"
        self.parameters[name] = value
        return f":{name}"

    def _from(self) -> str:
        first, *others = zip(self.shape.nodes, self.aliases, strict=True)
        text = f"from {first[1]}"
        needed = self._needed()
        for place, (node, alias) in enumerate(others, start=1):
            named = alias if alias == node.table else f"{node.table} as {alias}"
            join = "join" if place in needed else "left join"
            text += f" {join} {named} on {alias}.id = {self.aliases[node.parent]}.{node.ref}"
        return text + "".join(self._claimed())

    def _needed(self) -> set[int]:
        """Return the nodes that every row must have, which are joined and not left-joined."""
        shape = self.shape
        ends = [*shape.deciding]
        ends += [column.node for column in (shape.columns[place] for place in shape.key) if isinstance(column, Term)]
        found = {place for end in ends for place in shape.places(end) if place}
        for place, node in enumerate(shape.nodes):
            # A reference that is never empty needs no left join, unless its own row may be missing.
            joined = node.parent == 0 or node.parent in found
            if place and joined and not self.schema.has_nulls(self._reference(node)):
                found.add(place)
        return found

    def _reference(self, node: JoinNode) -> QuestionAttribute:
        """Return the reference by which a node is joined."""
        return self.schema.tables[self.shape.nodes[node.parent].table].attributes[node.ref]

    def _where(self) -> str:
        shape = self.shape
        parts = [self._test(test, self._term(test.term), self.aliases[test.term.node]) for test in shape.tests]
        parts += [self._exists(item) for item in shape.exists]
        if shape.extreme is not None:
            term = self._term(shape.extreme.term)
            if shape.extreme.group is not None:
                parts.append(self._best(term))
        if shape.dispute is not None:
            first, second = map(self._term, _SAYING)
            parts.append(f"{first} <> {second}")
        return f" where {' and '.join(parts)}" if parts else ""

    def _test(self, test: Test, term: str, alias: str) -> str:
        match test.operator:
            case "between":
                return f"{term} between {self._bind(test.values[0])} and {self._bind(test.values[1])}"
            case "in":
                return f"{term} in ({', '.join(map(self._bind, test.values))})"
            case "current":
                return f"{alias}.until is null"
            case "ended":
                return f"{alias}.until is not null"
            case "on":
                day = self._bind(test.values[0])
                return f"{alias}.since <= {day} and ({alias}.until is null or {alias}.until > {day})"
            case "more" | "less":
                assert test.other is not None
                return f"{term} {_COMPARISONS[test.operator]} {self._term(test.other)}"
            case _:
                return f"{term} {test.operator} {self._bind(test.values[0])}"

    def _exists(self, item: Exists) -> str:
        rows, aliases = f"from {item.table}", [item.table]
        for place, ref in enumerate(self.schema.along(item.table, item.path), start=1):
            aliases.append(f"end{place}")
            rows += f" join {ref.target} as end{place} on end{place}.id = {aliases[place - 1]}.{ref.name}"
        conditions = [f"{item.table}.{item.ref} = {self.aliases[0]}.id"]
        if item.test is not None:
            conditions.append(self._test(item.test, f"{aliases[-1]}.{item.test.term.attribute}", aliases[-1]))
        if item.current:
            conditions.append(f"{item.table}.until is null")
        found = f"{rows} where {' and '.join(conditions)}"
        if item.negated:
            return f"not exists (select 1 {found})"
        # The witness is the first such row, the same for every column of the evidence.
        first = f"{found} order by {item.table}.id limit 1"
        self.witnesses += [
            f"(select {alias}.id {first}) as {_witness(item, place)}" for place, alias in enumerate(aliases)
        ]
        return f"exists (select 1 {found})"

    def _best(self, term: str) -> str:
        extreme = self.shape.extreme
        assert extreme is not None
        assert extreme.group is not None
        ref = self.shape.nodes[extreme.group].ref
        own = [
            self._test(test, f"other.{test.term.attribute}", "other")
            for test in self.shape.tests
            if test.term.node == 0
        ]
        table = self.shape.subject
        sign = ">" if extreme.highest else "<"
        same = [f"other.{ref} = {self.aliases[0]}.{ref}", f"other.{extreme.term.attribute} {sign} {term}", *own]
        return f"not exists (select 1 from {table} as other where {' and '.join(same)})"

    def _order(self) -> str:
        extreme = self.shape.extreme
        # The key ends the order, so that no tie is left to SQLite.
        keys = [self._expression(self.shape.columns[place]) for place in self.shape.key]
        if extreme is not None and extreme.group is None:
            return ", ".join([f"{self._term(extreme.term)}{' desc' if extreme.highest else ''}", *keys])
        return ", ".join(keys)

    def _cells(self) -> list[CellSource]:
        shape = self.shape
        found = [self._cell(column) for column in shape.columns]
        if shape.dispute is not None:
            name = f"{shape.subject}.{shape.dispute.attribute}"
            found += [
                CellSource(attribute=name, entity="_0", site=site)
                for site in (shape.dispute.trusted, shape.dispute.other)
            ]
        return found

    def _cell(self, column: Term | GroupMeasure) -> CellSource:
        term, combine = (column.term, column.combine) if isinstance(column, GroupMeasure) else (column, "value")
        return CellSource(**self._fact(term).model_dump(), combine=combine)

    def _fact(self, term: Term) -> Fact:
        """Return the fact that states a term. The name of a referenced thing is stated by the reference."""
        node = self.shape.nodes[term.node]
        if term.attribute == "name" and term.node > 0:
            return Fact(attribute=f"{self.shape.nodes[node.parent].table}.{node.ref}", entity=f"_{node.parent}")
        return Fact(attribute=f"{node.table}.{term.attribute}", entity=f"_{term.node}")

    def _deciding(self) -> list[Fact]:
        shape = self.shape
        found: dict[Fact, None] = {}
        for place in range(1, len(shape.nodes)):
            found[self._fact(Term(place, "name"))] = None
        for test in shape.tests:
            names = {"current": ["since"], "ended": ["until"], "on": ["since"]}.get(
                test.operator, [test.term.attribute]
            )
            for name in names:
                found[self._fact(Term(test.term.node, name))] = None
            if test.other is not None:
                found[self._fact(test.other)] = None
        if shape.extreme is not None:
            found[self._fact(shape.extreme.term)] = None
        for item in shape.exists:
            found.update(dict.fromkeys(() if item.negated else self._shown(item)))
        return list(found)

    def _shown(self, item: Exists) -> Iterator[Fact]:
        """Yield the facts of the witness of a condition, and of the path from it."""
        yield Fact(attribute=f"{item.table}.{item.ref}", entity=_witness(item, 0))
        path = self.schema.along(item.table, item.path)
        for place, ref in enumerate(path):
            yield Fact(attribute=f"{ref.type}.{ref.name}", entity=_witness(item, place))
        if item.test is not None and item.test.term.attribute != "name":
            yield Fact(attribute=f"{path[-1].target}.{item.test.term.attribute}", entity=_witness(item, len(path)))


def _witness(item: Exists, place: int) -> str:
    """Return the column of the evidence with the id of a condition's witness, `place` steps along its path."""
    return f"_{item.table}_{item.ref}_{place}"


def skeleton(sql: str) -> str:
    """Return SQL with constants and names replaced, and without the number of columns: the same for questions of the same structure."""
    letters: dict[str, str] = {}
    parts: list[str] = []
    for token in _TOKEN.findall(sql):
        if token[0] in "\"'":
            parts.append("?" if token[0] == "'" else "n")
        elif token[0] == ":" or token.isdigit():
            parts.append("?")
        elif "." in token and len(token) > 1:
            alias, _, _ = token.partition(".")
            parts.append(f"{_letter(letters, alias)}.c")
        elif _KEYWORD.fullmatch(token.lower()) or not token[0].isidentifier():
            parts.append(token.lower())
        else:
            parts.append(_letter(letters, token))
    head, _, rest = " ".join(parts).partition(" from ")
    columns = dict.fromkeys(
        re.sub(r"[A-Z]\.c", "c", part.strip()) for part in head.removeprefix("select ").split(" , ")
    )
    return f"select {', '.join(columns)} from {rest}"


def _letter(letters: dict[str, str], name: str) -> str:
    return letters.setdefault(name, chr(ord("A") + len(letters) % 26))
