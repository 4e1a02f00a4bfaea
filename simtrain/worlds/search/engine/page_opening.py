"""Opening pages by URL: the text in parts, or the reason why a page is unavailable."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin, urlsplit, urlunsplit

from simtrain.contracts.handler import ToolError
from simtrain.worlds.search.engine.tokens import tokens

MOVED_TO: Final = "/archive"
"""The path below which moved pages are found."""

FREE_WORDS: Final = 0.35
"""The share of a page's words shown before its paywall."""

PAYWALL: Final = "*This is the end of the free preview. Subscribe to read the whole page.*"
GAP_LINE: Final = "[...]"

RELATIVE = re.compile(r"(\]\()([^)\s]+)(\))")
"""The address of a markdown link."""
_PATH = re.compile(r"/(?:[\w-][\w.-]*(?:/[\w-][\w.-]*)*/?)?")
"""A path from the root of a site without `..`, query or fragment. Nearly all links are such, and urljoin is slow."""
_SCHEMES = ("http", "https")


@dataclass(frozen=True, slots=True)
class Opened:
    """An opened page: `url` is its address after redirects, `part` counts from 1."""

    url: str
    title: str
    date: str | None
    text: str
    part: int
    parts: int


class OpeningFailure(ToolError):
    """A URL cannot be opened; `message` is the reason in an HTTP client's words."""

    def __init__(self, url: str, message: str) -> None:
        super().__init__(f"Could not open {url}: {message}")
        self.message = message


def normal_url(url: str) -> tuple[str, str, str] | None:
    """Return host, path and query of a URL as people write it, with or without scheme, `www.` and fragment; None if it is no URL."""
    text = url.strip().strip("<>\"'")
    # Agents wrap URLs in quotes and angle brackets; white space inside means that the text is something else.
    if not text or len(text) > 2000 or any(letter.isspace() for letter in text):
        return None
    try:
        parts = urlsplit(text if "://" in text else f"https://{text}")
        host = parts.hostname
    except ValueError:
        return None
    if parts.scheme not in _SCHEMES or not host or "." not in host:
        return None
    path = parts.path.removesuffix("/index.html").rstrip("/")
    return host.removeprefix("www."), path or "", parts.query


def spellings(host: str, path: str, query: str) -> list[str]:
    """Return the URLs under which a page may be stored, the likeliest first."""
    return [
        urlunsplit((scheme, host, spelt, query, ""))
        for scheme in ("https", "http")
        for spelt in dict.fromkeys((path, f"{path}/"))
    ]


def absolute(markdown: str, url: str) -> str:
    """Return the page with absolute links."""
    site = urljoin(url, "/").removesuffix("/")
    return RELATIVE.sub(lambda found: f"{found[1]}{_joined(url, site, found[2])}{found[3]}", markdown)


def _joined(url: str, site: str, link: str) -> str:
    if _PATH.fullmatch(link):
        return site + link
    try:
        return urljoin(url, link)
    except ValueError:
        return link


def free_lines(markdown: str, share: float = FREE_WORDS) -> list[str]:
    """Return the beginning of a page: whole lines up to a share of its words, at least the first line with any."""
    lines = markdown.split("\n")
    most = share * sum(len(line.split()) for line in lines)
    kept: list[str] = []
    words = 0
    for line in lines:
        count = len(line.split())
        if words and words + count > most:
            break
        words += count
        kept.append(line)
    return kept


def before_paywall(markdown: str) -> str:
    """Return the beginning of a page with the note that the rest is for subscribers."""
    return "\n".join((*free_lines(markdown), "", PAYWALL)).strip()


def scraps(title: str) -> str:
    """Return the text that an extractor gets from a page whose scripts never ran."""
    return f"{title}\n\nLoading...\n\nPlease enable JavaScript to view this page.\n\n{{{{ page.content }}}}"


def parts_of(markdown: str, most: int) -> list[str]:
    """Return a document split between lines into parts of at most `most` words; a longer line is a part of its own."""
    parts: list[list[str]] = [[]]
    words = 0
    for line in markdown.split("\n"):
        count = len(line.split())
        if words + count > most and any(parts[-1]):
            parts.append([])
            words = 0
        parts[-1].append(line)
        words += count
    return ["\n".join(part).strip("\n") for part in parts]


def for_goal(markdown: str, goal: str, most: int) -> str:
    """Return the headings of a document and the lines that best match a goal, up to `most` words; a short document as a whole."""
    lines = markdown.split("\n")
    counts = [len(line.split()) for line in lines]
    wanted = set(tokens(goal))
    if sum(counts) <= most or not wanted:
        return markdown
    scores = [len(wanted & set(tokens(line))) for line in lines]
    kept = {place for place, line in enumerate(lines) if line.startswith("#")}
    words = sum(counts[place] for place in kept)
    for place in sorted(range(len(lines)), key=lambda place: (-scores[place], place)):
        if scores[place] and place not in kept and words + counts[place] <= most:
            kept.add(place)
            words += counts[place]
    shown: list[str] = []
    for place, line in enumerate(lines):
        if place in kept:
            shown.append(line)
        elif line.strip() and (not shown or shown[-1] != GAP_LINE):
            shown.append(GAP_LINE)
    return "\n".join(shown)
