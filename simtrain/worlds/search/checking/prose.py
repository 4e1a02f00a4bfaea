"""Checks the prose between statements: it may hold no number, date, amount, unit or name."""

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
"""Site, page kind, and type of the page's subject."""

FEW: Final = 40
"""With fewer pages of a kind than this, a word of the prose may be on one page only, since each page draws among sentences."""
OFTEN: Final = 2
"""A word on at least this many pages is part of the prose, not an invention of one page."""
KEPT: Final = 100
"""Most places remembered for one suspect."""
MOST_JUDGED: Final = 50_000
"""Most cached judgements. Without a limit, prose by a model would fill memory: no two pieces are alike."""

_LETTERS = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")


class Place(NamedTuple):
    """The place of suspect words; `begins` is true at the beginning of a sentence."""

    page: int
    kind: Kind
    place: int
    begins: bool


@dataclass(slots=True)
class WordUse:
    """The number of pages with some suspect words, and the places kept."""

    pages: int = 0
    last: int = 0
    places: list[Place] = field(default_factory=list[Place])


@dataclass
class Prose:
    """The prose of many pages. Suspects are kept until all pages are read. Those of several processes are merged."""

    wording: AuthorProse = NOTHING
    _judged: dict[tuple[str, bool], JudgedPiece] = field(default_factory=dict[tuple[str, bool], JudgedPiece])
    _kinds: Counter[Kind] = field(default_factory=Counter[Kind])
    _small: dict[str, tuple[int, int]] = field(default_factory=dict[str, "tuple[int, int]"])
    _uses: dict[tuple[str, str], WordUse] = field(default_factory=dict[tuple[str, str], WordUse])

    def read(
        self, page: int, kind: Kind, pieces: Sequence[str], place_of: Callable[[int, int], int]
    ) -> list[tuple[int, str]]:
        """Return the problems of one page, as (position, what). `place_of` maps (piece, offset) to a position in the body."""
        self._kinds[kind] += 1
        found: list[tuple[int, str]] = []
        for number, piece in enumerate(pieces):
            own = self._judge(piece, page, last=number == len(pieces) - 1)
            found += [(place_of(number, place), f"{what} is in no statement") for place, what in own.wrong]
            for suspect in own.suspects:
                self._note(suspect, page, kind, number, place_of)
        return found

    def title(self, page: int, kind: Kind, masked: str) -> list[tuple[int, str]]:
        """Return the problems of a title from which stated texts are removed."""
        own = self._judge(masked, page, last=True)
        for suspect in own.suspects:
            # A title may have its own word order, so that runs of words prove nothing.
            if suspect.kind != "run" or not COUNTING.isdisjoint(suspect.words.split()):
                self._note(suspect, page, kind, 0, lambda _, __: 0)
        return [(0, f"{what} in the title is not on the page") for _, what in own.wrong]

    def merge(self, other: Prose) -> None:
        """Add what was read on further pages."""
        self._kinds.update(other._kinds)
        # Own entries stay: parts are merged in order, so the first place of a word is kept.
        self._small = {**other._small, **self._small}
        for key, use in other._uses.items():
            own = self._uses.setdefault(key, WordUse())
            own.pages += use.pages
            own.places += use.places[: KEPT - len(own.places)]

    def report(self) -> Prose:
        """Return what is to be merged: everything but the cache of pieces."""
        return Prose(NOTHING, {}, self._kinds, self._small, self._uses)

    def late(self, facts: FactTables, known: frozenset[str]) -> Iterator[Odd]:
        """Yield names, numbers in words and foreign words in the prose, once all pages are read. `known` words are not names."""
        known |= self.wording.words
        own = {word for word in name_words(facts) if word.casefold() not in self.wording.words}
        for (kind, words), use in self._uses.items():
            for one in use.places:
                problem = self._problem(kind, words, use, one, own, known)
                if problem is not None:
                    yield Odd(one.page, one.place, problem)
        if self.wording.words:
            for word in sorted({word.casefold() for word in own} & self._small.keys() - known):
                yield Odd(*self._small[word], f"the name {word!r} is in no statement")

    def _problem(
        self, kind: str, words: str, use: WordUse, one: Place, own: set[str], known: frozenset[str]
    ) -> str | None:
        if kind == "name":
            fine = words not in own and (len(words) == 1 or _is_known(words, known) or self._is_usual(words, use, one))
            return None if fine else f"the name {words!r} is in no statement"
        if kind == "count":
            # With the author's prose, suspects of kind `run` cover these.
            fine = self.wording.words or use.pages >= OFTEN or self._kinds[one.kind] < FEW
            return None if fine else f"the number in words {words!r} is in no statement"
        return f"the words {words!r} are not the author's, and in no statement"

    def _is_usual(self, word: str, use: WordUse, one: Place) -> bool:
        """Return True if other pages have the word too. With the author's prose, that alone decides, so False."""
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
        # Pages are counted, not occurrences: a page may repeat its own invention.
        if use.last != page:
            use.last = page
            use.pages += 1
        if len(use.places) < KEPT:
            use.places.append(Place(page, kind, place_of(number, suspect.place), suspect.begins))


def without(title: str, words: Iterable[str]) -> str:
    """Return a title with some words replaced by spaces, in any case, unless a letter or digit adjoins them."""
    folded = title.lower()
    # A few letters change length in lower case; positions would then be wrong.
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
    """Return the distinctive words of names: capitalised, and shared by only a few names of a type."""
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
