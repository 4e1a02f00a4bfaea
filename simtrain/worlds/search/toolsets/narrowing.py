"""Filters on search results: by site, date, and words in title, URL and page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from urllib.parse import urlsplit

from simtrain.contracts.handler import ToolError
from simtrain.worlds.search.engine.web import StoredPage
from simtrain.worlds.search.toolsets.tool import Takes

_DAYS = {"d": 1, "day": 1, "w": 7, "week": 7, "m": 31, "month": 31, "y": 365, "year": 365}
"""Days that a span reaches back, by its name or first letter. A month is its longest."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """A filter on results: domains to include and to exclude, a first and a last day (YYYY-MM-DD, inclusive), and
    words that must or must not occur, ignoring case.

    An empty part filters nothing; a page without a date is outside every range of days.
    """

    only: Sequence[str] = ()
    without: Sequence[str] = ()
    since: str = ""
    until: str = ""
    in_title: str = ""
    in_url: str = ""
    phrase: str = ""
    excluded: Sequence[str] = ()

    @property
    def takes(self) -> Takes | None:
        """Return a test for pages; None if nothing is filtered."""
        # Without a test the engine ranks as deep as asked; with one it stops at its best 200.
        return self._takes if self != Narrowing() else None

    def _takes(self, page: StoredPage) -> bool:
        host = urlsplit(page.url).hostname or ""
        text = f"{page.title}\n{page.body}".casefold()
        return (
            (not self.only or _is_under(host, self.only))
            and not _is_under(host, self.without)
            and self._is_of_the_time(page.date)
            and self.in_title.casefold() in page.title.casefold()
            and self.in_url.casefold() in page.url.casefold()
            and self.phrase.casefold() in text
            and not any(word.casefold() in text for word in self.excluded)
        )

    def _is_of_the_time(self, day: str | None) -> bool:
        if not self.since and not self.until:
            return True
        return day is not None and self.since <= day[:10] and (not self.until or day[:10] <= self.until)


def _is_under(host: str, domains: Sequence[str]) -> bool:
    # With the dot, or `notexample.test` would be under `example.test`.
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


def day_of(argument: str, value: str) -> str:
    """Return the day in an argument; empty if it is empty. Raises ToolError for anything but YYYY-MM-DD."""
    try:
        return value and date.fromisoformat(value).isoformat()
    except ValueError:
        raise ToolError(f"'{argument}' must be a day, YYYY-MM-DD, not '{value}'.") from None


def days_before(today: str, span: str) -> str:
    """Return the first day of a span that ends today (`day`, `week`, `month`, `year` or its first letter); empty for others."""
    days = _DAYS.get(span)
    return "" if days is None else (date.fromisoformat(today) - timedelta(days=days)).isoformat()
