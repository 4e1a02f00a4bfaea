"""The reference server `fetch`: it reaches the world's web through a proxy, unencrypted, since it would not trust the
proxy's certificate.
"""

import re
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar
from urllib.parse import urljoin, urlsplit

from simtrain.contracts.world import World
from simtrain.mcp.verify.call_makers import Kind
from simtrain.mcp.verify.draw import Past
from simtrain.mcp.verify.subject import GeneratedCall, Subject
from simtrain.values.types import JsonObject, JsonValue

_CUT = re.compile(r"Call the fetch tool with a start_index of (\d+) to get more content")
_LINK = re.compile(r"\]\(([^)\s]+)\)|href=\"([^\"]+)\"")
_MOST_LINKS = 6


class Fetch(Subject):
    """Kinds of values: pages by URL, and `{"url", "start_index"}` for pages that were cut."""

    tables = ("pages",)
    calls = Path(__file__).with_suffix(".yaml")

    shares: ClassVar[Mapping[Kind, float]] = {"valid": 0.72, "edge": 0.16, "invalid": 0.12}

    def __init__(self) -> None:
        self._web = _Web()

    def placeholders(self, root: Path) -> Mapping[str, str]:
        """Return the address of the proxy."""
        return {"proxy": self._web.address}

    def roots(self, root: Path) -> Mapping[str, str]:
        """Map https to http: behind the proxy everything is fetched without encryption."""
        return {"https://": "http://"}

    def lay_out(self, world: World, root: Path) -> None:
        """Put the world's pages behind the proxy."""
        self._web.pages = {(row["host"], row["path"]): row for row in world.query("select * from pages")}

    def initial(self, world: World) -> Mapping[str, Sequence[JsonValue]]:
        """Return the pages: those converted to Markdown (which takes the real server seconds), the others, and those that fail."""

        def addresses(condition: str) -> Sequence[JsonValue]:
            sql = f"select 'https://' || p.host || p.path as url from pages p where {condition} order by url"
            return [row["url"] for row in world.query(sql)]

        return {
            "html": addresses("status = 200 and media_type like 'text/html%' and body <> ''"),
            "other": addresses("status = 200 and media_type not like 'text/html%'"),
            "failing": addresses("status >= 400 or location is not null"),
        }

    def learn(self, past: Past, call: GeneratedCall, reply: JsonObject) -> None:
        """Note where a page was cut, and its links."""
        text, url = reply["content"][0]["text"], call.arguments["url"]
        cut = _CUT.search(text)
        if cut:
            past.note("cut", {"url": url, "start_index": int(cut[1])})
        # Only some: a page of a hundred links would drown the pages of the initial state.
        links = [urljoin(url, one or other) for one, other in _LINK.findall(text)[:_MOST_LINKS]]
        past.note("link", *(link for link in links if link.startswith("https://")))
        past.note("seen", url)


class _Web:
    """A proxy on 127.0.0.1 that answers with `pages`, by host and path, until the process ends."""

    def __init__(self) -> None:
        self.pages: Mapping[tuple[str, str], JsonObject] = {}
        self._server: ThreadingHTTPServer | None = None

    @property
    def address(self) -> str:
        """The proxy's address; it starts listening on first use."""
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
                    # A host that is down: close the connection without an answer.
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
