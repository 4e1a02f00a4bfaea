"""Widening: adds columns to a shape, from its rows and referenced rows, without adding hops."""

from collections.abc import Iterator
from dataclasses import replace

from simtrain.questions.composing import SHOWN, Composer
from simtrain.questions.shapes import DrawRefused, GroupMeasure, JoinNode, Shape, Term
from simtrain.values.seeding import Stream


def widened(shape: Shape, composer: Composer, stream: Stream) -> Shape:
    """Return the shape with a number of columns drawn from the bounds.

    Raises DrawRefused if it has too many already or cannot have enough.
    """
    bounds = composer.bounds.columns
    if bounds is None or shape.described is not None:
        return shape
    present = len(shape.columns) + 2 * (shape.dispute is not None)
    low, high = max(bounds[0], present), bounds[1]
    if present > high:
        raise DrawRefused
    grown = _grown(shape, composer)
    fixed = {test.term for test in shape.tests if test.operator == "="}
    choices = [column for column in _choices(grown, composer) if column not in grown.columns and column not in fixed]
    wanted = stream.integer(low, high) - present
    if len(choices) < low - present:
        raise DrawRefused
    chosen = stream.sample(choices, wanted)
    return _trimmed(replace(grown, columns=(*grown.columns, *chosen)), kept=len(shape.nodes))


def _grown(shape: Shape, composer: Composer) -> Shape:
    """Return the shape with a node for every reference within its present number of hops."""
    nodes, place = list(shape.nodes), 0
    while place < len(nodes):
        at = replace(shape, nodes=tuple(nodes))
        inside = shape.group is None or shape.group in at.places(place)
        if inside and at.depth(place) < shape.hops:
            taken = {node.ref for node in nodes if node.parent == place}
            above = {nodes[one].table for one in at.places(place)}
            nodes += [
                JoinNode(ref.target, place, ref.name)
                for ref in composer.schema.tables[nodes[place].table].refs
                if ref.target and ref.name not in taken and ref.target not in above
            ]
        place += 1
    return replace(shape, nodes=tuple(nodes))


def _choices(shape: Shape, composer: Composer) -> Iterator[Term | GroupMeasure]:
    """Yield candidates for further columns; for groups, attributes of the group and figures over its rows."""
    for place, node in enumerate(shape.nodes):
        if shape.group is None or shape.group in shape.places(place):
            for attribute in composer.schema.tables[node.table].attributes.values():
                if attribute.kind in SHOWN or (attribute.kind == "name" and place):
                    yield Term(place, attribute.name)
    if shape.group is not None:
        for attribute in composer.additive(composer.schema.tables[shape.subject]):
            yield GroupMeasure("sum", Term(0, attribute.name))
            yield GroupMeasure("mean", Term(0, attribute.name))


def _trimmed(shape: Shape, *, kept: int) -> Shape:
    """Return the shape without unused nodes after the first `kept` ones."""
    used = {column.node if isinstance(column, Term) else column.term.node for column in shape.columns}
    needed = set(range(kept)) | {one for node in used for one in shape.places(node)}
    return shape.with_nodes(needed)
