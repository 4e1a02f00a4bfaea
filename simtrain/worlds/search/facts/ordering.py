"""The order in which facts are drawn: each after its bounds, and refs after the dates that they must fit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import TypeAlias, cast

from simtrain.files.yaml_files import Place
from simtrain.values.errors import InputError, nearest
from simtrain.worlds.search.spec.bounds import split_bound
from simtrain.worlds.search.spec.rules import Rule
from simtrain.worlds.search.spec.schema import Schema, Type
from simtrain.worlds.search.spec.world_file import AttributeSpec

Node: TypeAlias = tuple[str, str]
"""A type and one of its attributes. An empty attribute stands for the number of rows, and for the ends of a relation."""
# Dicts as ordered sets: among equals TopologicalSorter follows insertion, and the order of a set of strings changes by process.
_Edges: TypeAlias = dict[Node, dict[Node, None]]


@dataclass
class DrawOrder:
    """All types and attributes, each after its dependencies, and the rules that refs are chosen to fit."""

    nodes: list[Node]
    fitted: dict[Node, list[Rule]] = field(default_factory=dict[Node, "list[Rule]"])


def order_of(schema: Schema, rules: Sequence[Rule]) -> DrawOrder:
    """Return the order of drawing. Raises InputError for bounds that name no fact, and for a circle."""
    edges = _by_bounds(schema)
    order = DrawOrder([])
    bound = {node: tuple(before) for node, before in edges.items()}
    for rule in rules:
        _add(edges, bound, order, rule)
    try:
        order.nodes = list(TopologicalSorter(edges).static_order())
    except CycleError as error:
        circle = error.args[1]
        shown = " <- ".join(".".join(part for part in node if part) for node in circle)
        first = next(node for node in circle if node[1] or schema.types[node[0]].kind == "entity")
        found = schema.types[first[0]].attributes.get(first[1])
        place: Place = found.place if found else ("entities", first[0])
        raise schema.document.error(
            place, f"these depend on each other in a circle: {shown}", "cut one of them, or give a ref `at: now`"
        ) from None
    return order


def _by_bounds(schema: Schema) -> _Edges:
    """Return the dependencies that the bounds of attributes create."""
    edges: _Edges = {}

    def add(node: Node, *before: Node) -> None:
        edges.setdefault(node, {}).update(dict.fromkeys(before))

    for kind in schema.types.values():
        add((kind.name, ""))
        if kind.kind == "relation":
            spec = schema.spec.relations[kind.name]
            with schema.document.at(("relations", kind.name)):
                add((kind.name, ""), (schema.type(spec.from_).name, ""), (schema.type(spec.to).name, ""))
            for bound in spec.during or ():
                with schema.document.at(("relations", kind.name, "during")):
                    for name in ("since", "until"):
                        add((kind.name, name), *_reads(schema, kind, split_bound(bound)[0], "date"))
        for attribute in kind.attributes.values():
            add((kind.name, attribute.name), (kind.name, ""))
            given = attribute.spec
            if given is None:
                continue
            if given.each is not None:
                add((kind.name, ""), (schema.type(attribute.target or "").name, ""))
            for key, bound, wanted in _bounds(given):
                with schema.document.at((*attribute.place, *key)):
                    path = split_bound(bound)[0] if wanted == "date" else bound
                    add((kind.name, attribute.name), *_reads(schema, kind, path, wanted))
    return edges


def _add(edges: _Edges, bound: Mapping[Node, Sequence[Node]], order: DrawOrder, rule: Rule) -> None:
    """Add the dependencies between columns that one rule creates."""
    kind = rule.kind
    own = (kind.name, rule.attribute.name)
    steps = [(one.type, one.name) for one in rule.path]
    first, last = rule.path[0], steps[-1]
    ends = [one for one in kind.attributes.values() if one.kind == "ref" and one.spec is None and one.derived is None]
    # The two dates of a period are drawn at once.
    both = [(kind.name, name) for name in ("since", "until")] if rule.attribute.spec is None else [own]
    if kind.kind == "relation" and first in ends and len(steps) > 1 and rule.attribute.kind == "date":
        tied = {(kind.name, ""), *((kind.name, one.name) for one in ends)}
        edges[kind.name, ""].update(
            dict.fromkeys(node for node in (*bound[own], *steps[1:]) if node not in tied and node[0] != kind.name)
        )
    elif rule.ref is not None and not (rule.ref.spec and rule.ref.spec.each) and not _leads(edges, own, steps[0]):
        # The date at the other end is drawn after this one: both come first, and the ref is chosen to fit them.
        if _leads(edges, last, own):
            edges[steps[0]].update(dict.fromkeys((own, last)))
            order.fitted.setdefault(steps[0], []).append(rule)
            return
        # Else the ref is chosen while this date is open, so that a window remains for it, and the date is drawn inside.
        before = [
            node for node, fitted in order.fitted.items() if any(one.attribute is rule.attribute for one in fitted)
        ]
        edges[steps[0]].update(dict.fromkeys((*bound[own], *(one for one in before if one != steps[0]), last)))
        order.fitted.setdefault(steps[0], []).append(rule)
    for node in both:
        edges[node].update(dict.fromkeys(one for one in steps if one not in both))


def _leads(edges: _Edges, node: Node, other: Node) -> bool:
    """True if a fact depends on another one, directly or not, or is the same."""
    seen: set[Node] = set()
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one == other:
            return True
        if one not in seen:
            seen.add(one)
            waiting += edges.get(one, ())
    return False


def _bounds(spec: AttributeSpec) -> list[tuple[Place, str, str]]:
    """Return the place, text and kind of each bound of an attribute that is an expression."""
    found: list[tuple[Place, str, str]] = []
    for index, bound in enumerate(spec.date or ()):
        found.append((("date", index), bound, "date"))
    for key, bound in (("min", spec.min), ("max", spec.max), ("times", spec.times)):
        if isinstance(bound, str):
            found.append(((key,), bound, "number"))
    return found


def _reads(schema: Schema, kind: Type, path: str, wanted: str) -> list[Node]:
    """Return the attributes on a path. Raises InputError for one that does not exist, is derived, or is of another kind."""
    if wanted == "date" and (path == "now" or path[:1].isdigit()):
        return []
    found: list[Node] = []
    steps = path.split(".")
    for place, step in enumerate(steps):
        attribute = kind.attribute(step)
        if attribute.derived is not None:
            raise InputError(
                f"{kind.name}.{step} is derived, which is computed after all else", remedy="use another fact"
            )
        found.append((kind.name, step))
        if place < len(steps) - 1:
            if attribute.kind != "ref":
                raise InputError(
                    f"{kind.name}.{step} is not a ref: nothing follows it", remedy=nearest(step, kind.attributes)
                )
            kind = schema.types[cast(str, attribute.target)]
        elif (attribute.kind == "date") != (wanted == "date") or attribute.kind not in (
            "date",
            "number",
            "quantity",
            "money",
        ):
            raise InputError(f"{kind.name}.{step} is a {attribute.kind}, and a {wanted} is needed here")
    return found
