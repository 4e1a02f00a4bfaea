"""Ranking: BM25 over the full-text index of a world file in two stages, with a total order.

First the pages that hold the rare words of a query are found by the index itself (FTS5), the best CANDIDATES of them; then these are
scored exactly over all words. What FTS5 computes is BM25 with k1 = 1.2 and b = 0.75 (https://www.sqlite.org/fts5.html#the_bm25_function);
the second stage computes the same. Scores are rounded, so that no machine's last digit decides; ties go to the lower page id.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple, cast

from simtrain.worlds.search.tokens import folded, tokens, whole

CANDIDATES: Final = 200
FILLING: Final = 60
"""Pages that are looked at where those with the rare words do not fill the results."""

FEW: Final = 500, 5_000, 1 / 200
"""Words join the first stage, the rarest first, while the pages that they are on are few in all: at least, at most, share of all pages."""

COMMON: Final = 2_000, 20_000, 1 / 50
"""From how many pages on a word is common: at least, at most, share of all pages. Where all words are, pages that hold all of them are
looked for."""

MOST_WORDS: Final = 32
TITLE_WEIGHT: Final = 2
KEPT: Final = 10_000
"""Texts of pages that are kept in memory, a little more than a kilobyte each."""


_K1, _B = 1.2, 0.75
_LEAST_IDF = 1e-6
_DIGITS = 9
_TOLERANCE = 1e-6
_VOCABULARY = "temp._vocabulary"


@dataclass(frozen=True, slots=True)
class Hit:
    """A page and its score, higher is better."""

    page: int
    score: float


@dataclass(frozen=True, slots=True)
class _Term:
    word: str
    pages: int
    idf: float

    @property
    def weight(self) -> float:
        """What the word adds to a page's score at most."""
        return self.idf * (_K1 + 1)

    @property
    def quoted(self) -> str:
        """The word as FTS5 reads it; a token holds no quotation mark."""
        return f'"{self.word}"'


Run = Callable[[str, Sequence[object]], Iterable[tuple[object, ...]]]
"""Carries out one statement of the engine's own over the world file."""


