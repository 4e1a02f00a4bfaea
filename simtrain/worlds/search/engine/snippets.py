"""Snippets: the passage of a page that fits a query, and how many of its facts it shows."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from simtrain.values.errors import SimulatorFault
from simtrain.worlds.search.engine.concealed import GAP, Concealed
from simtrain.worlds.search.engine.tokens import tokens
from simtrain.worlds.search.spec.view import Leak

WORDS: Final[dict[Leak, int]] = {"tease": 32, "normal": 32, "full": 90}
"""How many words a snippet has at most, a sentence more or less."""

FACT_WEIGHT: Final = 0.25
"""What a stated fact counts beside a word of the query, where the fullest passage is looked for."""

Statement = tuple[int, int]
"""Where a fact is stated: the first character, and how many."""

_SENTENCE = re.compile(r"\S[^\n]*?(?:[.!?](?=\s)|$)", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)\s]*\)")
_RULE = re.compile(r"^[\s|:-]+$")
_MARKS = re.compile(r"^#{1,6}\s+|^>\s+|^[-*]\s+|[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}")
_MARKED = re.compile(r"^[#>-]|[*_`]")
"""What a text has that has any of these marks."""
_BARS = re.compile(r"\s*\|\s*")
_GAPS = re.compile(rf"(?:{GAP}[\s,;:()\-–/]*)+{GAP}")


@dataclass(frozen=True, slots=True)
class _Sentence:
    start: int
    text: str
    words: int
    score: float


class _Places:
    """Where a page states facts, in order."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        self._places = sorted(statements)
        self._starts = [start for start, _ in self._places]
        self._longest = max((length for _, length in self._places), default=0)

    def within(self, start: int, end: int) -> list[Statement]:
        """Return those that overlap the text between two characters."""
        near = slice(bisect_left(self._starts, start - self._longest), bisect_left(self._starts, end))
        return [(first, length) for first, length in self._places[near] if first + length > start]


def snippet(
    body: str,
    *,
    query: Sequence[str],
    leak: Leak,
    statements: Iterable[Statement],
    concealed: Concealed,
    long: bool = False,
) -> str:
    """Return the passage for a query (its words, as `tokens` gives them); a `long` one is of the length of a full one.

    A teasing one states no fact at all and no gold cell, which is checked. Raises SimulatorFault when the check fails.
    """
    places = _Places(statements)
    sentences = [
        sentence
        for found in _SENTENCE.finditer(body)
        if (sentence := _sentence(found.start(), found[0], query, leak, places)).words
    ]
    most = WORDS["full" if long else leak]
    if leak != "tease":
        return _passage(sentences, most)
    passage = concealed.left_out(_passage(sentences, most))
    passage = _GAPS.sub(GAP, passage)
    # Checked, not assumed: a gold cell may also be put together by what remains.
    stated = concealed.stated_in(passage)
    if stated:
        raise SimulatorFault(f"a teasing snippet states the gold cell {stated[0]!r}")
    return passage


def _sentence(start: int, raw: str, query: Sequence[str], leak: Leak, places: _Places) -> _Sentence:
    end = start + len(raw)
    inside = places.within(start, end)
    shown = _without(raw, start, inside) if leak == "tease" else raw
    text = plain(shown)
    words = tokens(text)
    score = float(len({*query} & {*words}))
    if leak == "full":
        score += FACT_WEIGHT * len(inside)
    if leak == "tease" and raw.startswith("#"):
        # A heading that names its page is nothing but a gap.
        score -= 1
    return _Sentence(start, text, len(words), score)


def _without(raw: str, start: int, places: Iterable[Statement]) -> str:
    """Return the text without its statements, which may overlap."""
    kept: list[str] = []
    position = 0
    for first, length in places:
        begin, end = max(first - start, 0), min(first + length - start, len(raw))
        if begin >= position:
            kept += [raw[position:begin], GAP]
        position = max(position, end)
    return "".join((*kept, raw[position:]))


def _passage(sentences: list[_Sentence], most: int) -> str:
    """Return the best sentence with the text after it (before it at the end of a page), up to a number of words."""
    if not sentences:
        return ""
    best = max(range(len(sentences)), key=lambda place: (sentences[place].score, -place))
    first = last = best
    words = sentences[best].words
    while last + 1 < len(sentences) and words + sentences[last + 1].words <= most:
        last += 1
        words += sentences[last].words
    while first > 0 and words + sentences[first - 1].words <= most:
        first -= 1
        words += sentences[first].words
    text = " ".join(sentence.text for sentence in sentences[first : last + 1])
    cut = text.split()
    if len(cut) > 2 * most:
        text, last = " ".join(cut[: 2 * most]), -1
    head, tail = GAP if first else "", GAP if last + 1 < len(sentences) else ""
    return " ".join(part for part in (head, text, tail) if part)


def plain_text(markdown: str) -> str:
    """Return a page as plain text, without empty lines."""
    return "\n".join(filter(None, (plain(line) for line in markdown.split("\n"))))


def plain(markdown: str) -> str:
    """Return one line of markdown as plain text."""
    if _RULE.match(markdown):
        return ""
    # Most lines have none of these, and a search for them would be most of a reply.
    text = _LINK.sub(r"\1", markdown) if "](" in markdown else markdown
    text = _MARKS.sub("", text) if _MARKED.search(text) else text
    text = text.strip(" |")
    return " ".join((_BARS.sub(" · ", text) if "|" in text else text).split())
