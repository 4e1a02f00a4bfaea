"""The sites of a search world over HTTP: under their own paths, or under their own names by the Host header."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import quote, urlencode, urlsplit

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from simtrain.mcp.serve.guard import LOOPBACK
from simtrain.mcp.serve.ports import Listening, bind, served
from simtrain.mcp_wire.validation import ARRIVAL
from simtrain.view.search_site import html
from simtrain.view.search_site.looks import classes, spoken_date, style
from simtrain.worlds.search.engine.page_opening import MOVED_TO, before_paywall, scraps
from simtrain.worlds.search.engine.web import Site, StoredPage, Web
from simtrain.worlds.search.spec.view import Condition
from simtrain.worlds.search.state import SearchState
from simtrain.worlds.search.world import SearchWorld

LOCAL_SUFFIX: Final = ".localhost"
"""Browsers resolve names with this suffix to this machine: `registry.example.localhost` is the site `registry.example`."""

A_PAGE: Final = 10
MOST_RESULTS: Final = 200
MOST_QUERY: Final = 2000

MOST_LISTS: Final = 7
MOST_BEGINNINGS: Final = 20

_LISTS: Final = (
    "select p.title, p.url from _pages h join _links l on l.page = h.id join _pages p on p.id = l.target"
    " where h.url = ? and p.site = ? and p.members is not null and coalesce(p.number, 1) = 1"
    " order by p.id limit ?"
)
# By URL, which is indexed: a large world is not scanned.
_BEGINNINGS: Final = "select title, url from _pages where url > ? and url < ? order by url limit ?"

Entry = tuple[str, str]
"""The title and the whole URL of a page."""


@dataclass(frozen=True, slots=True)
class _Place:
    """The host of a request: the site that it names (None: sites are paths), with the suffix and port of the address."""

    site: Site | None
    suffix: str
    port: str


class Browsing:
    """The ASGI application. It shows pages as an agent's tools do, dead, moved, paywalled and broken ones included."""

    def __init__(self, world: SearchWorld) -> None:
        self.world = world
        self.state: SearchState = world.open()
        self._lists = guide(world.web)
        self.app = Starlette(routes=[Route("/{rest:path}", self._answer, methods=["GET"])])

    async def _answer(self, request: Request) -> Response:
        # DNS rebinding: a foreign page may let its own name lead to this machine, but its Host header is refused.
        place = self._place(request.headers.get("host", ""))
        if place is None:
            misdirected = html.trouble("421 Misdirected Request", "No site of that name is served here.")
            return self._page("Misdirected", misdirected, _Place(None, "", ""), status=421)
        # Raw: decoding would make another path of one that has %2F in it.
        path = (request.scope.get("raw_path") or b"/").partition(b"?")[0].decode("ascii", "replace")
        if path == html.SEARCH:
            return self._search(request, place)
        if path == html.STYLE:
            return Response(style(), media_type="text/css", headers={**html.HEADERS, "cache-control": "max-age=600"})
        if place.site is None and path in ("", "/"):
            return self._front_page(place)
        domain, path = (place.site.domain, path) if place.site else _split(path)
        return self._visit(domain, path, request.url.query, place)

    def _place(self, host: str) -> _Place | None:
        name, port = host.lower(), ""
        if not name.endswith("]") and ":" in name:
            name, _, port = name.rpartition(":")
        plain = name.removesuffix(LOCAL_SUFFIX)
        site = self.world.web.site_by_domain.get(plain.removeprefix("www."))
        if site is not None:
            return _Place(site, LOCAL_SUFFIX if plain != name else "", f":{port}" if port else "")
        return _Place(None, "", "") if name in LOOPBACK else None

    def _local(self, url: str, place: _Place) -> str:
        """Return the local address of a URL of the world; any other address is unchanged."""
        try:
            parts = urlsplit(url)
            host = parts.hostname or ""
        except ValueError:
            return url
        if host not in self.world.web.site_by_domain:
            return url
        rest = (
            (parts.path or "/")
            + (f"?{parts.query}" if parts.query else "")
            + (f"#{parts.fragment}" if parts.fragment else "")
        )
        if place.site is None:
            return f"/{host}{rest}"
        return rest if host == place.site.domain else f"http://{host}{place.suffix}{place.port}{rest}"

    def _front_page(self, place: _Place) -> Response:
        source = self.world.source
        cards = [
            (site, html.Link(self._local(f"https://{site.domain}/", place), site.title, site.domain))
            for site in self.world.web.sites
        ]
        return self._page(
            source.title, html.front_page(source.title, source.description.strip(), cards), place, look="front"
        )

    def _search(self, request: Request, place: _Place) -> Response:
        query = request.query_params.get("q", "")[:MOST_QUERY].strip()
        start = request.query_params.get("start", "0")
        # Short, since `int` fails for texts of thousands of digits.
        offset = min(int(start), MOST_RESULTS) if start.isdecimal() and len(start) < 6 else 0
        words = query if place.site is None else f"{query} site:{place.site.domain}"
        found = self.state.search(words, count=A_PAGE, offset=offset) if query else []
        if request.query_params.get("format") == "json":
            rows = [{"url": one.url, "title": one.title, "snippet": one.snippet, "date": one.date} for one in found]
            return JSONResponse({"query": query, "results": rows}, headers=html.HEADERS)
        more = None
        if len(found) == A_PAGE and offset + A_PAGE < MOST_RESULTS:
            more = f"{html.SEARCH}?{urlencode({'q': query, 'start': offset + A_PAGE})}"
        body = html.results(query, found, offset=offset, more=more, local=lambda url: self._local(url, place))
        return self._page(query or "Search", body, place, query=query)

    def _visit(self, domain: str, path: str, query: str, place: _Place) -> Response:
        site = self.world.web.site_by_domain.get(domain)
        if site is None:
            return self._missing(place, None)
        moved = path.startswith(f"{MOVED_TO}/")
        page = self._stored(domain, path.removeprefix(MOVED_TO) if moved else path, query)
        condition: Condition = "sound" if page is None else self._condition(site, page)
        if page is None or (moved and condition != "moved"):
            return self._missing(place, site, path)
        if condition == "dead":
            gone = html.trouble("410 Gone", "This page is no longer here.")
            return self._page("Gone", gone, place, status=410, site=site)
        if condition == "moved" and not moved:
            parts = urlsplit(page.url)
            new = f"https://{domain}{MOVED_TO}{parts.path}{f'?{parts.query}' if parts.query else ''}"
            return RedirectResponse(self._local(new, place), status_code=301, headers=html.HEADERS)
        text = scraps(page.title) if condition == "broken" else page.body
        text = before_paywall(text) if condition == "paywall" else text
        body = html.article(
            page.title, text, url=page.url, local=lambda url: self._local(url, place), site=site, date=page.date
        )
        return self._page(page.title, body, place, site=site, date=page.date)

    def _stored(self, domain: str, path: str, query: str) -> StoredPage | None:
        # Browsers send some characters as they are that a world's URL may quote, an apostrophe for one.
        path = path.rstrip("/")
        return self.world.web.page_at(domain, path, query) or self.world.web.page_at(
            domain, quote(path, safe="/%"), query
        )

    def _condition(self, site: Site, page: StoredPage) -> Condition:
        return self.world.view.upkeep_of(site.name).condition(self.world.seed, page.url)

    def _missing(self, place: _Place, site: Site | None, path: str = "") -> Response:
        links: list[html.Link] = []
        message = "There is no such page."
        if site is not None and path in ("", "/"):
            message = "This site has no front page. Some of its pages:"
            links = [html.Link(self._local(url, place), title) for title, url in beginnings(self.world.web, site)]
        return self._page("Not found", html.trouble("404 Not Found", message, links), place, status=404, site=site)

    def _page(
        self,
        title: str,
        body: str,
        place: _Place,
        *,
        status: int = 200,
        site: Site | None = None,
        query: str = "",
        date: str | None = None,
        look: str = "plain",
    ) -> Response:
        own = site or place.site
        if own is None:
            frame = html.PageFrame(html.Link("/", self.world.source.title), look, query=query)
        else:
            frame = html.PageFrame(
                html.Link(self._local(f"https://{own.domain}/", place), own.title),
                classes(own),
                links=[html.Link(self._local(url, place), title) for title, url in self._lists(own)],
                query=query,
                foot=" · ".join((own.title, own.domain, *([spoken_date(date)] if date else ()))),
            )
        return HTMLResponse(html.document(title, body, frame), status, headers=html.HEADERS)


