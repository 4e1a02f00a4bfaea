"""Requests to an app's site and its responses, the same in the process and over HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from simtrain.worlds.app.fields import Upload

Pairs: TypeAlias = tuple[tuple[str, str], ...]
Entries: TypeAlias = tuple[tuple[str, str | Upload], ...]
"""What a form was sent with, in document order."""


@dataclass(frozen=True, slots=True)
class SiteAddress:
    """An address within a site: path and parameters. The path is decoded."""

    path: str
    query: Pairs = ()

    @classmethod
    def parse(cls, text: str) -> SiteAddress:
        """Return the address in `/path?query`; what else a URL may hold is dropped. Raises ValueError."""
        parts = urlsplit(text)
        return cls(unquote(parts.path) or "/", tuple(parse_qsl(parts.query, keep_blank_values=True)))

    def __str__(self) -> str:
        path = quote(self.path, safe="/:@!$&'()*+,;=~-._")
        return f"{path}?{urlencode(self.query)}" if self.query else path

    def changed(self, **values: object) -> SiteAddress:
        """Return the same address with parameters changed; None removes one."""
        kept = [(name, value) for name, value in self.query if name not in values]
        added = [(name, str(value)) for name, value in values.items() if value is not None]
        return SiteAddress(self.path, (*kept, *added))


@dataclass(frozen=True, slots=True)
class SiteRequest:
    """A request: `session` is the token in the cookie, `referrer` the address of the page that it comes from."""

    method: Literal["GET", "POST"]
    address: SiteAddress
    session: str | None = None
    entries: Entries = ()
    referrer: str = "/"


@dataclass(frozen=True, slots=True)
class Download:
    """A text that is saved as a file and not shown."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class SiteResponse:
    """A response: a page, a redirection to `location`, or a download. `session` is the token for the cookie."""

    status: int
    session: str
    html: str = ""
    location: str | None = None
    download: Download | None = None
    rule: str | None = None
    """The rule that refused the request."""
    statements: int = 0
    """How many writing statements were carried out."""
