"""Pages of the viewer as an HTML parser finds them, and the lines of a run as the JSON they are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any


class Page(HTMLParser):
    """The text, the links and the rows of a document, as an HTML parser of its own finds them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.links, self.rows = "", list[str](), list[list[str]]()
        self._cell = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.links += [value for name, value in attrs if name == "href" and value and tag == "a"]
        if tag == "tr":
            self.rows.append([])
        if tag == "td":
            self.rows[-1].append("")
        self._cell = self._cell or tag == "td"

    def handle_endtag(self, tag: str) -> None:
        self._cell = self._cell and tag != "td"

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._cell:
            self.rows[-1][-1] += data.strip()


def lines(folder: Path) -> list[dict[str, Any]]:
    """The trajectories of a run, read without the package."""
    return [
        json.loads(line) for part in sorted(folder.glob("trajectories-*")) for line in part.read_text().splitlines()
    ]
