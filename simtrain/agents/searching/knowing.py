"""Find the things of a kind on lists and pages, and values some links away from them."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from simtrain.agents.searching.pages import Likeness, OpenedPage, ToldValue, family, plain_value, stems
from simtrain.agents.searching.reader import Reading, SearchResult, WebReader
from simtrain.contracts.question import MISSING

MOST_LISTS: Final = 12
"""Pages read of one list, and lists read of one kind."""

MOST_HOMES: Final = 3
_SAMPLED: Final = 4
_FEWEST: Final = 3
_DATED: Final = re.compile(r"(ed|born|date|refit|since|until|happened|opening|founding)$", re.IGNORECASE)


@dataclass(frozen=True)
class Thing:
    """A thing that a list names: the URL of its page, and its values in the lists, by the stems of their headings."""

    name: str
    url: str | None
    listed: dict[str, ToldValue] = field(default_factory=dict[str, ToldValue], hash=False, compare=False)


class Knowing:
    """Finds things and values. A value that a page lacks is looked for on other pages about the same thing, the newest first."""

    def __init__(self, reader: WebReader, *, elsewhere: bool = True) -> None:
        self.reader = reader
        self.elsewhere = elsewhere
        self._found: dict[str, list[OpenedPage]] = {}
        self._searched: dict[str, list[SearchResult]] = {}

    def listed(self, noun: str, labels: Sequence[str]) -> Reading[list[Thing]]:
        """Return all things of a kind: from lists whose title has the plural, else from lists of pages like one with these labels."""
        hits = yield from self.reader.search(noun)
        named = [hit.url for hit in hits if stems(noun) in stems(hit.title)]
        # A list that is titled with the plural is complete; pages alike only show some things of the kind.
        if named:
            return _things((yield from self._paged(named)))
        found = yield from self._kind(noun, labels)
        if found is None:
            return []
        kind, sample = found
        linked = [urlsplit(link.url).netloc for link in sample.links if link.url]
        hosts = dict.fromkeys([kind.partition("/")[0], *linked, *(urlsplit(hit.url).netloc for hit in hits)])
        pages: list[OpenedPage] = []
        for host in list(hosts)[:MOST_HOMES]:
            page = yield from self.reader.open(f"https://{host}/")
            if page is None:
                continue
            indexes = [link.url for link in page.links if link.url and urlsplit(link.url).path.count("/") == 1]
            pages += [page, *(yield from self._paged(list(dict.fromkeys(indexes))))]
        return _things(pages, kind)

    def _paged(self, urls: Sequence[str]) -> Reading[list[OpenedPage]]:
        """Return lists with all their pages, one list after the other."""
        pages: list[OpenedPage] = []
        waiting = list(urls)
        while waiting and len(pages) < MOST_LISTS:
            page = yield from self.reader.open(waiting.pop(0))
            if page is None or page in pages:
                continue
            pages.append(page)
            if page.next and page.next not in [*waiting, *(known.url for known in pages)]:
                # Next page first: a list is read to its end before another one uses up the bound.
                waiting.insert(0, page.next)
        return pages

    def _kind(self, noun: str, labels: Sequence[str]) -> Reading[tuple[str, OpenedPage] | None]:
        """Return the common part of the URLs of a kind's pages, and one page: of those found, the one with most of the labels."""
        hits = yield from self.reader.search(" ".join([noun.removesuffix("s"), *labels]).replace("|", " "))
        best: tuple[int, str, OpenedPage] | None = None
        for hit in hits[:_SAMPLED]:
            page = yield from self.reader.open(hit.url)
            if page is None:
                continue
            count = sum(_statement(page, label.split("|"), likeness(label)) is not None for label in labels)
            if count and (best is None or count > best[0]):
                best = (count, family(hit.url), page)
        return best[1:] if best else None

    def page(self, thing: Thing) -> Reading[OpenedPage | None]:
        """Return the page about a thing."""
        if thing.url is not None:
            return (yield from self.reader.open(thing.url))
        pages = yield from self._about(thing.name)
        return pages[0] if pages else None

    def value(self, thing: Thing, path: Sequence[str], like: Likeness | None) -> Reading[ToldValue | None]:
        """Return the value at the end of a path of labels that starts at a thing; None if no page states it."""
        statement: ToldValue | None = None
        for place, label in enumerate(path):
            if place:
                assert statement is not None
                thing = Thing(statement.text, statement.url)
            last = place == len(path) - 1
            statement = yield from self._statement_of(thing, label, (like or likeness(label)) if last else "text")
            if statement is None:
                return None
        return statement

    def cell(self, thing: Thing, path: Sequence[str], unit: str) -> Reading[str]:
        """Return the value at the end of a path as a cell of a table; N/A where no page states it."""
        like: Likeness = "number" if unit else likeness(path[-1])
        statement = yield from self.value(thing, path, like)
        return MISSING if statement is None else plain_value(statement.text, like)

    def _statement_of(self, thing: Thing, label: str, like: Likeness) -> Reading[ToldValue | None]:
        labels = label.split("|")
        listed = next((thing.listed[stems(one)] for one in labels if stems(one) in thing.listed), None)
        page = yield from self.page(thing)
        statement = _statement(page, labels, like)
        if statement is not None or listed is not None or not self.elsewhere:
            return statement if statement is not None else listed
        for other in (yield from self._about(thing.name)):
            statement = _statement(other, labels, like)
            if statement is not None:
                return statement
        for page in (yield from self._naming(thing.name)):
            row = page.row(thing.name)
            statement = next((row[stems(one)] for one in labels if stems(one) in row), None)
            if statement is not None and statement.text:
                return statement
        return None

    def stated_by(self, host: str, thing: Thing, label: str, like: Likeness) -> Reading[ToldValue | None]:
        """Return the value that the pages of one host state for a thing under a label; None if none of those found does."""
        hits = yield from self._hits(thing.name)
        urls = [url for url in (thing.url, *(hit.url for hit in hits)) if url and urlsplit(url).netloc == host]
        for url in dict.fromkeys(urls):
            page = yield from self.reader.open(url)
            statement = (
                _statement(page, label.split("|"), like) if page is not None and page.mentions(thing.name) else None
            )
            if statement is not None:
                return statement
        return None

    def _naming(self, name: str) -> Reading[list[OpenedPage]]:
        """Return pages that mention a name."""
        pages: list[OpenedPage] = []
        for hit in (yield from self._hits(name))[:_SAMPLED]:
            page = yield from self.reader.open(hit.url)
            if page is not None and page.mentions(name):
                pages.append(page)
        return pages

    def _hits(self, name: str) -> Reading[list[SearchResult]]:
        if name not in self._searched:
            self._searched[name] = yield from self.reader.search(name)
        return self._searched[name]

    def _about(self, name: str) -> Reading[list[OpenedPage]]:
        """Return pages whose title contains a name, the newest first."""
        if name not in self._found:
            pages: list[OpenedPage] = []
            hits = yield from self._hits(name)
            titled = [hit.url for hit in hits if name.casefold() in hit.title.casefold()]
            for url in titled[:2] or (yield from self._linked(name)):
                page = yield from self.reader.open(url)
                if page is not None:
                    pages.append(page)
            self._found[name] = sorted(pages, key=lambda page: page.date, reverse=True)
        return self._found[name]

    def _linked(self, name: str) -> Reading[list[str]]:
        """Return the targets of links with this name, on pages that mention it."""
        pages = yield from self._naming(name)
        links = [
            link.url for page in pages for link in page.links if link.url and link.text.casefold() == name.casefold()
        ]
        return list(dict.fromkeys(links))[:2]

    def exists(self, name: str) -> Reading[bool]:
        """Return True if any page that a search finds mentions the name."""
        hits = yield from self._hits(name)
        if any(name.casefold() in f"{hit.title} {hit.snippet}".casefold() for hit in hits):
            return True
        for hit in hits[:2]:
            page = yield from self.reader.open(hit.url)
            if page is not None and page.mentions(name):
                return True
        return False


