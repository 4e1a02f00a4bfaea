"""Fetches a page of the world's web, for the tool and for the prompt; hosts and pages are rows."""

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urljoin, urlsplit

from markdownify import ATX, markdownify
from protego import Protego

from simtrain.contracts.handler import HandlerContext, Reply, ToolError
from simtrain.values.types import JsonObject
from simtrain.worlds.handlers.fetch.readability import main_part

AGENT = "ModelContextProtocol/1.0 (Autonomous; +https://github.com/modelcontextprotocol/servers)"
PROMPT = "Fetch a URL and extract its contents as markdown"
NO_TEXT = "<error>Page failed to be simplified from HTML</error>"
NO_MORE = "<error>No more content available.</error>"


def fetch(context: HandlerContext) -> Reply:
    """Return a page as Markdown, or raw, from `start_index` on. Pages that robots.txt closes to programs are refused."""
    url: str = context.arguments["url"]
    try:
        _ask_robots(context, url)
        prefix, text = _page(context, url, raw=context.arguments["raw"])
    except ToolError as error:
        raise ToolError(f"Error executing tool fetch: {error}") from None
    start, most = context.arguments["start_index"], context.arguments["max_length"]
    return Reply(f"{prefix}Contents of {url}:\n{_part(text, start, most)}")


def fetch_prompt(context: HandlerContext) -> JsonObject:
    """Return the prompt: the whole page as a user message. robots.txt does not apply, since a person asks."""
    url = context.arguments["url"]
    if not url:
        raise ToolError("URL is required")
    try:
        prefix, text = _page(context, url, raw=False)
    except ToolError as error:
        # The server answers a prompt that fails with the failure as its message.
        prefix, text = "", str(error)
    return {
        "description": PROMPT,
        "messages": [{"role": "user", "content": {"type": "text", "text": prefix + text}}],
    }


def _part(text: str, start: int, most: int) -> str:
    part = text[start : start + most]
    if not part:
        return NO_MORE
    end = start + len(part)
    if end >= len(text):
        return part
    return f"{part}\n\n<error>Content truncated. Call the fetch tool with a start_index of {end} to get more content.</error>"


def _page(context: HandlerContext, url: str, *, raw: bool) -> tuple[str, str]:
    """Return the prefix of the content, and the content. Raises ToolError."""
    try:
        response = get(context, url)
    except HostUnreachable as error:
        raise ToolError(f"Failed to fetch {url}: {error}") from None
    if response.status >= 400:
        raise ToolError(f"Failed to fetch {url} - status code {response.status}")
    html = "<html" in response.text[:100] or "text/html" in response.media_type or not response.media_type
    if html and not raw:
        return "", _simplified(response.text)
    kind = response.media_type
    return f"Content type {kind} cannot be simplified to markdown, but here is the raw content:\n", response.text


def _simplified(html: str) -> str:
    found = main_part(html)
    return (markdown(str(found)) if found is not None else "") or NO_TEXT


def markdown(html: str) -> str:
    """Return HTML as Markdown, with the converter and options of the imitated server."""
    return markdownify(html, heading_style=ATX)


def _ask_robots(context: HandlerContext, url: str) -> None:
    """Raise ToolError for a page that the site's robots.txt closes to programs."""
    rules = robots_txt(url)
    try:
        response = get(context, rules)
    except PrivateAddress:
        raise
    except HostUnreachable:
        raise ToolError(f"Failed to fetch robots.txt {rules} due to a connection issue") from None
    if response.status in (401, 403):
        raise ToolError(
            f"When fetching robots.txt ({rules}), received status {response.status} so assuming that autonomous fetching "
            "is not allowed, the user can try manually fetching by using the fetch prompt"
        )
    # No rules (404) means no restriction; 401 and 403 above mean that nobody may look.
    if response.status >= 300 or Protego.parse(response.text).can_fetch(url, AGENT):
        return
    raise ToolError(
        f"The sites robots.txt ({rules}), specifies that autonomous fetching of this page is not allowed, "
        f"<useragent>{AGENT}</useragent>\n<url>{url}</url><robots>\n{response.text}\n</robots>\n"
        "The assistant must let the user know that it failed to view the page. The assistant may provide further guidance "
        "based on the above information.\nThe assistant can tell the user that they can try manually fetching the page by "
        "using the fetch prompt within their UI."
    )


# The default of httpx, the server's client.
MOST_REDIRECTS = 20
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Response:
    """A server's response: status, media type (empty if none is given) and text."""

    status: int
    media_type: str
    text: str


class HostUnreachable(ToolError):
    """No server answers; the text is that of the client library."""


class PrivateAddress(ToolError):
    """An address that is not public."""


def get(context: HandlerContext, url: str) -> Response:
    """Return the response at the end of an address's redirects. Raises HostUnreachable, and PrivateAddress for one that is not public."""
    at = url
    for _ in range(MOST_REDIRECTS + 1):
        # Each hop is checked: a public page may redirect to a private address.
        found = _answer(context, url, at)
        if isinstance(found, Response):
            return found
        at = found
    raise HostUnreachable("TooManyRedirects('Exceeded maximum allowed redirects.')")


def robots_txt(url: str) -> str:
    """Return the address of the robots.txt for an address."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/robots.txt" if parts.netloc else f"{parts.scheme}:/robots.txt"


def _answer(context: HandlerContext, url: str, at: str) -> Response | str:
    """Return the response at an address, or the address that it redirects to."""
    parts = urlsplit(at)
    host = parts.hostname or ""
    if parts.scheme not in _PORTS or not host:
        raise HostUnreachable(_unsupported(parts.scheme, host))
    _check_public(url, host)
    site = context.read("select reachable from sites where host = :host", {"host": host})
    if not site:
        raise HostUnreachable("ConnectError('[Errno -2] Name or service not known')")
    if not site[0]["reachable"] or parts.port not in (None, _PORTS[parts.scheme]):
        raise HostUnreachable("ConnectTimeout('')")
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    if parts.scheme == "http":
        return f"https://{host}{path}"
    sql = "select status, media_type, location, body from pages where host = :host and path = :path"
    page = context.read(sql, {"host": host, "path": path})
    if not page:
        return Response(404, "text/html; charset=utf-8", "<h1>Not Found</h1>")
    if page[0]["location"] is not None:
        return urljoin(at, page[0]["location"])
    return Response(page[0]["status"], page[0]["media_type"], page[0]["body"])


def _unsupported(scheme: str, host: str) -> str:
    if scheme in _PORTS or not host:
        return "UnsupportedProtocol(\"Request URL is missing an 'http://' or 'https://' protocol.\")"
    return f"UnsupportedProtocol(\"Request URL has an unsupported protocol '{scheme}://'.\")"


def _check_public(url: str, host: str) -> None:
    address = "127.0.0.1" if host == "localhost" else host
    try:
        public = ip_address(address).is_global
    except ValueError:
        return
    if not public:
        raise PrivateAddress(
            f"Refused to fetch {url}: {host} resolves to {address}, which is not a public address. Start the server with "
            "--allow-private-ips to allow private, loopback and link-local addresses."
        )
