"""What pages say beside their statements: nothing there may be a number, a date, an amount, a unit or a name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from simtrain.worlds.search.checking.customs import Odd
from simtrain.worlds.search.checking.facts import FactTables
from simtrain.worlds.search.checking.pieces import COUNTING, NOTHING, AuthorProse, JudgedPiece, Suspect, judged

Kind = tuple[int, str, str | None]
"""Site, kind of page, type that the page is about."""

FEW: Final = 40
"""Below so many pages of a kind, a word of the prose may be on one page alone: each page draws one of several sentences."""
OFTEN: Final = 2
"""On so many pages, a word of the prose is not an invention of one page."""
KEPT: Final = 100
"""Places that are remembered of one thing."""
MOST_JUDGED: Final = 50_000
"""Pieces of prose whose judgement is remembered: prose of a model is never the same."""

_LETTERS = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")


class Place(NamedTuple):
    """The place of suspect words, and whether they begin a sentence there."""

    page: int
    kind: Kind
    place: int
    begins: bool


@dataclass(slots=True)
class WordUse:
    """The number of pages with suspect words, and the places that were kept."""

    pages: int = 0
    last: int = 0
    places: list[Place] = field(default_factory=list[Place])


@dataclass
class Prose:
    """The prose of many pages; what is fine where others have it too is kept until all are read. Those of several processes are merged."""

    wording: AuthorProse = NOTHING
    _judged: dict[tuple[str, bool], JudgedPiece] = field(default_factory=dict[tuple[str, bool], JudgedPiece])
    _kinds: Counter[Kind] = field(default_factory=Counter[Kind])
    _small: dict[str, tuple[int, int]] = field(default_factory=dict[str, "tuple[int, int]"])
    _uses: dict[tuple[str, str], WordUse] = field(default_factory=dict[tuple[str, str], WordUse])

    def read(
        self, page: int, kind: Kind, pieces: Sequence[str], place_of: Callable[[int, int], int]
    ) -> list[tuple[int, str]]:
        """Return the problems of one page, as (place in the body, what). `place_of` maps (number of a piece, place in
        it) to a place in the body.
        """
        self._kinds[kind] += 1
        found: list[tuple[int, str]] = []
        for number, piece in enumerate(pieces):
            own = self._judge(piece, page, last=number == len(pieces) - 1)
            found += [(place_of(number, place), f"{what} is stated by nothing") for place, what in own.wrong]
            for suspect in own.suspects:
                self._note(suspect, page, kind, number, place_of)
        return found

    def title(self, page: int, kind: Kind, masked: str) -> list[tuple[int, str]]:
        """Return the problems of a title without the texts that the page states or is about."""
        own = self._judge(masked, page, last=True)
        for suspect in own.suspects:
            # A title may hold a word that the page puts otherwise.
            if suspect.kind != "run" or not COUNTING.isdisjoint(suspect.words.split()):
                self._note(suspect, page, kind, 0, lambda _, __: 0)
        return [(0, f"{what} in the title is not on the page") for _, what in own.wrong]

    def merge(self, other: Prose) -> None:
        """Take in what was read of further pages."""
        self._kinds.update(other._kinds)
        self._small = {**other._small, **self._small}
        for key, use in other._uses.items():
            own = self._uses.setdefault(key, WordUse())
            own.pages += use.pages
            own.places += use.places[: KEPT - len(own.places)]

    def report(self) -> Prose:
        """Return what is to be merged: all but the pieces."""
        return Prose(NOTHING, {}, self._kinds, self._small, self._uses)

    def late(self, facts: FactTables, known: frozenset[str]) -> Iterator[Odd]:
        """Return names, numbers in words and foreign words among the prose, once all pages are read. `known` words are not names."""
        known |= self.wording.words
        own = {word for word in name_words(facts) if word.casefold() not in self.wording.words}
        for (kind, words), use in self._uses.items():
            for one in use.places:
                problem = self._problem(kind, words, use, one, own, known)
                if problem is not None:
                    yield Odd(one.page, one.place, problem)
        if self.wording.words:
            for word in sorted({word.casefold() for word in own} & self._small.keys() - known):
                yield Odd(*self._small[word], f"the name {word!r} is stated by nothing")

    def _problem(
        self, kind: str, words: str, use: WordUse, one: Place, own: set[str], known: frozenset[str]
    ) -> str | None:
        if kind == "name":
            fine = words not in own and (len(words) == 1 or _is_known(words, known) or self._is_usual(words, use, one))
            return None if fine else f"the name {words!r} is stated by nothing"
        if kind == "count":
            # Where the author's prose is at hand, `run` tells of these.
            fine = self.wording.words or use.pages >= OFTEN or self._kinds[one.kind] < FEW
            return None if fine else f"the number in words {words!r} is stated by nothing"
        return f"the words {words!r} are not the author's, and stated by nothing"

    def _is_usual(self, word: str, use: WordUse, one: Place) -> bool:
        """True if other pages have the word too; where the author's prose is at hand, that alone counts."""
        if self.wording.words:
            return False
        if word.casefold() in self._small or use.pages >= OFTEN:
            return True
        return one.begins and self._kinds[one.kind] < FEW

    def _judge(self, piece: str, page: int, *, last: bool) -> JudgedPiece:
        own = self._judged.get((piece, last))
        if own is None:
            if len(self._judged) >= MOST_JUDGED:
                self._judged.clear()
            own = self._judged[piece, last] = judged(piece, self.wording, last=last)
            for word in own.small:
                self._small.setdefault(word, (page, 0))
        return own

    def _note(self, suspect: Suspect, page: int, kind: Kind, number: int, place_of: Callable[[int, int], int]) -> None:
        key = (suspect.kind, suspect.words)
        use = self._uses.get(key)
        if use is None:
            use = self._uses[key] = WordUse()
        if use.last != page:
            use.last = page
            use.pages += 1
        if len(use.places) < KEPT:
            use.places.append(Place(page, kind, place_of(number, suspect.place), suspect.begins))


