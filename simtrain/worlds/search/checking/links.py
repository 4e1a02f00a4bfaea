"""Checks links: those in a page's text are those recorded, and each leads to what its words name."""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import urljoin

from simtrain.worlds.search.checking.customs import Customs, Odd
from simtrain.worlds.search.checking.facts import Thing

Span = tuple[int, int]

LINK: Final = re.compile(r"\[([^\[\]]*)\]\(([^()\s]*)\)")
TARGET: Final = re.compile(r"\]\(([^()\s]*)\)")
_ROOT = re.compile(r"[a-z]+://[^/]*")
_SCHEMES = ("https://", "http://")
_DOTS = re.compile(r"(?:^|/)\.\.?(?:/|$)")


class Target(NamedTuple):
    """The target of a link, and what that page is about."""

    id: int
    url: str
    about: Thing | None


class Named(NamedTuple):
    """A statement that names a thing: its span, its attribute, and the thing."""

    span: Span
    attribute: int
    thing: Thing | None


def resolved(url: str, target: str) -> str:
    """Return the absolute URL of a link on a page. Plain paths take a short way, since urljoin is slow."""
    plain = target.partition("#")[0]
    if not _DOTS.search(target):
        if target.startswith(_SCHEMES):
            return plain
        root = _ROOT.match(url)
        if root is not None and target[:1] == "/" and target[:2] != "//":
            return root[0] + plain
    return urljoin(url, target).partition("#")[0]


def recorded(connection: sqlite3.Connection, first: int, last: int) -> dict[int, dict[str, Target]]:
    """Return the recorded links of the pages from `first` to `last`: page -> url -> target."""
    sql = (
        "select l.page, l.target, p.url, p.type, p.entity from _links l left join _pages p on p.id = l.target"
        " where l.page between ? and ? order by l.page, l.target"
    )
    found: dict[int, dict[str, Target]] = {}
    for page, target, url, kind, entity in connection.execute(sql, (first, last)):
        about = None if entity is None else (str(kind), int(entity))
        address = f"page {target}, which is not there" if url is None else str(url)
        found.setdefault(page, {})[address] = Target(target, address, about)
    return found


def link_problems(
    page: tuple[int, str], body: str, known: Mapping[str, Target], exists: sqlite3.Connection
) -> list[tuple[int, str]]:
    """Return links in the text that are dead or not recorded, and recorded links that are not in the text.

    `page`: its id and URL.
    """
    found: list[tuple[int, str]] = []
    seen: set[str] = set()
    for match in TARGET.finditer(body):
        url = resolved(page[1], match[1])
        # Links of a page to itself are not recorded.
        if url in seen or url == page[1]:
            continue
        seen.add(url)
        if url in known:
            continue
        found_page = exists.execute("select 1 from _pages where url = ?", (url,)).fetchone()
        what = f"the link to {url} is not recorded" if found_page else "a link leads to no page"
        found.append((match.start(1), what))
    missing = [target for url, target in known.items() if url not in seen and target.id != page[0]]
    return found + [(0, f"the link to {target.url} is not in the text") for target in missing]


def note_words(
    customs: Customs,
    page: tuple[int, int, str, str],
    body: str,
    known: Mapping[str, Target],
    named: Sequence[Named],
) -> Iterator[tuple[int, str]]:
    """Yield links on a thing's name that lead to the page of another thing. Targets of other links are noted as customs.

    `page`: its id, site, kind and URL.
    """
    number, site, kind, own = page
    at = iter(sorted(named))
    one = next(at, None)
    for match in LINK.finditer(body):
        start, end = match.span(1)
        inside: list[Named] = []
        while one is not None and one.span[0] < end:
            if one.span[0] >= start:
                inside.append(one)
            one = next(at, None)
        target = known.get(resolved(own, match[2]))
        if target is None:
            continue
        things = [name.thing for name in inside if name.thing is not None]
        where = Odd(number, start, f"the link {match[1]!r} leads elsewhere than its like")
        kinds = {thing[0] for thing in things}
        if target.about is not None and target.about[0] in kinds and target.about not in things:
            yield start, f"the link {match[1]!r} leads to the page of something else"
        if inside:
            about = target.about and target.about[0]
            customs.note(("leads", site, kind, inside[0].attribute), about, lambda where=where: where)
        else:
            customs.note(("link", site, match[1]), target.id, lambda where=where: where)
