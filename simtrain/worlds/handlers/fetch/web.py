"""The web of a world: hosts and pages as rows, redirects, and addresses that nobody may reach."""

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urljoin, urlsplit

from simtrain.contracts.handler import HandlerContext, ToolError

MOST_REDIRECTS = 20
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Response:
    """What a server answers: status, media type (empty where it says none) and text."""

    status: int
    media_type: str
    text: str


class HostUnreachable(ToolError):
    """Nobody answers; the text is what the client library says."""


class PrivateAddress(ToolError):
    """An address inside somebody's own network."""


def get(context: HandlerContext, url: str) -> Response:
    """Follow an address to its page. Raises Unreachable, or Refused for an address that is not public."""
    at = url
    for _ in range(MOST_REDIRECTS + 1):
        found = _answer(context, url, at)
        if isinstance(found, Response):
            return found
        at = found
    raise HostUnreachable("TooManyRedirects('Exceeded maximum allowed redirects.')")


def robots_txt(url: str) -> str:
    """Return the address of the rules for robots that apply to an address."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/robots.txt" if parts.netloc else f"{parts.scheme}:/robots.txt"


def _answer(context: HandlerContext, url: str, at: str) -> Response | str:
    """Return the response at an address, or the address that it sends on to."""
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