def _split(path: str) -> tuple[str, str]:
    domain, slash, rest = path.lstrip("/").partition("/")
    return domain.lower(), slash + rest


@asynccontextmanager
async def browsing(
    world: SearchWorld, *, host: str = "127.0.0.1", port: int = 0, arrival: float = ARRIVAL
) -> AsyncGenerator[str]:
    """Serve a world while the block runs, and yield the URL of its front page. Raises InputError for an unavailable port.

    A request that takes longer than `arrival` seconds to arrive is dropped.
    """
    with bind(Listening(host=host, port=port, control_port=None)) as sockets:
        async with served(Browsing(world).app, sockets.main, arrival):
            yield f"http://{f'[{host}]' if ':' in host else host}:{sockets.main.getsockname()[1]}/"


def guide(web: Web) -> Callable[[Site], Sequence[Entry]]:
    """Return a cached function from a site to the lists that its front page links to, as many as fit in the header."""

    @lru_cache(maxsize=64)
    def lists(site: Site) -> Sequence[Entry]:
        return web.run(_LISTS, (f"https://{site.domain}/", site.id, MOST_LISTS))

    return lists


def beginnings(web: Web, site: Site) -> Sequence[Entry]:
    """Return some pages of a site that has no front page."""
    first = f"https://{site.domain}/"
    # Up to the last code point: the range is every URL of the site.
    return web.run(_BEGINNINGS, (first, f"{first}\U0010ffff", MOST_BEGINNINGS))
