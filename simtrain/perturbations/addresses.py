"""Finds the pages that a call opens: the URLs among its arguments, and the tools that take URLs."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from simtrain.contracts.request import Request
from simtrain.files.json_schemas import properties_of, property_names
from simtrain.perturbations.reply_edits import Path, leaves
from simtrain.values.tool_words import singular
from simtrain.values.types import ToolSpec
from simtrain.worlds.search.engine.page_opening import normal_url

_ADDRESS = frozenset({"url", "uri", "link", "href"})
# An acronym is one word: `pageURL` ends in URL, not in L.
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@dataclass(frozen=True, slots=True)
class Address:
    """A URL in a call: its place in the arguments, its spelling, and its normalised form (`key`)."""

    place: Path
    url: str
    key: str

    @property
    def is_single(self) -> bool:
        """True if the argument is only this URL and not a list."""
        return len(self.place) == 1


def opened_by(request: Request) -> list[Address]:
    """Return the URLs that a call opens, in order; none for a tool that writes. An id counts if it is an absolute URL."""
    # A URL that is written is data: nothing is opened by it.
    if request.tool.writes:
        return []
    found: list[Address] = []
    for place, value in leaves(request.arguments):
        if isinstance(value, str) and (key := key_of(value)) and _names_address(str(place[0]), value):
            found.append(Address(place, value, key))
    return found


def key_of(url: str) -> str:
    """Return a URL in a normalised spelling without scheme; empty if it is not a URL."""
    found = normal_url(url)
    # Without the scheme: agents write http for https, and both open the same page.
    return "" if found is None else f"{found[0]}{found[1]}{'?' if found[2] else ''}{found[2]}"


def opens_pages(tool: ToolSpec) -> bool:
    """Return True if a tool opens pages by URL, or by an id that its replies contain."""
    if tool.writes:
        return False
    names = properties_of(tool.input_schema)
    if any(_last_word(name) in _ADDRESS for name in names):
        return True
    return "id" in names and "url" in property_names(tool.output_schema)


def home_of(url: str) -> str:
    """Return the URL of a site's home page."""
    parts = urlsplit(url if "://" in url else f"https://{url}")
    return f"{parts.scheme}://{parts.netloc}/"


def _names_address(argument: str, value: str) -> bool:
    word = _last_word(argument)
    return word in _ADDRESS or (word == "id" and "://" in value)


def _last_word(name: str) -> str:
    """Return the last word of a name, in the singular: `pageUrls` and `url` alike."""
    words = _WORDS.findall(name)
    return singular(words[-1].lower()) if words else ""
