"""Identifying a thing without its name: by conditions, blurred to decades and ranges, that nothing else of its kind meets."""

from bisect import bisect_left
from typing import Final

from simtrain.questions.conditions import TESTED, around
from simtrain.questions.schema import QuestionAttribute, WorldSchema
from simtrain.questions.shapes import DrawRefused, JoinNode, Shape, Term, Test
from simtrain.questions.sql import compile_shape
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonValue

MOST_TESTS: Final = 4
"""Most conditions on a thing; one that others still resemble is given up."""

_WIDTH: Final = (0.12, 0.4)
"""The shares of all rows among which a range hides a value."""


def described(schema: WorldSchema, nodes: tuple[JoinNode, ...], stream: Stream) -> Shape:
    """Return a row of the subject, identified by conditions on itself and on the far end of the walk.

    Nothing else meets the conditions on the far end, and no other row meets all conditions together: the world's SQL has counted.
    Without any of them, another row would do. Raises DrawRefused where no such conditions are found.
    """
    ids = _ids(schema, nodes, stream)
    far = len(nodes) - 1
    end = _identified(schema, (JoinNode(nodes[-1].table),), ids[-1], (), stream)
    beyond = tuple(Test(Term(far, test.term.attribute), test.operator, test.values) for test in end)
    own = _identified(schema, nodes, ids[0], beyond, stream)
    if _count(schema, nodes, own) == 1:
        raise DrawRefused
    return Shape("single", nodes, (Term(0, "name"),), tests=(*own, *beyond), described=far)


def _ids(schema: WorldSchema, nodes: tuple[JoinNode, ...], stream: Stream) -> list[int]:
    """Return the ids along the walk from a row drawn by chance. Raises DrawRefused where its references lead nowhere."""
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
    """Return conditions on the subject's own attributes that, with the given ones, only this row meets; each of them is needed."""
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
    """Return the conditions without those that later ones made needless."""
    for test in own:
        others = tuple(other for other in own if other is not test)
        if (others or given) and _count(schema, nodes, (*others, *given)) == 1:
            own = others
    return own


def _count(schema: WorldSchema, nodes: tuple[JoinNode, ...], tests: tuple[Test, ...]) -> int:
    compiled = compile_shape(Shape("single", nodes, (Term(0, "name"),), tests=tests), schema, ["name"])
    return len(schema.world.query(f"select 1 from ({compiled.sql}) limit 2", compiled.parameters))


def blurred(schema: WorldSchema, attribute: QuestionAttribute, value: JsonValue, stream: Stream) -> Test | None:
    """Return a condition that a value meets without being given away: its decade, a range around it, its category."""
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
