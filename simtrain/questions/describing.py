"""Identifies a thing without its name, by blurred conditions (decades, ranges) that nothing else of its kind meets."""

from bisect import bisect_left
from typing import Final

from simtrain.questions.conditions import TESTED, around
from simtrain.questions.schema import QuestionAttribute, WorldSchema
from simtrain.questions.shapes import DrawRefused, JoinNode, Shape, Term, Test
from simtrain.questions.sql import compile_shape
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonValue

MOST_TESTS: Final = 4
"""Most conditions on a thing. If they do not identify it, the draw is refused."""

_WIDTH: Final = (0.12, 0.4)
"""Width of a range around a value, as a share of all distinct values: least and most."""


def described(schema: WorldSchema, nodes: tuple[JoinNode, ...], stream: Stream) -> Shape:
    """Return a shape for one row of the subject, identified by conditions on itself and on the far end of the walk.

    Only one thing meets the conditions on the far end, and only one row meets all of them, as counted by SQL. Each condition is
    needed for that. Raises DrawRefused if no such conditions are found.
    """
    ids = _ids(schema, nodes, stream)
    far = len(nodes) - 1
    end = _identified(schema, (JoinNode(nodes[-1].table),), ids[-1], (), stream)
    beyond = tuple(Test(Term(far, test.term.attribute), test.operator, test.values) for test in end)
    own = _identified(schema, nodes, ids[0], beyond, stream)
    # Then nobody needs the far end of the walk, and the question would be easier than its hops say.
    if _count(schema, nodes, own) == 1:
        raise DrawRefused
    return Shape("single", nodes, (Term(0, "name"),), tests=(*own, *beyond), described=far)


def _ids(schema: WorldSchema, nodes: tuple[JoinNode, ...], stream: Stream) -> list[int]:
    """Return the ids along the walk from a random row. Raises DrawRefused if a reference is empty."""
    found = [stream.choose(sorted(schema.names[nodes[0].table]))]
    for place, node in enumerate(nodes[1:]):
        rows = schema.world.query(
            f"select {node.ref} as id from {nodes[place].table} where id = :id", {"id": found[-1]}
        )
        target = rows[0]["id"]
        if not isinstance(target, int):
            raise DrawRefused
        found.append(target)
    return found


def _identified(
    schema: WorldSchema, nodes: tuple[JoinNode, ...], row: int, given: tuple[Test, ...], stream: Stream
) -> tuple[Test, ...]:
    """Return conditions on the subject's own attributes that, with the given ones, only this row meets; none is superfluous."""
    table = schema.tables[nodes[0].table]
    values = schema.world.query(f"select * from {table.name} where id = :id", {"id": row})[0]
    own: tuple[Test, ...] = ()
    for attribute in stream.shuffled([item for item in table.attributes.values() if item.kind in TESTED]):
        test = blurred(schema, attribute, values[attribute.name], stream)
        if test is None:
            continue
        own = (*own, test)
        if _count(schema, nodes, (*own, *given)) == 1:
            return _needed(schema, nodes, own, given)
        if len(own) == MOST_TESTS:
            break
    raise DrawRefused


def _needed(
    schema: WorldSchema, nodes: tuple[JoinNode, ...], own: tuple[Test, ...], given: tuple[Test, ...]
) -> tuple[Test, ...]:
    """Return the conditions without those that later ones made superfluous."""
    for test in own:
        others = tuple(other for other in own if other is not test)
        if (others or given) and _count(schema, nodes, (*others, *given)) == 1:
            own = others
    return own


def _count(schema: WorldSchema, nodes: tuple[JoinNode, ...], tests: tuple[Test, ...]) -> int:
    compiled = compile_shape(Shape("single", nodes, (Term(0, "name"),), tests=tests), schema, ["name"])
    # Two are enough to know that a description is not unique.
    return len(schema.world.query(f"select 1 from ({compiled.sql}) limit 2", compiled.parameters))


def blurred(schema: WorldSchema, attribute: QuestionAttribute, value: JsonValue, stream: Stream) -> Test | None:
    """Return a condition that a value meets but that does not reveal it: its decade, a range around it, its category."""
    term = Term(0, attribute.name)
    if value is None:
        return None
    if attribute.kind == "date":
        decade = str(value)[:3]
        return Test(term, "between", (f"{decade}0-01-01", f"{decade}9-12-31"))
    if not attribute.numeric:
        return Test(term, "=", (value,))
    values = schema.present(attribute)
    place = bisect_left([float(str(other)) for other, _ in values], float(str(value)))
    width = max(2, round(stream.number(*_WIDTH) * len(values)))
    first = max(0, place - stream.integer(0, width))
    return around(term, values, first, min(len(values) - 1, first + width))
