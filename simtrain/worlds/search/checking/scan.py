"""What a page says beside its statements: nothing there may be a number, a date, an amount, a unit or a name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from simtrain.worlds.search.checking.facts import Facts

Span = tuple[int, int]

FEW: Final = 5
"""Pages of a kind of a site below which a word of its prose may begin a sentence nowhere else and be no name."""
OFTEN: Final = 2
"""Pages on which a capitalised word of the prose stands, so that it is no invented name."""

_TARGET = re.compile(r"\]\(([^()\s]*)\)")
_NUMBER = re.compile(r"\d[\d.,:/-]*")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_NEXT_WORD = re.compile(r"[ \u00a0]?([^\W\d_][^\W\d_/²³]*(?:/[^\W\d_]+)?[²³]?|%|°)")
_BEGINS = '.!?:;*|#>-–—("“\n'


@dataclass(frozen=True, slots=True)
class Page:
    """A page to be read: `kind` is (site, kind of page, type that it is about).

    A span of a statement comes with the units that may follow a bare number in it; None where it holds none.
    """

    id: int
    kind: tuple[int, str, str | None]
    title: str
    body: str
    spans: Sequence[tuple[Span, frozenset[str] | None]]


@dataclass
class Prose:
    """The words outside of statements, over all pages; what may be a name is kept until all pages are read."""

    facts: Facts
    units: frozenset[str]
    known: frozenset[str]
    _own: frozenset[str] = frozenset()
    _lower: set[str] = field(default_factory=set[str])
    _seen: Counter[str] = field(default_factory=Counter[str])
    _kinds: Counter[tuple[int, str, str | None]] = field(default_factory=Counter[tuple[int, str, str | None]])
    _suspects: list[_Suspect] = field(default_factory=list["_Suspect"])

    def __post_init__(self) -> None:
        self._own = _name_words(self.facts)

    def read(self, page: Page, names: Callable[[], Iterable[str]]) -> list[tuple[int, str]]:
        """The problems of one page, as (place in the body, what). `names` are all words for what the page is about and states."""
        self._kinds[page.kind] += 1
        targets = [match.span(1) for match in _TARGET.finditer(page.body)]
        masked = _masked(page.body, [*(span for span, _ in page.spans), *targets])
        found = [
            (number.start(), f"the number {number[0]!r} is stated by nothing") for number in _NUMBER.finditer(masked)
        ]
        for (_, end), units in page.spans:
            word = _NEXT_WORD.match(page.body, end)
            if units is not None and word is not None and word[1] in self.units and word[1] not in units:
                found.append(
                    (word.start(1), f"the unit {word[1]!r} follows a number that is in another one, or in none")
                )
        self._note(page, masked)
        return found + self._title(page, names)

    def _title(self, page: Page, names: Callable[[], Iterable[str]]) -> list[tuple[int, str]]:
        """A title may only say what the page itself states, by whatever name."""
        stated = {page.body[start:end] for (start, end), _ in page.spans}
        masked = _without(page.title, stated)
        if _NUMBER.search(masked) or any(self._may_be_name(word) for word in _WORD.findall(masked)):
            masked = _without(page.title, stated.union(names()))
        self._note(page, masked)
        return [(0, f"the number {number[0]!r} in the title is not on the page") for number in _NUMBER.finditer(masked)]

    def late(self) -> list[tuple[int, int, str]]:
        """(page, place, what): names among the prose, once all pages are read."""
        return [
            (one.page, one.place, f"the name {one.word!r} is stated by nothing")
            for one in self._suspects
            if one.word in self._own or not self._is_prose(one)
        ]

    def _is_prose(self, one: _Suspect) -> bool:
        folded = one.word.casefold()
        if folded in self._lower or folded in self.known or self._seen[one.word] >= OFTEN:
            return True
        return one.begins and self._kinds[one.kind] < FEW

    def _may_be_name(self, word: str) -> bool:
        return word in self._own or (word[0].isupper() and word.casefold() not in self.known)

    def _note(self, page: Page, masked: str) -> None:
        """Remember the words of a page's prose, and those that may be names."""
        capitals: set[str] = set()
        words = list(_WORD.finditer(masked))
        for index, word in enumerate(words):
            text = word[0].removesuffix("'s").removesuffix("’s").rstrip("'’")
            if text[0].islower():
                self._lower.add(text.casefold())
                continue
            capitals.add(text)
            if self._seen[text] < OFTEN or text in self._own:
                before = masked[: word.start()].rstrip(" \t\u00a0")
                follower = words[index + 1] if index + 1 < len(words) else None
                pair = follower is not None and follower[0][0].isupper() and follower.start() == word.end() + 1
                begins = (not before or before[-1] in _BEGINS) and not pair
                self._suspects.append(_Suspect(page.id, page.kind, word.start(), text, begins))
        self._seen.update(capitals)


@dataclass(frozen=True, slots=True)
class _Suspect:
    page: int
    kind: tuple[int, str, str | None]
    place: int
    word: str
    begins: bool


def _without(title: str, words: Iterable[str]) -> str:
    """A title with the words masked, whatever their case."""
    folded = title.lower()
    if len(folded) != len(title):
        return title
    spans: list[Span] = []
    for text in sorted(words, key=len, reverse=True):
        place = folded.find(text.lower()) if text else -1
        while place >= 0:
            spans.append((place, place + len(text)))
            place = folded.find(text.lower(), place + len(text))
    return _masked(title, spans)


def _masked(text: str, spans: Iterable[Span]) -> str:
    letters = list(text)
    for start, end in spans:
        letters[start:end] = "\x00" * (end - start)
    return "".join(letters[: len(text)])


def _name_words(facts: Facts) -> frozenset[str]:
    """The words that make names: those that only few names of a type share."""
    found: set[str] = set()
    by_type: dict[str, Counter[str]] = {}
    totals: Counter[str] = Counter()
    for kind, name in facts.names():
        by_type.setdefault(kind, Counter()).update(set(_WORD.findall(name)))
        totals[kind] += 1
    for kind, words in by_type.items():
        found |= {word for word, count in words.items() if count <= max(2, 0.05 * totals[kind]) and word[0].isupper()}
    return frozenset(found)
