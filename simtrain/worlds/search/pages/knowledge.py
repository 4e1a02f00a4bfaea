"""A site's beliefs: the truth, except for outdated and mistaken values, each recorded as a claim."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from random import Random
from typing import cast

from simtrain.values.seeding import derive
from simtrain.worlds.search.facts.attributes import Draw, Value, iso
from simtrain.worlds.search.facts.columns import Columns
from simtrain.worlds.search.pages.design import SiteDesign
from simtrain.worlds.search.pages.falsehoods import Falsehoods
from simtrain.worlds.search.spec.rules import Rule
from simtrain.worlds.search.spec.schema import NUMERIC, Attribute

Claim = tuple[int, int, int, Value, str, int, str | None, str | None]
"""A row of `_claims`."""

Age = Callable[[SiteDesign, Attribute], Sequence[int] | None]
"""Returns, by row id, the age in days of a site's statement of a fact; None if all are of today."""

_MISTAKABLE = NUMERIC | {"date", "category", "ref"}


class Beliefs(Columns):
    """The facts as one site knows them: columns with the site's own values where they differ, and the claims behind these."""

    def __init__(self, columns: Columns, claims: Sequence[Claim]) -> None:
        super().__init__(columns.connection, columns.types)
        self._true = columns
        self.claims: dict[int, dict[int, int]] = {}
        """The claim on each row, by attribute."""
        self._values: dict[int, list[tuple[int, Value]]] = {}
        for claim, attribute, row, value, *_ in claims:
            self.claims.setdefault(attribute, {})[row] = claim
            self._values.setdefault(attribute, []).append((row, value))

    def _column(self, attribute: Attribute) -> list[Value]:
        if attribute.id not in self._values:
            return self._true.column(attribute)
        values = [*self._true.column(attribute)]
        for row, value in self._values[attribute.id]:
            values[row] = value
        return values


class Chronicler:
    """Draws the claims of every site, in a fixed order, so that every build draws the same."""

    def __init__(self, columns: Columns, *, seed: int, today: int, age: Age, rules: Sequence[Rule] = ()) -> None:
        """`age` returns the age of a site's statements, in days."""
        self._columns = columns
        self._rules = rules
        self._seed = seed
        self._today = today
        self._age = age
        self._falsehoods = cache(self._falsehoods_of)

    def claims(self, site: SiteDesign, stated: Iterable[Attribute], fixed: frozenset[int]) -> list[Claim]:
        """Return the wrong claims of a site on the attributes that its pages state, not yet numbered.

        Attributes in `fixed` decide which pages there are, so they stay true.
        """
        claims: list[Claim] = []
        # Claims are numbered in this order, which a set does not have.
        for attribute in sorted(set(stated), key=lambda one: one.id):
            if attribute.type.startswith("_") or attribute.kind == "name":
                continue
            if attribute.kind == "date" and attribute.optional and attribute.changes is None and site.lag:
                claims += self._not_yet(site, attribute)
            elif attribute.id not in fixed and (attribute.spec or attribute.derived):
                claims += self._drawn(site, attribute)
        return claims

    def _not_yet(self, site: SiteDesign, attribute: Attribute) -> list[Claim]:
        """Return claims that hide events after the last day the site knows of: dates are missing, and periods go on."""
        known = iso(self._today - site.lag)
        ends = cast(list[str | None], self._columns.column(attribute))
        reason = f"outdated: the site is {site.lag} days behind"
        return [
            (0, attribute.id, row, None, reason, site.id, None, end)
            for row, end in enumerate(ends)
            if end is not None and end > known
        ]

    def _drawn(self, site: SiteDesign, attribute: Attribute) -> list[Claim]:
        ages = self._age(site, attribute) if attribute.changes else None
        wrong = 1.0 - site.spec.reliability if attribute.kind in _MISTAKABLE else 0.0
        if ages is None and wrong <= 0:
            return []
        column, falsehoods = self._columns.column(attribute), self._falsehoods(attribute)
        draw = Random(derive(self._seed, "claims", site.name, attribute.type, attribute.name)).random
        found: list[Claim] = []
        missing, changes = 0 if attribute.kind == "ref" else None, attribute.changes
        for row in range(1, len(column)):
            # One draw for every row, also where nothing can be wrong: the claims on other rows must not depend on it.
            mark, age = draw(), ages[row] if ages else 0
            stale = (age / changes if age < changes else 1.0) if age and changes else 0.0
            if mark >= stale + wrong or column[row] == missing:
                continue
            if mark < stale:
                found += self._outdated(site, age, attribute, row, falsehoods.former(row, draw), draw)
            else:
                found += self._mistaken(site, attribute, row, falsehoods, draw)
        return found

    def _falsehoods_of(self, attribute: Attribute) -> Falsehoods:
        kind = self._columns.types[attribute.type]
        return Falsehoods(attribute, kind, self._columns, today=self._today, rules=self._rules)

    def _outdated(
        self, site: SiteDesign, age: int, attribute: Attribute, row: int, former: Value, draw: Draw
    ) -> list[Claim]:
        if former is None:
            return []
        changed = self._today - int(draw() * age)
        since = changed - 1 - int(draw() * cast(int, attribute.changes))
        reason = f"outdated: the site is {age} days behind"
        return [(0, attribute.id, row, former, reason, site.id, iso(since), iso(changed))]

    def _mistaken(
        self, site: SiteDesign, attribute: Attribute, row: int, falsehoods: Falsehoods, draw: Draw
    ) -> list[Claim]:
        slips = (attribute.kind == "date" or attribute.kind in NUMERIC) and draw() < 0.5
        taken = falsehoods.slip(row, draw) if slips else falsehoods.of_another(row, draw)
        if taken is None:
            return []
        reason = "mistaken: a slip of the pen" if slips else "mistaken: taken from another row"
        return [(0, attribute.id, row, taken, reason, site.id, None, None)]
