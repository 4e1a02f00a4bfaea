"""The facts of a search world: every column drawn in the order of what depends on what."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import cast

from simtrain.values.seeding import derive
from simtrain.worlds.search.facts import attributes
from simtrain.worlds.search.facts.attributes import Column, Value, ordinal
from simtrain.worlds.search.facts.names import Form, InventedWords, draw_aliases
from simtrain.worlds.search.facts.ordering import Node, order_of
from simtrain.worlds.search.facts.relations import Ties
from simtrain.worlds.search.facts.windows import Windows, broken
from simtrain.worlds.search.spec.rules import Rule, rules_of
from simtrain.worlds.search.spec.schema import Attribute, Schema, Type
from simtrain.worlds.search.spec.world_file import AttributeSpec


class Facts:
    """All columns of all types, and the aliases. Row `n` of a column is that of id `n + 1`."""

    def __init__(self, schema: Schema, *, seed: int, counts: Mapping[str, int], avoid: Sequence[str]) -> None:
        """Draw everything. Raises InputError, with the place, for counts, bounds and dependencies that cannot be."""
        self.schema = schema
        self.seed = seed
        self.today = ordinal(schema.today)
        self.sizes: dict[str, int] = {}
        self.columns: dict[Node, Column] = {}
        self._counts = counts
        self._forms: dict[str, Form] = {}
        self._taken: set[str] = set()
        rules = rules_of(schema)
        order = order_of(schema, rules)
        self._fitted = order.fitted
        self._windows = Windows(schema, rules, self.columns, self.sizes, today=self.today)
        self._ties = Ties(self._windows, self._draw)
        entities = [
            schema.types[kind] for kind, name in order.nodes if not name and schema.types[kind].kind == "entity"
        ]
        for kind in entities:
            self._count(kind)
        self._words = self._grow(avoid)
        for kind, name in order.nodes:
            if name:
                self._fill(schema.types[kind].attributes[name])
            elif schema.types[kind].kind == "relation":
                self._tie(schema.types[kind])
        names = {kind: cast(list[str], self.columns[kind, "name"]) for kind in self._forms}
        self.aliases = draw_aliases(schema, names, self._forms, self._words, seed=seed, taken=self._taken)

    def _draw(self, *names: str):
        # A stream for each column: a new attribute leaves the values of all others as they are.
        return Random(derive(self.seed, "facts", *names)).random

    def _count(self, kind: Type) -> None:
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
        with self.schema.document.at(("relations", kind.name)):
            first, second = self._ties.ends(kind)
        ends = self.schema.ends(kind.name)
        self.columns[kind.name, ends[0]], self.columns[kind.name, ends[1]] = first, second
        self.sizes[kind.name] = len(first)

    def _grow(self, avoid: Sequence[str]) -> InventedWords:
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
        words = InventedWords(self.schema.spec.flavours, seed=self.seed, avoid=avoid)
        # A word keeps similar ones out of every later pool. Sorted, the pools do not depend on the order of types in the file.
        for flavour in sorted(sizes):
            words.grow(flavour, sizes[flavour])
        return words

    def _fill(self, attribute: Attribute) -> None:
        node = (attribute.type, attribute.name)
        if node in self.columns or attribute.derived is not None:
            return
        with self.schema.document.at(attribute.place):
            if attribute.spec is None:
                since, until = self._ties.periods(self.schema.types[attribute.type])
                self.columns[attribute.type, "since"], self.columns[attribute.type, "until"] = since, until
                return
            column = self._drawn(attribute, attribute.spec)
            if attribute.spec.optional:
                # From a stream of its own: making an attribute optional changes none of the values that stay.
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
            return attributes.dates(*self._windows.dates(attribute, spec.date), draw)
        if spec.coordinates is not None:
            return attributes.places(*spec.coordinates, attribute.digits, count, draw)
        if spec.flag is not None:
            share = spec.flag
            return [int(draw() < share) for _ in range(count)]
        if spec.ref is not None:
            return self._refs(attribute, spec)
        low, high = self._windows.amounts(attribute, spec)
        times = self._windows.numbers(kind, spec.times)
        return attributes.numbers(spec, count, draw, low=low, high=high, times=cast("Sequence[float] | None", times))

    def _refs(self, attribute: Attribute, spec: AttributeSpec) -> Column:
        """Return the ids that rows refer to, drawn to satisfy the rules. Raises InputError, with row and rule, if no
        choice fits.
        """
        node = (attribute.type, attribute.name)
        rules = self._fitted.get(node, [])
        count, target = self.sizes[attribute.type], self.sizes[cast(str, spec.ref)]
        fits, latest = self._windows.fits(rules) if rules else (None, [])
        column = attributes.refs(
            count, target, self._draw(*node), skew=spec.skew, unique=spec.unique, fits=fits, latest=latest
        )
        lost = next((row for row, value in enumerate(column, 1) if value is None), None)
        if lost is not None and not spec.optional:
            rule = (
                rules[0]
                if len(rules) == 1
                else next((one for one in rules if not self._possible(one, lost, target)), rules[0])
            )
            raise broken(rule, lost, f"no row of {spec.ref} fits")
        if spec.covers:
            attributes.cover(column, target, self._draw(*node, "covers"), fits=fits)
        return column

    def _possible(self, rule: Rule, row: int, target: int) -> bool:
        fits, _ = self._windows.fits([rule])
        return any(fits(row - 1, other) for other in range(1, target + 1))


def value_rows(facts: Facts, kind: Type) -> list[tuple[Value, ...]]:
    """Return the rows of a type, id first, the columns in the order of its attributes; derived ones are left out."""
    drawn = [facts.columns[kind.name, one.name] for one in kind.attributes.values() if one.derived is None]
    return list(zip(range(1, facts.sizes[kind.name] + 1), *drawn, strict=True))
