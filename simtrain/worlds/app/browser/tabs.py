"""A tab of the browser: its page, and the history that leads to it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from simtrain.worlds.app.browser.page import OpenPage

BLANK = "about:blank"
EMPTY = "<html><head></head><body></body></html>"
"""The page at BLANK."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the history. `posted` marks a page that answered a form: it cannot be fetched again."""

    url: str
    posted: bool = False


@dataclass(slots=True)
class Tab:
    """A tab: `entries` is its history, `index` the present one; `loads` counts the documents it has had."""

    entries: list[Entry] = field(default_factory=lambda: [Entry(BLANK)])
    index: int = 0
    loads: int = 0
    page: OpenPage = field(default_factory=lambda: OpenPage(BLANK, EMPTY))

    def copy(self) -> Tab:
        """Return an independent copy."""
        return replace(self, entries=list(self.entries), page=self.page.copy())

    def show(self, page: OpenPage) -> None:
        """Leave the page for another."""
        self.page.kept = None
        self.page = page

    def push(self, entry: Entry) -> None:
        """Go on to a new entry; what lay ahead is forgotten."""
        if self.entries[self.index].url == BLANK and len(self.entries) == 1:
            self.entries = [entry]
            return
        self.entries = [*self.entries[: self.index + 1], entry]
        self.index += 1
