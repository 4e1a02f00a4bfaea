"""Helpers for reading Jinja's syntax tree: paths, constants, filters, and the loops that a row allows."""

from collections.abc import Sequence

from jinja2 import nodes

from simtrain.values.errors import InputError
from simtrain.values.types import JsonValue
from simtrain.worlds.search.pages.formats import Filter
from simtrain.worlds.search.pages.tree import Both, Compared, Corrected, Has, Test
from simtrain.worlds.search.spec.schema import Attribute, Schema, Type


def reverse(schema: Schema, kind: Type) -> dict[str, tuple[Type, Attribute]]:
    """Return the loops over a row by name: the plural of each type that refers to it, with `_by_REF` if several of its refs do."""
    found: dict[str, tuple[Type, Attribute]] = {}
    for other in schema.types.values():
        refs = [one for one in other.attributes.values() if one.kind == "ref" and one.target == kind.name]
        for one in refs:
            found[f"{other.plural}_by_{one.name}"] = (other, one)
        if len(refs) == 1:
            found[other.plural] = (other, refs[0])
    return found


def shown(test: Test) -> frozenset[str]:
    """Return the facts that must exist if a test holds, with every step of the paths to them."""
    if isinstance(test, Both):
        # Of `or`, neither side is known to hold.
        return shown(test.first) | shown(test.second) if test.word == "and" else frozenset()
    if isinstance(test, Has | Compared | Corrected):
        fact = test.fact
        refs = [one.name for one in fact.path.refs]
        words = [fact.path.root, *refs, fact.alias or fact.attribute.name]
        return frozenset(".".join(words[: end + 1]) for end in range(1, len(words)))
    return frozenset()


def steps_of(node: nodes.Node) -> list[str]:
    steps: list[str] = []
    while isinstance(node, nodes.Getattr):
        steps.insert(0, node.attr)
        node = node.node
    if not isinstance(node, nodes.Name):
        raise InputError("a template can only name facts, by paths such as station.sector.opened; it cannot compute")
    return [node.name, *steps]


def constant(node: nodes.Expr) -> JsonValue:
    if not isinstance(node, nodes.Const):
        raise InputError("the arguments of a filter must be constants")
    return node.value


def take(filters: list[Filter], name: str) -> Sequence[JsonValue] | None:
    """Remove a filter from the list and return its arguments; None if it is not there."""
    found = next((one for one in filters if one[0] == name), None)
    if found is not None:
        filters.remove(found)
        return found[1]
    return None
