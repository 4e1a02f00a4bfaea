"""Pages of a world as HTML. What pages say is escaped; only their Markdown makes markup, and links go where `local` leads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from html import escape
from typing import Final
from urllib.parse import urljoin

from markdown_it import MarkdownIt

from simtrain.worlds.search.toolsets.tool import Result

Local = Callable[[str], str]
"""From a whole URL of the world to the address under which it is served."""

SEARCH: Final = "/-/search"
"""The path of the search page, on every host."""

HEADERS: Final = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self' http:; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}

_STYLE = """
body { font: 17px/1.6 Georgia, serif; color: #222; max-width: 46rem; margin: 0 auto; padding: 1rem; }
header, footer { font: 14px/1.5 system-ui, sans-serif; color: #666; }
header { display: flex; gap: 1rem; align-items: baseline; flex-wrap: wrap; border-bottom: 1px solid #ddd; padding-bottom: .6rem; }
header form { margin-left: auto; }
footer { border-top: 1px solid #ddd; margin-top: 2rem; padding-top: .6rem; }
a { color: #0b5394; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { border: 1px solid #ddd; padding: .25rem .6rem; text-align: left; }
h1 { line-height: 1.2; }
.result { margin: 1.2rem 0; }
.result cite { display: block; font: 13px system-ui, sans-serif; color: #4a7a3a; overflow-wrap: anywhere; }
input { font: inherit; padding: .2rem .4rem; }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #ddd; } a { color: #8ab4f8; } th, td { border-color: #444; } }
"""


def document(
    title: str, body: str, *, site: str, home: str, search: str = SEARCH, query: str = "", footer: str = ""
) -> str:
    """A whole HTML document; `body` is HTML already, all else is escaped."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>"
        f'<header><a href="{escape(home)}">{escape(site)}</a>'
        f'<form action="{escape(search)}" role="search"><input type="search" name="q" value="{escape(query)}" aria-label="Search"> '
        "<button>Search</button></form></header>"
        f"<main>{body}</main><footer>{escape(footer)}</footer></body></html>"
    )


def article(title: str, markdown: str, *, url: str, local: Local) -> str:
    """A page's Markdown as HTML under its title, its links made local."""
    tokens = _markdown().parse(markdown)
    for token in tokens:
        for child in token.children or ():
            target = child.attrGet("href") if child.type == "link_open" else None
            if isinstance(target, str):
                child.attrSet("href", local(_joined(url, target)))
    body = _markdown().renderer.render(tokens, _markdown().options, {})
    return f"<h1>{escape(title)}</h1>{body}"


def results(query: str, found: Sequence[Result], *, offset: int, more: str | None, local: Local) -> str:
    """A page of search results."""
    if not query:
        return "<h1>Search</h1>"
    items = [
        f'<div class="result"><a href="{escape(local(one.url))}">{escape(one.title)}</a><cite>{escape(one.url)}</cite>'
        f"{escape(one.snippet)}{f' <small>{escape(one.date)}</small>' if one.date else ''}</div>"
        for one in found
    ]
    if not items:
        items = ["<p>Nothing was found.</p>"]
    after = f'<p><a href="{escape(more)}" rel="next">More results</a></p>' if more else ""
    head = f"<h1>{escape(query)}</h1>" + (f"<p>From result {offset + 1} on.</p>" if offset else "")
    return head + "".join(items) + after


def listing(entries: Sequence[tuple[str, str, str]]) -> str:
    """A list of (address, title, remark)."""
    items = "".join(
        f'<li><a href="{escape(address)}">{escape(title)}</a> <small>{escape(remark)}</small></li>'
        for address, title, remark in entries
    )
    return f"<ul>{items}</ul>"


def _joined(url: str, link: str) -> str:
    try:
        return urljoin(url, link)
    except ValueError:
        return url


@cache
def _markdown() -> MarkdownIt:
    # Without `html`, markup in a page is text; links with schemes that run code are text as well.
    return MarkdownIt("commonmark", {"html": False}).enable("table")
