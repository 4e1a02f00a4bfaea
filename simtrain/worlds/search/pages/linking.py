"""Targets of links: the pages of a label, a type or an attribute, those of the same site first."""

from collections.abc import Sequence

from simtrain.values.errors import InputError
from simtrain.worlds.search.pages.design import PageDesign, SiteDesign
from simtrain.worlds.search.spec.schema import Attribute


class Linker:
    """Finds the pages that a page kind links to."""

    def __init__(self, page: PageDesign, sites: Sequence[SiteDesign]) -> None:
        self._page = page
        self._sites = sites

    def _candidates(self, label: str) -> list[PageDesign]:
        """Return the page kinds that a label may mean, those of this site first."""
        site, _, name = label.rpartition(".")
        sites = [self._page.site, *(one for one in self._sites if one is not self._page.site)]
        pages = [page for one in sites if site in ("", one.name) for page in one.pages]
        return [page for page in pages if name == page.label or (name == "" and page.copied is None)]

    def pages_of(self, kind: str, label: str) -> PageDesign:
        """Return the page kind for a type's rows, or the lists grouped by it. Raises InputError if there is none."""
        pages = self._candidates(label)
        own = next((page for page in pages if page.spec.for_ == kind), None)
        grouped = next((page for page in pages if page.group and page.group.target == kind), None)
        here = (
            grouped
            if grouped and grouped.site is self._page.site and (own is None or own.site is not grouped.site)
            else None
        )
        found = here or own or grouped
        if found is None:
            raise InputError(f"there is no page of {kind} to link to{f' called {label!r}' if label else ''}")
        return found

    def lists_by(self, attribute: Attribute, label: str) -> PageDesign:
        """Return the lists grouped by an attribute. Raises InputError if there are none."""
        found = next((page for page in self._candidates(label) if page.group == attribute), None)
        if found is None:
            raise InputError(f"there is no list by {attribute.name} to link to")
        return found

    def fixed(self, label: str) -> PageDesign:
        """Return the list or home page of a label. Raises InputError if there is none."""
        pages = [page for page in self._candidates(label) if page.spec.for_ is None and page.group is None]
        if not pages:
            raise InputError(f"there is no list or home page called {label!r} to link to")
        return pages[0]
