"""The HTML of a search world's sites: frame, pages, search results, front page. All text is escaped."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from simtrain.view.search_site.looks import classes, look_of, spoken_date
from simtrain.view.search_site.prose import Local, prose
from simtrain.worlds.search.engine.tokens import tokens
from simtrain.worlds.search.engine.web import Site
from simtrain.worlds.search.toolsets.tool import EngineResult

SEARCH: Final = "/-/search"
"""The path of the search page, on every host."""

STYLE: Final = "/-/style.css"
"""The path of the style sheet, on every host."""

# Pages hold text of files that somebody shared: no script may run, and nothing may be fetched from elsewhere.
HEADERS: Final = {
    "content-security-policy": "default-src 'none'; style-src 'self'; form-action 'self' http:; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}

_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Link:
    """A link of the frame: address, text, and a remark beside it."""

    address: str
    text: str
    remark: str = ""


@dataclass(frozen=True, slots=True)
class PageFrame:
    """The frame of a document: brand, links and search in its header, and the text of its footer."""

    brand: Link
    look: str
    links: Sequence[Link] = ()
    query: str = ""
    foot: str = ""


def document(title: str, body: str, frame: PageFrame) -> str:
    """Return a whole HTML document. `body` is HTML; all else is escaped."""
    links = "".join(f"<a{_href(one)}>{escape(one.text)}</a>" for one in frame.links)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="stylesheet" href="{STYLE}"></head><body class="{escape(frame.look)}">'
        f'<header class="band"><div class="bar"><a class="brand"{_href(frame.brand)}>{escape(frame.brand.text)}</a>'
        f'<form action="{SEARCH}" role="search"><input type="search" name="q" value="{escape(frame.query)}"'
        f' placeholder="Search" aria-label="Search"><button>Search</button></form></div>'
        f"{f'<nav>{links}</nav>' if links else ''}</header>"
        f"<main>{body}</main><footer>{escape(frame.foot)}</footer></body></html>"
    )


def article(
    title: str, markdown: str, *, url: str, local: Local, site: Site | None = None, date: str | None = None
) -> str:
    """Return the HTML of a page, with its title, site and date."""
    when = f'<time datetime="{escape(date)}">{spoken_date(date)}</time>' if date else ""
    name = "" if site is None or site.title == title else escape(site.title)
    dateline = " · ".join(part for part in (name, when) if part)
    line = f'<p class="dateline">{dateline}</p>' if dateline else ""
    posts = site is not None and look_of(site.kind) == "forum"
    return f"<h1>{escape(title)}</h1>{line}{prose(markdown, url=url, local=local, posts=posts)}"


def results(query: str, found: Sequence[EngineResult], *, offset: int, more: str | None, local: Local) -> str:
    """Return the HTML of a page of search results."""
    if not query:
        return "<h1>Search</h1><p>Type some words above; <code>site:</code> and a name keep to one site.</p>"
    if not found:
        message = (
            "No more was found." if offset else "Nothing was found. Fewer words, or other ones, may find something."
        )
        return f"<h1>{escape(query)}</h1><p>{message}</p>"
    words = frozenset(tokens(query))
    items = "".join(_result(one, words, local) for one in found)
    after = f'<p><a href="{escape(more)}" rel="next">More results</a></p>' if more else ""
    span = f"Results {offset + 1} to {offset + len(found)}"
    return f'<h1>{escape(query)}</h1><p class="dateline">{span}</p><ol class="results">{items}</ol>{after}'


def _result(one: EngineResult, words: frozenset[str], local: Local) -> str:
    day = f'<time datetime="{escape(one.date)}">{spoken_date(one.date)}</time> · ' if one.date else ""
    return (
        f'<li class="result"><cite><b>{escape(one.site)}</b> {escape(one.url)}</cite>'
        f'<a href="{escape(local(one.url))}">{_marked(one.title, words)}</a>'
        f"<p>{day}{_marked(one.snippet, words)}</p></li>"
    )


def _marked(text: str, words: frozenset[str]) -> str:
    """Return the HTML of a text with the words of the query marked."""
    parts: list[str] = []
    end = 0
    for found in _WORD.finditer(text):
        # Compared as tokens, so that case and accents are folded as in the search itself.
        if not words.intersection(tokens(found[0])):
            continue
        parts += [escape(text[end : found.start()]), f"<mark>{escape(found[0])}</mark>"]
        end = found.end()
    return "".join((*parts, escape(text[end:])))


def front_page(title: str, about: str, sites: Sequence[tuple[Site, Link]]) -> str:
    """Return the HTML of a world's front page: its description and its sites."""
    cards = "".join(
        f'<li class="{classes(site)}"><a{_href(link)}>{escape(link.text)}</a><small>{escape(link.remark)}</small>'
        f'<span class="tag">{escape(site.kind)}</span></li>'
        for site, link in sites
    )
    lead = f'<p class="lead">{escape(about)}</p>' if about else ""
    return f'<h1>{escape(title)}</h1>{lead}<ul class="sites">{cards}</ul>'


def trouble(heading: str, message: str, links: Sequence[Link] = ()) -> str:
    """Return the HTML of an error, with links to other pages."""
    items = "".join(f"<li><a{_href(one)}>{escape(one.text)}</a></li>" for one in links)
    return f'<div class="error"><h1>{escape(heading)}</h1><p>{escape(message)}</p>{f"<ul>{items}</ul>" if items else ""}</div>'


def _href(link: Link) -> str:
    return f' href="{escape(link.address)}"'
