"""The facts of a search world: every column drawn in the order of what depends on what."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache
from graphlib import CycleError, TopologicalSorter
from random import Random
from typing import TypeAlias, cast

from simtrain.clock import instant, stamp
from simtrain.documents import Place
from simtrain.errors import InputError, nearest
from simtrain.seeding import derive
from simtrain.worlds.search import attributes
from simtrain.worlds.search.aliases import draw_aliases
from simtrain.worlds.search.attributes import Bounds, Column, Value
from simtrain.worlds.search.names import Form, Words
from simtrain.worlds.search.schema import Attribute, Schema, Type
from simtrain.worlds.search.spec import AttributeSpec
from simtrain.worlds.search.spec_parts import days

Node: TypeAlias = tuple[str, str]
"""A type and one of its attributes; an empty attribute stands for how many rows the type has."""

_BOUND = re.compile(r"([a-z_][a-z0-9_.]*)(?:\s*([+-])\s*(\S+))?")


class Facts:
    """All columns of all types, and the aliases. Row `n` of a column is that of id `n + 1`."""

    def __init__(self, schema: Schema, *, seed: int, counts: Mapping[str, int], avoid: Sequence[str]) -> None:
        """Draw everything. Raises InputError, with the place, for counts, bounds and dependencies that cannot be."""
        self.schema = schema
        self.seed = seed
        self.today = date.fromisoformat(stamp(instant(schema.spec.clock.start))[:10]).toordinal()
        self.sizes: dict[str, int] = {}
        self.columns: dict[Node, Column] = {}
        self._counts = counts
        self._forms: dict[str, Form] = {}
        self._taken: set[str] = set()
        order = _order(schema)
        for node in order:
            if not node[1]:
                self._count(schema.types[node[0]])
        self._words = self._grow(avoid)
        for kind, name in order:
            if name:
                self._fill(schema.types[kind].attributes[name])
        names = {kind: cast(list[str], self.columns[kind, "name"]) for kind in self._forms}
        self.aliases = draw_aliases(schema, names, self._forms, self._words, seed=seed, taken=self._taken)

    def _draw(self, *names: str):
        return Random(derive(self.seed, "facts", *names)).random

    def _count(self, kind: Type) -> None:
        if kind.kind == "relation":
            self._tie(kind)
            return
        parent = next((one for one in kind.attributes.values() if one.spec and one.spec.each), None)
        if parent is None or parent.spec is None or parent.spec.each is None:
            self.sizes[kind.name] = self._counts[kind.name]
            return
        low, high = parent.spec.each
        draw = self._draw(kind.name, "each")
        owners = range(1, self.sizes[cast(str, parent.target)] + 1)
        column: Column = [owner for owner in owners for _ in range(low + int(draw() * (high - low + 1)))]
        if not column:
            raise self.schema.document.error(parent.place, f"there is no row of {kind.name}", "raise `each`")
        self.columns[kind.name, parent.name] = column
        self.sizes[kind.name] = len(column)

    def _tie(self, kind: Type) -> None:
        """The two ends of a relation, row by row of its first type."""
        spec = self.schema.spec.relations[kind.name]
        low, high = spec.each
        source, target = self.sizes[spec.from_], self.sizes[spec.to]
        itself = spec.from_ == spec.to
        draw = self._draw(kind.name, "ends")
        most = target - 1 if itself else target
        first: Column = []
        second: Column = []
        for row in range(1, source + 1):
            count = low + int(draw() * (high - low + 1))
            chosen: list[int] = []
            for _ in range(min(count, most) if spec.distinct or not most else count):
                other = 1 + int(draw() * target)
                while (spec.distinct and other in chosen) or (itself and other == row):
                    other = other % target + 1
                chosen.append(other)
            first += [row] * len(chosen)
            second += chosen
        ends = self.schema.ends(kind.name)
        self.columns[kind.name, ends[0]], self.columns[kind.name, ends[1]] = first, second
        self.sizes[kind.name] = len(first)

    def _grow(self, avoid: Sequence[str]) -> Words:
        sizes: dict[str, int] = {}
        for kind in self.schema.types.values():
            if kind.kind != "entity":
                continue
            name = kind.attributes["name"]
            with self.schema.document.at((*name.place, "name")):
                self._forms[kind.name] = form = Form(
                    cast(AttributeSpec, name.spec).name or "", self.schema.spec.flavours
                )
            for slot in form.slots:
                sizes[slot] = max(sizes.get(slot, 0), 2 * self.sizes[kind.name])
        words = Words(self.schema.spec.flavours, seed=self.seed, avoid=avoid)
        for flavour in sorted(sizes):
            words.grow(flavour, sizes[flavour])
        return words

    def _fill(self, attribute: Attribute) -> None:
        node = (attribute.type, attribute.name)
        if node in self.columns or attribute.derived is not None:
            return
        with self.schema.document.at(attribute.place):
            if attribute.spec is None:
                self._fill_periods(attribute.type)
                return
            column = self._drawn(attribute, attribute.spec)
            if attribute.spec.optional:
                column = attributes.thinned(column, attribute.spec.optional, derive(self.seed, "missing", *node))
            self.columns[node] = column

    def _drawn(self, attribute: Attribute, spec: AttributeSpec) -> Column:
        kind, count = attribute.type, self.sizes[attribute.type]
        draw = self._draw(kind, attribute.name)
        if spec.name is not None:
            seed = derive(self.seed, "names", kind)
            return [*self._forms[kind].make(count, self._words, seed=seed, taken=self._taken)]
        if spec.text is not None:
            return attributes.choices(spec.text, None, count, draw)
        if spec.code is not None:
            return attributes.codes(spec.code, count, draw)
        if spec.category is not None:
            return attributes.choices(spec.category, spec.weights, count, draw)
        if spec.date is not None:
            low, high = (self._days(kind, bound) for bound in spec.date)
            return attributes.dates(low, high, draw)
        if spec.coordinates is not None:
            return attributes.places(*spec.coordinates, attribute.digits, count, draw)
        if spec.flag is not None:
            share = spec.flag
            return [int(draw() < share) for _ in range(count)]
        if spec.ref is not None:
            return attributes.refs(count, self.sizes[spec.ref], draw, skew=spec.skew, unique=spec.unique)
        low, high = self._numbers(kind, spec.min), self._numbers(kind, spec.max)
        times = self._numbers(kind, spec.times)
        return attributes.numbers(spec, count, draw, low=low, high=high, times=cast("Sequence[float] | None", times))

    def _fill_periods(self, relation: str) -> None:
        """`since` and `until`: the rows of one owner follow each other; the last may still go on."""
        spec = self.schema.spec.relations[relation]
        low, high = (self._days(relation, bound) for bound in cast(tuple[str, str], spec.during))
        owners = self.columns[relation, self.schema.ends(relation)[0]]
        draw = self._draw(relation, "periods")
        since: Column = []
        until: Column = []
        start = 0
        while start < len(owners):
            end = start
            while end < len(owners) and owners[end] == owners[start]:
                end += 1
            count = end - start
            first, last = max(low[start:end]), min(high[start:end])
            if last - first < 2 * count:
                raise InputError(
                    f"no room for {count} periods between {attributes.iso(first)} and {attributes.iso(last)}",
                    remedy="widen `during`",
                )
            cuts = sorted(first + int(draw() * (last - first - count)) for _ in range(count + 1))
            cuts = [cut + place for place, cut in enumerate(cuts)]
            for place in range(count):
                goes_on = place == count - 1 and draw() < spec.open
                since.append(attributes.iso(cuts[place]))
                until.append(None if goes_on else attributes.iso(cuts[place + 1]))
            start = end
        self.columns[relation, "since"], self.columns[relation, "until"] = since, until

    def _path(self, kind: str, path: str) -> Column:
        """The values at the end of a path of refs, for each row of a type."""
        steps = path.split(".")
        column = self.columns[kind, steps[0]]
        for place, step in enumerate(steps[1:]):
            kind = cast(str, self.schema.types[kind].attributes[steps[place]].target)
            target = self.columns[kind, step]
            column = [None if row is None else target[cast(int, row) - 1] for row in column]
        return column

    def _days(self, kind: str, bound: str) -> list[int]:
        base, shift = split_bound(bound)
        if base == "now" or base[:1].isdigit():
            day = self.today if base == "now" else attributes.ordinal(base)
            return [day + shift] * self.sizes[kind]
        return [
            self.today if value is None else attributes.ordinal(str(value)) + shift for value in self._path(kind, base)
        ]

    def _numbers(self, kind: str, bound: float | str | None) -> Bounds:
        if not isinstance(bound, str):
            return bound
        return [0.0 if value is None else float(value) for value in self._path(kind, bound)]


@cache
def split_bound(bound: str) -> tuple[str, int]:
    """The path, `now` or date of a bound, and the days to add: `station.opened+30d`. Raises InputError."""
    try:
        return date.fromisoformat(bound).isoformat(), 0
    except ValueError:
        found = _BOUND.fullmatch(bound)
    if found is None:
        raise InputError(f"{bound!r} is no bound", remedy="write it like 2140-01-31, now-5y or station.opened+30d")
    shift = days(found[3]) if found[3] else 0
    return found[1], -shift if found[2] == "-" else shift


def _order(schema: Schema) -> list[Node]:
    """Every type and attribute after what it depends on. Raises InputError for a circle."""
    graph: TopologicalSorter[Node] = TopologicalSorter()
    for kind in schema.types.values():
        graph.add((kind.name, ""))
        if kind.kind == "relation":
            spec = schema.spec.relations[kind.name]
            with schema.document.at(("relations", kind.name)):
                graph.add((kind.name, ""), (schema.type(spec.from_).name, ""), (schema.type(spec.to).name, ""))
            for bound in spec.during or ():
                with schema.document.at(("relations", kind.name, "during")):
                    for name in ("since", "until"):
                        graph.add((kind.name, name), *_reads(schema, kind, split_bound(bound)[0], "date"))
        for attribute in kind.attributes.values():
            graph.add((kind.name, attribute.name), (kind.name, ""))
            given = attribute.spec
            if given is None:
                continue
            if given.each is not None:
                graph.add((kind.name, ""), (schema.type(attribute.target or "").name, ""))
            for key, bound, wanted in _bounds(given):
                with schema.document.at((*attribute.place, *key)):
                    path = split_bound(bound)[0] if wanted == "date" else bound
                    for node in _reads(schema, kind, path, wanted):
                        graph.add((kind.name, attribute.name), node)
    try:
        return list(graph.static_order())
    except CycleError as error:
        circle = cast(list[Node], error.args[1])
        shown = " <- ".join(".".join(part for part in node if part) for node in circle)
        first = next(node for node in circle if node[1] or schema.types[node[0]].kind == "entity")
        found = schema.types[first[0]].attributes.get(first[1])
        place: Place = found.place if found else ("entities", first[0])
        raise schema.document.error(
            place, f"these depend on each other in a circle: {shown}", "cut one of them"
        ) from None


def _bounds(spec: AttributeSpec) -> list[tuple[Place, str, str]]:
    """The places, texts and kinds of what an attribute is bound by."""
    found: list[tuple[Place, str, str]] = []
    for index, bound in enumerate(spec.date or ()):
        found.append((("date", index), bound, "date"))
    for key, bound in (("min", spec.min), ("max", spec.max), ("times", spec.times)):
        if isinstance(bound, str):
            found.append(((key,), bound, "number"))
    return found


def _reads(schema: Schema, kind: Type, path: str, wanted: str) -> list[Node]:
    """The attributes that a path goes through. Raises InputError for one that is not there, is derived, or is of another kind."""
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
                    f"{kind.name}.{step} is no ref: nothing follows it", remedy=nearest(step, kind.attributes)
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


def value_rows(facts: Facts, kind: Type) -> list[tuple[Value, ...]]:
    """The rows of a type, id first, the columns in the order of its attributes; derived ones are left out."""
    drawn = [facts.columns[kind.name, one.name] for one in kind.attributes.values() if one.derived is None]
    return list(zip(range(1, facts.sizes[kind.name] + 1), *drawn, strict=True))
