"""Spoiling: makes unanswerable questions from answerable ones, so that nothing in their form gives them away."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from simtrain.contracts.question import PremiseKind
from simtrain.questions.composing import SHOWN, Composer
from simtrain.questions.distances import lookalikes
from simtrain.questions.families import MOST_NAMED
from simtrain.questions.schema import QuestionAttribute, WorldSchema
from simtrain.questions.shapes import DrawRefused, JoinNode, Shape, Term, Test, drawn
from simtrain.questions.sql import compile_shape
from simtrain.questions.stating import Needed, Stating
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonValue, encode

_LOOKED_UP: Final[tuple[PremiseKind, ...]] = ("invented", "namesake", "untold")
_CONDITIONED: Final[tuple[PremiseKind, ...]] = ("invented", "namesake", "apart")
_MOST_TOGETHER: Final = 2
"""Most things that a spoiled question names."""

_AT_A_TIME: Final = frozenset({"current", "ended", "on"})
"""Operators that test a period, which depends on both its ends."""

_TRIES: Final = 8
_FRUITLESS: Final = 1 / 40
"""Weight of a fruitless draw, relative to one that made a question."""


@dataclass(frozen=True, slots=True)
class Spoiled:
    """A shape without an answer, the reason, and the names in question."""

    shape: Shape
    kind: PremiseKind
    names: tuple[str, ...]


class Spoiler:
    """Takes the answer away from shapes, using each way in turn, or raises DrawRefused.

    A spoiled shape may still have an answer: the caller must check that.
    """

    def __init__(self, composer: Composer, stating: Stating) -> None:
        self.composer = composer
        self.schema = composer.schema
        self.stating = stating
        self._had: defaultdict[PremiseKind, float] = defaultdict(float)

    def spoiled(self, shape: Shape, stream: Stream) -> Spoiled:
        """Return the shape without its answer, spoiled in the way whose turn it is."""
        lookup = shape.family == "looked_up"
        kinds = _LOOKED_UP if lookup else _CONDITIONED
        kind = min(kinds, key=lambda one: (self._had[one], kinds.index(one)))
        # Every draw counts a little, or a way that seldom succeeds would be tried for ever.
        self._had[kind] += _FRUITLESS
        if kind == "untold":
            return self._untold(shape, stream)
        if lookup:
            return self._named(shape, kind, stream)
        return self._conditioned(shape, kind, stream)

    def tell(self, spoiled: Spoiled) -> None:
        """Count a question that was made from a spoiled shape."""
        self._had[spoiled.kind] += 1 - _FRUITLESS

    def _named(self, shape: Shape, kind: PremiseKind, stream: Stream) -> Spoiled:
        """Return a shape that names things of the wrong type or things that do not exist."""
        low, high = self.composer.bounds.rows
        count = stream.integer(low, max(low, min(_MOST_TOGETHER, high)))
        found = sorted({self._false(shape.subject, kind, stream) for _ in range(count)})
        if len(found) < count or count > MOST_NAMED or lookalikes(found) is not None:
            raise DrawRefused
        return Spoiled(replace(shape, tests=(Test(Term(0, "name"), "in", tuple(found)),)), kind, tuple(found))

    def _conditioned(self, shape: Shape, kind: PremiseKind, stream: Stream) -> Spoiled:
        """Return a shape whose condition is on a name that nothing has, that something else has, or that nothing fitting is linked to."""
        shape, place = self._at_a_name(shape, stream)
        if kind == "apart" and (shape.exists or shape.dispute is not None or len(shape.tests) < 2):
            raise DrawRefused
        table, term = shape.nodes[place].table, Term(place, "name")
        shown = [column for at, column in enumerate(shape.columns) if column != term or at in shape.key]
        others = tuple(test for test in shape.tests if test.term != term)
        for _ in range(_TRIES if kind == "apart" else 1):
            name = (
                stream.choose(sorted(self.schema.names[table].values()))
                if kind == "apart"
                else self._false(table, kind, stream)
            )
            # Tested without the ranking or grouping, which could hide rows that meet the conditions.
            named = replace(shape, tests=(Test(term, "=", (name,)), *others), extreme=None, group=None)
            if kind != "apart" or self._apart(named):
                kept = replace(shape, tests=named.tests)
                return Spoiled(self._with_columns(kept, shown), kind, (name,))
        raise DrawRefused

    def _with_columns(self, shape: Shape, columns: Sequence[object]) -> Shape:
        """Return the shape with only these of its columns."""
        kept = tuple(column for column in shape.columns if column in columns)
        key = tuple(kept.index(shape.columns[place]) for place in shape.key)
        return replace(shape, columns=kept, key=key)

    def _at_a_name(self, shape: Shape, stream: Stream) -> tuple[Shape, int]:
        """Return the shape and a node for a condition on a name: one that has such a condition, another one, or a new one."""
        named = [test.term.node for test in shape.tests if test.term.attribute == "name" and test.term.node]
        away = [place for place, node in enumerate(shape.nodes) if place and node.table in self.schema.names]
        if named or away:
            return shape, stream.choose(named or away)
        refs = [ref for ref in self.schema.tables[shape.subject].refs if ref.target in self.schema.names]
        if not refs or self.composer.bounds.hops[1] < 1:
            raise DrawRefused
        ref = stream.choose(refs)
        return replace(shape, nodes=(*shape.nodes, JoinNode(ref.target or "", 0, ref.name))), len(shape.nodes)

    def _false(self, table: str, kind: PremiseKind, stream: Stream) -> str:
        """Return a false name for a type: one that nothing has, or one that only things of another type have."""
        own = {name.casefold() for name in self.schema.names[table].values()}
        if kind == "invented":
            return invented_name(sorted(self.schema.names[table].values()), self.schema, stream)
        others = [name for name, found in self.schema.names.items() if name != table and found]
        name = stream.choose(sorted(self.schema.names[drawn(others, stream)].values()))
        aliases = self.schema.world.query(
            "select 1 from _aliases where type = :type and alias = :name", {"type": table, "name": name}
        )
        # A name of another type may be an alias in this one.
        if aliases or name.casefold() in own:
            raise DrawRefused
        return name

    def _apart(self, shape: Shape) -> bool:
        """Return True if nothing meets the conditions of a shape although the name exists, and no site claims otherwise."""
        compiled = compile_shape(shape, self.schema, [f"c{place}" for place in range(len(shape.columns))])
        if self.schema.world.query(f"select 1 from ({compiled.sql}) limit 1", compiled.parameters):
            return False
        alone = replace(shape, tests=shape.tests[:1], columns=(Term(0, "id"),), key=(0,))
        tied = compile_shape(alone, self.schema, ["c0"])
        rows = self.schema.world.query(tied.evidence.sql, tied.parameters)
        if not rows or self._claimed_to_lead(shape):
            return False
        tested = {(test.term.node, test.term.attribute) for test in shape.tests[1:]}
        tested |= {(test.other.node, test.other.attribute) for test in shape.tests if test.other is not None}
        # A test of a period depends on both its ends.
        tested |= {(test.term.node, "until") for test in shape.tests[1:] if test.operator in _AT_A_TIME}
        tested |= {(step.parent, step.ref) for node, _ in tested for step in shape.path(node)}
        return not any(
            self._claimed(shape.nodes[node].table, name, [row[f"_{node}"] for row in rows]) for node, name in tested
        )

    def _claimed_to_lead(self, shape: Shape) -> bool:
        """Return True if some site claims that a reference leads to the name in the first test."""
        term, name = shape.tests[0].term, shape.tests[0].values[0]
        path = shape.path(term.node)
        for place, step in enumerate(path):
            sql = f"select 1 from _claims c join _attributes a on a.id = c.attribute join {step.table} t{place} on t{place}.id = c.value"
            for at, beyond in enumerate(path[place + 1 :], start=place + 1):
                sql += f" join {beyond.table} t{at} on t{at}.id = t{at - 1}.{beyond.ref}"
            sql += f" where a.type = :type and a.name = :ref and t{len(path) - 1}.name = :name limit 1"
            given = {"type": shape.nodes[step.parent].table, "ref": step.ref, "name": name}
            if self.schema.world.query(sql, given):
                return True
        return False

    def _claimed(self, table: str, attribute: str, ids: Iterable[JsonValue]) -> bool:
        """Return True if some site makes a false claim about one of these rows."""
        sql = (
            "select 1 from _claims c join _attributes a on a.id = c.attribute where a.type = :type and a.name = :name"
            " and c.entity in (select value from json_each(:ids)) limit 1"
        )
        return bool(self.schema.world.query(sql, {"type": table, "name": attribute, "ids": encode(list(ids))}))

    def _untold(self, shape: Shape, stream: Stream) -> Spoiled:
        """Return a shape about existing things and facts that no page states: they have no value, or it is not written anywhere."""
        walk = shape.nodes[: shape.hops + 1]
        names, terms = self._silent(walk, stream) if walk[1:] else self._bare(shape.subject, stream)
        return Spoiled(
            Shape("looked_up", walk, (Term(0, "name"), *terms), tests=(Test(Term(0, "name"), "in", names),)),
            "untold",
            names,
        )

    def _silent(self, walk: tuple[JoinNode, ...], stream: Stream) -> tuple[tuple[str, ...], list[Term]]:
        """Return things with an empty reference, and terms beyond it."""
        ref = self.schema.tables[walk[0].table].attributes[walk[1].ref]
        names = self._without([ref], stream)
        last = len(walk) - 1
        terms = [
            Term(place, attribute.name)
            for place, node in enumerate(walk)
            if place
            for attribute in self.schema.tables[node.table].attributes.values()
            if attribute.kind in SHOWN or attribute.kind == "name"
        ]
        far = [term for term in terms if term.node == last]
        first = drawn(far, stream)
        fewest, most = self.composer.bounds.columns or (2, 5)
        rest = stream.sample([term for term in terms if term != first], stream.integer(fewest, most) - 2)
        return names, [first, *rest]

    def _bare(self, table: str, stream: Stream) -> tuple[tuple[str, ...], list[Term]]:
        """Return things that lack one or several facts, and these facts."""
        shown = [item for item in self.schema.tables[table].attributes.values() if item.kind in SHOWN]
        lacking = [item for item in shown if self.schema.has_nulls(item)]
        if not lacking:
            raise DrawRefused
        attributes = stream.sample(lacking, stream.integer(1, len(lacking)))
        return self._without(attributes, stream), [Term(0, item.name) for item in attributes]

    def _without(self, attributes: Sequence[QuestionAttribute], stream: Stream) -> tuple[str, ...]:
        """Return the names of things for which no page states any of these attributes, true or false."""
        low, high = self.composer.bounds.rows
        table = attributes[0].type
        lacking = " and ".join(f"{attribute.name} is null" for attribute in attributes)
        rows = self.schema.world.query(f"select id, name from {table} where {lacking} order by id")
        count = stream.integer(low, max(low, min(_MOST_TOGETHER, high)))
        chosen = [
            str(row["name"])
            for row in stream.shuffled(rows)[: 4 * count]
            if not self.stating.spoken([Needed(table, attribute.name, row["id"]) for attribute in attributes])
        ][:count]
        if len(chosen) < count or count > MOST_NAMED or lookalikes(chosen) is not None:
            raise DrawRefused
        return tuple(sorted(chosen))


_NAMES_TRIED = 20


def invented_name(names: Sequence[str], schema: WorldSchema, stream: Stream) -> str:
    """Return a name made of words of two others, which no entity has, and none nearly. Raises DrawRefused."""
    several = [name.split(" ") for name in names if " " in name]
    if len(several) < 2:
        raise DrawRefused
    taken = {name.casefold() for found in schema.names.values() for name in found.values()}
    taken |= {str(row["alias"]).casefold() for row in schema.world.query("select alias from _aliases")}
    for _ in range(_NAMES_TRIED):
        first, second = stream.sample(several, 2)
        name = " ".join([first[0], *second[1:]])
        if name.casefold() in taken:
            continue
        alike = [other for other in names if abs(len(other) - len(name)) <= 1]
        if all(lookalikes([name, other]) is None for other in alike):
            return name
    raise DrawRefused
