"""The reference server `fetch`: it is given a proxy behind which the world's web lies. Without encryption, which it would not trust."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar
from urllib.parse import urljoin, urlsplit

from simtrain.contracts.world import World
from simtrain.mcp.verify.draw import Draw, Past
from simtrain.mcp.verify.subject import GeneratedCall, Kind, Subject, makes
from simtrain.values.types import JsonObject, JsonValue

_CUT = re.compile(r"Call the fetch tool with a start_index of (\d+) to get more content")
_LINK = re.compile(r"\]\(([^)\s]+)\)|href=\"([^\"]+)\"")
_MOST_LINKS = 6
_NO_HOSTS = (
    "https://nowhere.test/",
    "https://lighthouse-cam.test/",
    "ftp://docs.kelpdb.example/",
    "mailto:siv@norrby.example",
    "https://norrby.test/a?b=c#d",
)
_NO_ADDRESSES = (
    "",
    "docs.kelpdb.example",
    "/guide/install",
    "https://",
    "https://a b/",
    7,
    None,
    ["https://norrby.example/"],
)


class Fetch(Subject):
    """Pages are known by address, and as `{"url", "start_index"}` where one was cut."""

    tables = ("pages",)

    shares: ClassVar[Mapping[Kind, float]] = {"valid": 0.72, "edge": 0.16, "invalid": 0.12}

    def __init__(self) -> None:
        self._web = _Web()

    def placeholders(self, root: Path) -> Mapping[str, str]:
        """Return the address of the proxy."""
        return {"proxy": self._web.address}

    def roots(self, root: Path) -> Mapping[str, str]:
        """Behind the proxy, everything is fetched without encryption."""
        return {"https://": "http://"}

    def lay_out(self, world: World, root: Path) -> None:
        """Put the world's pages behind the proxy."""
        self._web.pages = {(row["host"], row["path"]): row for row in world.query("select * from pages")}

    def initial(self, world: World) -> Mapping[str, Sequence[JsonValue]]:
        """Return the pages: those that are turned into Markdown, which takes the real server seconds, the others, and those that fail."""

        def addresses(condition: str) -> Sequence[JsonValue]:
            sql = f"select 'https://' || p.host || p.path as url from pages p where {condition} order by url"
            return [row["url"] for row in world.query(sql)]

        return {
            "html": addresses("status = 200 and media_type like 'text/html%' and body <> ''"),
            "other": addresses("status = 200 and media_type not like 'text/html%'"),
            "failing": addresses("status >= 400 or location is not null"),
        }

    def learn(self, past: Past, call: GeneratedCall, reply: JsonObject) -> None:
        """Where a page was cut, and what it links to."""
        text, url = reply["content"][0]["text"], call.arguments["url"]
        cut = _CUT.search(text)
        if cut:
            past.note("cut", {"url": url, "start_index": int(cut[1])})
        links = [urljoin(url, one or other) for one, other in _LINK.findall(text)[:_MOST_LINKS]]
        past.note("link", *(link for link in links if link.startswith("https://")))
        past.note("seen", url)

    @makes("fetch", weight=2)
    def as_markdown(self, draw: Draw) -> JsonObject:
        """Return a page of HTML, simplified."""
        return {"url": draw.one(draw.past.values("html"))}

    @makes("fetch", weight=4)
    def raw(self, draw: Draw) -> JsonObject:
        """Return a page as it was sent, sometimes cut."""
        return {"url": draw.one(draw.past.values("html")), "raw": True, "max_length": draw.one((200, 700, 5000))}

    @makes("fetch", weight=3)
    def no_html(self, draw: Draw) -> JsonObject:
        """Something that is no page of HTML."""
        return {"url": draw.one(draw.past.values("other"))}

    @makes("fetch", weight=6)
    def the_rest(self, draw: Draw) -> JsonObject:
        """Return where an earlier page was cut."""
        return {**draw.earlier("cut"), "raw": True, "max_length": draw.one((100, 500, 5000))}

    @makes("fetch", weight=5)
    def linked(self, draw: Draw) -> JsonObject:
        """Return where an earlier page leads, or what was seen before."""
        return {"url": draw.earlier(draw.one(("link", "seen"))), "raw": True, "start_index": draw.one((0, 0, 40))}

    @makes("fetch", "edge", weight=2)
    def written_otherwise(self, draw: Draw) -> JsonObject:
        """Return a known page with a fragment, a query that it does not know, or in other letters."""
        url = str(draw.existing("seen") if draw.past.earlier("seen") else draw.one(draw.past.values("html")))
        host = urlsplit(url).netloc
        return {"url": draw.one((f"{url}#top", f"{url}?from=mail", url.replace(host, host.upper()))), "raw": True}

    @makes("fetch", "edge", weight=2)
    def at_the_border(self, draw: Draw) -> JsonObject:
        """Few characters, or a beginning after the end."""
        limits: JsonObject = draw.one(
            ({"max_length": 1}, {"start_index": 100_000}, {"max_length": "50"}, {"raw": "yes"}, {"max_length": 999_999})
        )
        return {"url": draw.one(draw.past.values("html")), "raw": True, **limits}

    @makes("fetch", "invalid", weight=2)
    def failing(self, draw: Draw) -> JsonObject:
        """Return a page that is gone, or sends on for ever."""
        return {
            "url": draw.one(
                (*draw.past.values("failing"), "https://norrby.example/nothing", "https://docs.kelpdb.example/guide/")
            ),
            "raw": True,
        }

    @makes("fetch", "invalid")
    def nobody(self, draw: Draw) -> JsonObject:
        """Return a host that does not answer."""
        return {"url": draw.one(_NO_HOSTS)}

    @makes("fetch", "invalid")
    def no_address(self, draw: Draw) -> JsonObject:
        """Return what is no address, or a number beyond its limits."""
        known = {"url": draw.one(draw.past.values("html"))}
        return draw.one(
            (
                {"url": draw.one(_NO_ADDRESSES)},
                {**known, "max_length": 0},
                {**known, "start_index": -1},
                {**known, "max_length": 1_000_000},
            )
        )


class _Web:
    """A proxy on 127.0.0.1 that answers with `pages`, by host and path, until the process ends."""

    def __init__(self) -> None:
        self.pages: Mapping[tuple[str, str], JsonObject] = {}
        self._server: ThreadingHTTPServer | None = None

    @property
    def address(self) -> str:
        """Where it listens; it begins to when first asked."""
        if self._server is None:
            self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
            self._server.daemon_threads = True
            Thread(target=self._server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        web = self

        class Handler(BaseHTTPRequestHandler):
            timeout = 30

            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                path = f"{parts.path}?{parts.query}" if parts.query else parts.path
                known = any(host == parts.hostname for host, _ in web.pages)
                page = web.pages.get((parts.hostname or "", path))
                if not known:
                    # Nobody there: the connection ends without an answer.
                    self.close_connection = True
                    return
                self._send(
                    page
                    or {
                        "status": 404,
                        "media_type": "text/html; charset=utf-8",
                        "location": None,
                        "body": "<h1>Not Found</h1>",
                    }
                )

            def _send(self, page: JsonObject) -> None:
                content = str(page["body"]).encode()
                self.send_response(int(page["status"]))
                for name, value in (("Location", page["location"]), ("Content-Type", page["media_type"])):
                    if value:
                        self.send_header(name, str(value))
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        return Handler
