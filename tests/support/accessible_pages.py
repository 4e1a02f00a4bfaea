"""The pages that the mapper is held against: our own in `pages/`, and five that other software wrote in `foreign/`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

HERE = Path(__file__).parents[1] / "worlds/app/accessibility"


@dataclass(frozen=True)
class SavedPage:
    """A page with the stylesheets that it links to."""

    name: str
    file: Path

    @property
    def html(self) -> str:
        return self.file.read_text()

    @property
    def stylesheets(self) -> dict[str, str]:
        return {sheet.name: sheet.read_text() for sheet in self.file.parent.glob("*.css")}


OWN = [SavedPage(file.stem, file) for file in sorted((HERE / "pages").glob("*.html"))]
FOREIGN = [SavedPage(file.parent.name, file) for file in sorted((HERE / "foreign").glob("*/page.html"))]


def without_refs(snapshot: str) -> list[str]:
    """Its lines; of a ref only that there is one."""
    return re.sub(r" \[ref=\w+\]", " [ref]", snapshot).split("\n")


@dataclass(frozen=True)
class Agreement:
    """How many of the lines of two texts are the same, in order, and how many the longer one has."""

    same: int
    of: int

    @property
    def share(self) -> float:
        return self.same / self.of if self.of else 1.0

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(self.same + other.same, self.of + other.of)

    def __str__(self) -> str:
        return f"{self.same} of {self.of} ({self.share:.2%})"


def agreement(expected: list[str], ours: list[str]) -> Agreement:
    """Count the lines that are equal and in the same order."""
    matching = SequenceMatcher(None, expected, ours, autojunk=False).get_matching_blocks()
    return Agreement(sum(block.size for block in matching), max(len(expected), len(ours)))