def without(title: str, words: Iterable[str]) -> str:
    """Return a title with the words taken out, whatever their case; numbers and letters beside them would be of another word."""
    folded = title.lower()
    if len(folded) != len(title):
        return title
    spans: list[tuple[int, int]] = []
    for text in sorted(words, key=len, reverse=True):
        lowered = text.lower()
        place = folded.find(lowered) if lowered else -1
        while place >= 0:
            end = place + len(lowered)
            if not (_continues(folded, place - 1, lowered[0]) or _continues(folded, end, lowered[-1])):
                spans.append((place, end))
            place = folded.find(lowered, place + 1)
    letters = list(title)
    for start, end in spans:
        letters[start:end] = "\x00" * (end - start)
    return "\n" + "".join(letters).replace("\x00", " ")


def _continues(text: str, place: int, beside: str) -> bool:
    return 0 <= place < len(text) and text[place].isalnum() and beside.isalnum()


def _is_known(word: str, known: frozenset[str]) -> bool:
    folded = word.casefold()
    return folded in known or all(part in known for part in _LETTERS.findall(folded))


def name_words(facts: FactTables) -> frozenset[str]:
    """Return the words that make names: those that only few names of a type share, and no half of them."""
    found: set[str] = set()
    by_type: dict[str, Counter[str]] = {}
    totals: Counter[str] = Counter()
    for kind, name in facts.names():
        by_type.setdefault(kind, Counter()).update(set(_WORD.findall(name)))
        totals[kind] += 1
    for kind, words in by_type.items():
        few = max(2, 0.05 * totals[kind])
        found |= {
            word for word, count in words.items() if count <= few and 2 * count <= totals[kind] and word[0].isupper()
        }
    return frozenset(found)