class Ranking:
    """The ranking of one world file. `run` must be allowed to read the index's own tables."""

    def __init__(self, run: Run, lock: AbstractContextManager[object]) -> None:
        """`lock`, held, keeps other threads away."""
        self._run = run
        self._lock = lock
        list(run(f"create virtual table {_VOCABULARY} using fts5vocab(main, _index, row)", ()))
        self.pages, self._average = _averages(cast(bytes, self._one("select block from _index_data where id = 1")))
        self._kept: dict[int, _Text] = {}
        self._term = lru_cache(maxsize=20_000)(self._look_up)

    def top(self, query: str, *, count: int, offset: int = 0, site: int | None = None) -> list[Hit]:
        """The best pages of a query, best first; on one site where `site` is its id. A query without words has none."""
        with self._lock:
            return self._top(query, count, offset, site)

    def _top(self, query: str, count: int, offset: int, site: int | None) -> list[Hit]:
        words = self._terms(query)
        if not words:
            return []
        # Words on most pages tell nothing where there are others; they only fill up the results.
        terms = [term for term in words if term.idf > _LEAST_IDF] or words
        wanted = offset + count
        first, stated = self._first_stage(terms, site)
        ranked = self._second_stage(terms, first, stated, wanted)
        if len(ranked) < wanted:
            ranked += self._second_stage(terms, self._others(terms, words, first, site, wanted), None, wanted)
        return ranked[offset:wanted]

    def pages_with(self, word: str) -> int:
        """On how many pages a word stands."""
        with self._lock:
            return self._term(word).pages

    def has(self, query: str) -> bool:
        """Whether a query, as FTS5 reads it, finds a page."""
        return self._one("select 1 from _index where _index match ? limit 1", query) is not None

    def _terms(self, query: str) -> list[_Term]:
        """The words of a query that are in the index at all, the rarest first."""
        words = list(dict.fromkeys(tokens(query)))[:MOST_WORDS]
        found = (self._term(word) for word in words)
        return sorted((term for term in found if term.pages), key=lambda term: (term.pages, term.word))

    def _look_up(self, word: str) -> _Term:
        pages = cast(int, self._one(f"select doc from {_VOCABULARY} where term = ?", word) or 0)
        idf = math.log((self.pages - pages + 0.5) / (pages + 0.5))
        return _Term(word, pages, idf if idf > 0 else _LEAST_IDF)

    def _one(self, sql: str, *values: object) -> object:
        row = next(iter(self._run(sql, values)), None)
        return None if row is None else row[0]

    # Which pages

    def _first_stage(self, terms: list[_Term], site: int | None) -> tuple[dict[int, float], list[_Term] | None]:
        """Candidates with their score over the rare words, and which words those are; no score where all words are common."""
        rare = self._rare(terms)
        if not rare:
            return {}, None
        wanted = " OR ".join(term.quoted for term in rare)
        sql = (
            f"select rowid, -bm25(_index, {TITLE_WEIGHT}.0, 1.0) as score from _index where _index match ?"
            f"{'' if site is None else _ON_SITE} order by round(score, {_DIGITS}) desc, rowid limit {CANDIDATES}"
        )
        rows = self._run(sql, (wanted,) if site is None else (wanted, site))
        return {cast(int, page): cast(float, score) for page, score in rows}, rare

    def _rare(self, terms: list[_Term]) -> list[_Term]:
        """The words of the first stage; none where all are common."""
        if terms[0].pages > self._share(COMMON):
            return []
        few = self._share(FEW)
        taken, pages = terms[:1], terms[0].pages
        for term in terms[1:]:
            pages += term.pages
            if pages > few:
                break
            taken.append(term)
        return taken

    def _share(self, bounds: tuple[int, int, float]) -> int:
        least, most, share = bounds
        return min(max(least, int(self.pages * share)), most)

    def _others(
        self, terms: list[_Term], words: list[_Term], found: dict[int, float], site: int | None, wanted: int
    ) -> dict[int, float]:
        """Further candidates: pages that hold all terms, then all but the commonest, and so on; at last those that hold any word."""
        pages: dict[int, float] = {}
        enough = max(wanted, FILLING if found else CANDIDATES)
        together = [" AND ".join(term.quoted for term in terms[:length]) for length in range(len(terms), 0, -1)]
        sql = f"select rowid from _index where _index match ?{'' if site is None else _ON_SITE} limit {enough + len(found)}"
        for asked in (*together, *(word.quoted for word in words[1:])):
            for (page,) in self._run(sql, (asked,) if site is None else (asked, site)):
                if page not in found:
                    pages[cast(int, page)] = 0.0
            if len(pages) >= enough:
                break
        return pages

    # In which order

    def _second_stage(
        self, terms: list[_Term], candidates: dict[int, float], stated: list[_Term] | None, wanted: int
    ) -> list[Hit]:
        """The wanted ones of the candidates by their exact score. After each word that is not in it yet, those that all that is left
        cannot lift high enough are not looked at any more."""
        others = [term for term in terms if term not in (stated or ())]
        left = sum(term.weight for term in others)
        scores = _within_reach(candidates, wanted, left)
        texts = self._texts(scores) if others else {}
        for term in others:
            left -= term.weight
            found = whole(term.word).findall
            for page in scores:
                plain, long = texts[page]
                often = len(found(plain))
                if often:
                    scores[page] += term.weight * often / (often + long)
            scores = _within_reach(scores, wanted, left)
        return sorted((Hit(page, round(score, _DIGITS)) for page, score in scores.items()), key=_place)[:wanted]

    def _texts(self, pages: Collection[int]) -> dict[int, _Text]:
        """The texts of pages; those that were wanted lately are still there."""
        unknown = [page for page in pages if page not in self._kept]
        rows = cast(
            "Iterable[tuple[int, bytes, str, str]]", self._run(_TEXTS.format(",".join("?" * len(unknown))), unknown)
        )
        for page, sizes, title, body in rows:
            long = _K1 * (1 - _B + _B * _total(sizes) / self._average)
            self._kept[page] = _Text(folded(f"{title}\n" * TITLE_WEIGHT + body), long)
        texts = {page: self._kept[page] for page in pages}
        for page in list(islice(self._kept, max(0, len(self._kept) - KEPT))):
            del self._kept[page]
        return texts


class _Text(NamedTuple):
    """A page's words, folded, those of its title as often as they weigh; `long` is what its length weighs."""

    plain: str
    long: float


_TEXTS = "select p.id, s.sz, p.title, p.body from _pages p join _index_docsize s on s.id = p.id where p.id in ({})"
_ON_SITE = " and (select site from _pages where _pages.id = _index.rowid) = ?"


def _within_reach(scores: dict[int, float], wanted: int, left: float) -> dict[int, float]:
    """The pages that may still be among the wanted ones where words that weigh so much are left to count."""
    if len(scores) <= wanted:
        return dict(scores)
    least = sorted(scores.values(), reverse=True)[wanted - 1] - left - _TOLERANCE
    return {page: score for page, score in scores.items() if score >= least}


def _place(hit: Hit) -> tuple[float, int]:
    return -hit.score, hit.page


def _averages(block: bytes) -> tuple[int, float]:
    """The number of pages and their mean length in words, as FTS5 keeps them: the rows, and then the words of each column."""
    pages, *words = _numbers(block) or [0]
    return pages, max(sum(words) / pages, 1.0) if pages else 1.0


@lru_cache(maxsize=10_000)
def _total(block: bytes) -> int:
    return sum(_numbers(block))


def _numbers(block: bytes) -> list[int]:
    """The variable-length integers of SQLite in a row."""
    numbers: list[int] = []
    value = 0
    for byte in block:
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            numbers.append(value)
            value = 0
    return numbers
