"""Snippets: the passage of a page that fits a query, with more or fewer of its facts."""

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
"""Words of a snippet, give or take a sentence."""

FACT_WEIGHT: Final = 0.25
"""Weight of a stated fact relative to a word of the query, for snippets of leak `full`."""

Statement = tuple[int, int]
"""The span of a stated fact: first character and length."""

_SENTENCE = re.compile(r"\S[^\n]*?(?:[.!?](?=\s)|$)", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)\s]*\)")
_RULE = re.compile(r"^[\s|:-]+$")
_MARKS = re.compile(r"^#{1,6}\s+|^>\s+|^[-*]\s+|[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}")
_MARKED = re.compile(r"^[#>-]|[*_`]")
"""A quick test for texts that may contain one of these marks."""
_BARS = re.compile(r"\s*\|\s*")
_GAPS = re.compile(rf"(?:{GAP}[\s,;:()\-–/]*)+{GAP}")


@dataclass(frozen=True, slots=True)
class _Sentence:
    start: int
    text: str
    words: int
    score: float


class _Places:
    """The spans of the facts on a page, in order."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        self._places = sorted(statements)
        self._starts = [start for start, _ in self._places]
        self._longest = max((length for _, length in self._places), default=0)

    def within(self, start: int, end: int) -> list[Statement]:
        """Return the spans that overlap the text between two positions."""
        # Sorted by start only, so the search begins one longest span earlier.
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
    """Return the passage for a query, given as its `tokens`. A `long` one has the length of a full one.

    A teasing one states no fact and no gold cell. This is checked: raises SimulatorFault if it does.
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
    # Checked, not assumed: what remains on both sides of a gap may read as a gold cell again.
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
    # Each fact weighs less than a word of the query, so that relevance comes first.
    if leak == "full":
        score += FACT_WEIGHT * len(inside)
    if leak == "tease" and raw.startswith("#"):
        # Without its fact, a heading that names the page is nothing but a gap.
        score -= 1
    return _Sentence(start, text, len(words), score)


def _without(raw: str, start: int, places: Iterable[Statement]) -> str:
    """Return the text without its statements, which may overlap."""
    kept: list[str] = []
    position = 0
    for first, length in places:
        begin, end = max(first - start, 0), min(first + length - start, len(raw))
        # Statements may overlap or nest: text between them is kept only past the furthest end so far.
        if begin >= position:
            kept += [raw[position:begin], GAP]
        position = max(position, end)
    return "".join((*kept, raw[position:]))


def _passage(sentences: list[_Sentence], most: int) -> str:
    """Return the best sentence with the sentences after it, then before it, up to `most` words."""
    if not sentences:
        return ""
    # The earliest of equally good sentences, so that the result is unique.
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
    # A table row or a list without full stops can be one very long sentence.
    # Cut by words, as the limits are given in words.
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
    # Tested first, since most lines have no marks and these substitutions would take most of the time of a reply.
    text = _LINK.sub(r"\1", markdown) if "](" in markdown else markdown
    text = _MARKS.sub("", text) if _MARKED.search(text) else text
    text = text.strip(" |")
    return " ".join((_BARS.sub(" · ", text) if "|" in text else text).split())
