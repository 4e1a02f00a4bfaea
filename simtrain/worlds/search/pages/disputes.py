"""The errors of sites that are kept: those that a reader can recognise by a rule stated on pages."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import chain
from typing import NamedTuple

from simtrain.worlds.search.pages.coverage import NEVER, Coverage
from simtrain.worlds.search.pages.design import Design, SiteDesign
from simtrain.worlds.search.pages.knowledge import Claim
from simtrain.worlds.search.pages.layout import Layout
from simtrain.worlds.search.spec.schema import Attribute


class Ruling(NamedTuple):
    """The rule that settles a fact: recency, majority, erratum, or primary with the site that is the source."""

    name: str
    site: int = 0


class Disputes:
    """Settles the wrong claims of sites. Without rules in the world file every drawn claim stays."""

    def __init__(self, design: Design, layout: Layout) -> None:
        self._design = design
        self._layout = layout
        self._attributes = {one.id: one for one in design.schema.all_attributes()}
        self._coverage = {site.id: Coverage(site, layout) for site in design.sites}
        self._latest_day = cache(self._latest_day_of)

    def age(self, site: SiteDesign, attribute: Attribute) -> Sequence[int] | None:
        """Return, by row id, the age in days of a site's statement: under `recency` that of its pages, else the site's lag; None if 0."""
        rule = self._rules.get(attribute.id)
        if rule is not None and rule.name == "recency":
            return [self._layout.today - day if day != NEVER else 0 for day in self._latest_day(site.id, attribute.id)]
        return [site.lag] * (self._layout.columns.size(attribute.type) + 1) if site.lag else None

    def settled(self, drawn: Sequence[Claim]) -> list[Claim]:
        """Return the claims that stay, in order: all whose fact is under a rule that yields the truth despite them."""
        if self._design.schema.spec.disputes is None:
            return list(drawn)
        about: dict[int, dict[int, dict[int, int]]] = {}
        kept: set[int] = set()
        for place, (_, attribute, row, value, _, site, _, _) in enumerate(drawn):
            if value is None:
                # A site leaves out what it does not know of yet, so no two pages contradict each other there.
                kept.add(place)
            elif attribute in self._rules:
                about.setdefault(attribute, {}).setdefault(row, {})[site] = place
        for attribute, facts in about.items():
            kept.update(self._decided(attribute, facts))
        return [claim for place, claim in enumerate(drawn) if place in kept]

    def _decided(self, attribute: int, facts: Mapping[int, Mapping[int, int]]) -> Iterator[int]:
        """Yield the indices of the claims on one attribute that stay; `facts` holds these indices by row and site."""
        rule, site_of_rule = self._rules[attribute]
        latest = {site: self._latest_day(site, attribute) for site in {*chain.from_iterable(facts.values())}}
        surely = [(site, one.surely(self._attributes[attribute])) for site, one in self._coverage.items()]
        for row, claims in facts.items():
            claimed = {site: place for site, place in claims.items() if latest[site][row] != NEVER}
            right = {site: days[row] for site, days in surely if row in days and site not in claimed}
            match rule:
                case "primary":
                    if site_of_rule in right:
                        yield from (place for site, place in claimed.items() if site != site_of_rule)
                case "recency":
                    last = max(right.values(), default=NEVER)
                    yield from (place for site, place in claimed.items() if latest[site][row] < last)
                case "majority":
                    # So few that the sites that are right stay in the majority.
                    yield from list(claimed.values())[: max(0, len(right) - 1)]
                case _:
                    yield from (place for site, place in claimed.items() if attribute in self._corrected[site])

    def _latest_day_of(self, site: int, attribute: int) -> Sequence[int]:
        return self._coverage[site].latest(self._attributes[attribute])

    @cached_property
    def _rules(self) -> dict[int, Ruling]:
        """Attribute -> its rule."""
        spec = self._design.schema.spec.disputes
        if spec is None:
            return {}
        numbers = {site.name: site.id for site in self._design.sites}
        named = [
            (Ruling("recency"), spec.recency),
            (Ruling("majority"), spec.majority),
            (Ruling("erratum"), spec.erratum),
        ]
        named += [(Ruling("primary", numbers[site]), paths) for site, paths in spec.primary.items()]
        return {self._design.schema.fact(path).id: rule for rule, paths in named for path in paths}

    @cached_property
    def _corrected(self) -> dict[int, frozenset[int]]:
        """Site -> the attributes that its pages of corrections correct."""
        return {
            site.id: frozenset(fact for page in site.pages if page.spec.corrections for fact in page.corrected)
            for site in self._design.sites
        }