def _statement(page: OpenedPage | None, labels: Sequence[str], like: Likeness) -> ToldValue | None:
    """Return the value that a page states under the first of these labels that it has."""
    if page is None:
        return None
    return next((statement for one in labels if (statement := page.value(one, like)) is not None), None)


def likeness(label: str) -> Likeness:
    """Return the kind of value to expect under a label, as far as its words tell."""
    if _DATED.search(label.strip()):
        return "date"
    return "number" if label.strip().endswith("s") or " " in label.strip() else "text"


def _things(pages: Sequence[OpenedPage], kind: str | None = None) -> list[Thing]:
    """Return the things that the lists link to: pages of this kind, else of the most frequent kind."""
    kinds = Counter(family(link.url) for page in pages for link in page.links if link.url)
    if not kinds:
        return []
    # By name on a tie, so that the choice does not depend on the order of links.
    kind = kind or max(kinds, key=lambda one: (kinds[one], one))
    # One or two links alike are navigation, not a list.
    if kinds[kind] < _FEWEST:
        return []
    found: dict[str, Thing] = {}
    for page in pages:
        for link in page.links:
            if link.url and family(link.url) == kind and not link.text.casefold().endswith(" page"):
                found.setdefault(link.url, Thing(link.text, link.url))
        for table in page.tables:
            for row in table.rows:
                linked = next((cell for cell in row if cell.url in found), None)
                if linked is not None and linked.url is not None:
                    found[linked.url].listed.update(
                        {stems(heading): cell for heading, cell in zip(table.headings, row, strict=True)}
                    )
    return list(found.values())
