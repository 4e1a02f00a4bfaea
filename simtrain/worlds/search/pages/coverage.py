"""The facts that a site's pages state about each row, as known from templates and layout before any page is written."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Final

from simtrain.worlds.search.pages.design import PageDesign, SiteDesign
from simtrain.worlds.search.pages.layout import Layout
from simtrain.worlds.search.pages.tree import Branch, Choice, FactPart, Has, LoopPart, Node, walk
from simtrain.worlds.search.spec.schema import Attribute

NEVER: Final = 0
"""The day given for a fact that a site never states."""
_EXACT: Final = frozenset(
    {"long", "us", "short", "iso", "dotted", "plain", "bare", "lower", "upper", "capitalize", "hemispheres"}
)
"""Filters that keep a value exact."""


class Coverage:
    """The pages of one site: the day on which it certainly states a fact, and the last day on which it may."""

    def __init__(self, site: SiteDesign, layout: Layout) -> None:
        self._site = site
        self._layout = layout
        self._pages = [page for page in site.pages if not page.spec.corrections]
        self._days = cache(layout.days)
        self._first: dict[tuple[int, ...], dict[int, int]] = {}
        self._last: dict[tuple[str, tuple[int, ...]], list[int]] = {}

    def surely(self, attribute: Attribute) -> Mapping[int, int]:
        """Return row -> day. The last page that states the value in full is no older than that, whichever wordings are drawn."""
        # A copy of another site's page is no second witness.
        pages = [page for page in self._stating(attribute, self._sure) if not page.copied]
        key = tuple(page.index for page in pages)
        if key not in self._first:
            found = self._first[key] = {}
            for page in pages:
                for row, day, _ in self._dated(page):
                    found[row] = max(day, found.get(row, NEVER))
        return self._first[key]

    def latest(self, attribute: Attribute) -> Sequence[int]:
        """Return, by row id, the last day on which a page of the site may state the value; NEVER if none does."""
        size = self._layout.columns.size(attribute.type) + 1
        # Pages of other rows may state it, up to the last day that the site knows of.
        if attribute.id in self._elsewhere:
            return [self._layout.today - self._site.lag] * size
        pages = self._stating(attribute, self._stated_by_kind)
        # By pages: attributes that the same pages state share one table.
        key = attribute.type, tuple(page.index for page in pages)
        if key not in self._last:
            found = self._last[key] = [NEVER] * size
            for page in pages:
                for row, _, day in self._dated(page):
                    found[row] = max(day, found[row])
        return self._last[key]

    def _stating(self, attribute: Attribute, stated: Mapping[int, frozenset[int]]) -> list[PageDesign]:
        """Return the page kinds of an attribute's type that state it."""
        pages = (page for page in self._pages if page.kind is not None and page.kind.name == attribute.type)
        return [page for page in pages if attribute.id in stated[page.index]]

    def _dated(self, page: PageDesign) -> Iterator[tuple[int, int, int]]:
        """Yield the rows on the pages of a kind, each with the first and the last possible date of its page."""
        plan = self._layout.plan(page)
        days = self._days(plan)
        if page.spec.for_ is not None:
            yield from ((row, first, last) for row, (first, last) in zip(plan.rows, days, strict=True))
        else:
            for one, (first, last) in zip(plan.lists, days, strict=True):
                yield from ((row, first, last) for row in one.members)

    @cached_property
    def _sure(self) -> dict[int, frozenset[int]]:
        """Page kind -> the attributes of its row, or of every member, that all its wordings state in full."""
        return {page.index: frozenset(_sure_facts(page)) for page in self._pages}

    @cached_property
    def _stated_by_kind(self) -> dict[int, frozenset[int]]:
        """Page kind -> the attributes of its own row that it may state."""
        return {
            page.index: frozenset(fact.attribute.id for fact in _facts(page) if _is_own(fact, page))
            for page in self._pages
        }

    @cached_property
    def _elsewhere(self) -> frozenset[int]:
        """Return the attributes that the site may state on pages of other rows: in loops, in lists, through refs."""
        return frozenset(fact.attribute.id for page in self._pages for fact in _facts(page) if not _is_own(fact, page))


def _is_own(fact: FactPart, page: PageDesign) -> bool:
    return page.spec.for_ is not None and _is_of(fact, page.spec.for_)


def _is_of(fact: FactPart, root: str) -> bool:
    return fact.path.root == root and not fact.path.refs and fact.alias is None


def _facts(page: PageDesign) -> Iterator[FactPart]:
    wordings = [*page.titles, *(wording for part in page.parts for wording in part)]
    return (node for wording in wordings for node in walk(wording) if isinstance(node, FactPart))


def _sure_facts(page: PageDesign) -> set[int]:
    root = page.spec.for_
    found: set[int] = set()
    for part in page.parts:
        first, *others = [_stated(wording, root) if root else _of_members(wording) for wording in part]
        found |= first.intersection(*others)
    return found


def _of_members(nodes: Sequence[Node]) -> set[int]:
    """Return the attributes that a list states of every member."""
    found: set[int] = set()
    for node in nodes:
        if isinstance(node, LoopPart) and node.rows.path is None and not node.rows.every and node.rows.limit is None:
            found |= _stated(node.body, node.name)
    return found


def _stated(nodes: Iterable[Node], root: str) -> set[int]:
    """Return the attributes of the row `root` that these nodes state in full whenever they have a value."""
    found: set[int] = set()
    for node in nodes:
        if isinstance(node, FactPart) and _is_of(node, root) and all(name in _EXACT for name, _ in node.filters):
            found.add(node.attribute.id)
        elif isinstance(node, Branch):
            inside = _stated(node.body, root)
            found |= inside & _stated(node.otherwise, root)
            # A test for the fact itself loses nothing: without a value there is nothing to state.
            if isinstance(node.test, Has) and _is_of(node.test.fact, root) and node.test.fact.attribute.kind != "flag":
                found |= inside & {node.test.fact.attribute.id}
        elif isinstance(node, Choice):
            first, *others = [_stated(option, root) for option in node.options]
            found |= first.intersection(*others)
    return found
