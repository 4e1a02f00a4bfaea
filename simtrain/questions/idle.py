"""Removes idle conditions: without them the gold table is the same, so they ask for nothing and their hops do not count."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from simtrain.questions.schema import WorldSchema
from simtrain.questions.shapes import DrawRefused, GroupMeasure, Shape
from simtrain.questions.sql import compile_shape


def without_idle(shape: Shape, schema: WorldSchema, columns: Sequence[str]) -> Shape:
    """Return the shape without idle conditions, and without the nodes that are unused then.

    Raises DrawRefused if an idle condition makes the question's kind or cannot be left out in words.
    """
    gold, given = _gold(shape, schema, columns), shape
    while True:
        idle = next((less for less in _weaker(shape) if _gold(less, schema, columns, most=len(gold)) == gold), None)
        if idle is None:
            return given if shape is given else pruned(shape)
        if not _still(idle, given):
            raise DrawRefused("a condition changes nothing")
        # One at a time: of two conditions that imply each other, only one is idle.
        shape = idle


def _weaker(shape: Shape) -> Iterator[Shape]:
    """Yield the shape without each of its conditions in turn."""
    for place, _ in enumerate(shape.tests):
        yield replace(shape, tests=(*shape.tests[:place], *shape.tests[place + 1 :]))
    for place, item in enumerate(shape.exists):
        before, after = shape.exists[:place], shape.exists[place + 1 :]
        yield replace(shape, exists=(*before, *after))
        if item.current and not item.negated:
            yield replace(shape, exists=(*before, replace(item, current=False), *after))
        # Without its test, a negated condition would be stronger, and not weaker.
        if item.test is not None and not item.negated:
            yield replace(shape, exists=(*before, replace(item, test=None, path=()), *after))


def _still(shape: Shape, given: Shape) -> bool:
    """Return True if a shape is still of the kind that was drawn."""
    if [(item.table, item.test) for item in shape.exists] != [(item.table, item.test) for item in given.exists]:
        return False
    compared = [sum(test.other is not None for test in one.tests) for one in (shape, given)]
    chosen = shape.group is not None or shape.extreme is not None or shape.dispute is not None
    return compared[0] == compared[1] and (chosen or bool(shape.tests or shape.exists))


def _gold(shape: Shape, schema: WorldSchema, columns: Sequence[str], *, most: int | None = None) -> list[str]:
    """Return the rows of a shape, sorted; with `most`, at most one more than that."""
    compiled = compile_shape(shape, schema, columns)
    limit = "" if most is None else f" limit {most + 1}"
    return sorted(map(repr, schema.world.query(f"select * from ({compiled.sql}){limit}", compiled.parameters)))


def pruned(shape: Shape) -> Shape:
    """Return the shape with only the nodes that something uses, and those on the way to them."""
    terms = [column.term if isinstance(column, GroupMeasure) else column for column in shape.columns]
    wanted = [*(term.node for term in terms), *shape.deciding]
    wanted += [] if shape.described is None else [shape.described]
    kept = {0}.union(*map(shape.places, wanted))
    return shape.with_nodes(kept) if len(kept) < len(shape.nodes) else shape
