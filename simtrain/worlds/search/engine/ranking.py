"""Ranking: BM25 over the full-text index of a world file in two stages, with a total order.

FTS5 finds the CANDIDATES best pages by the rare words of a query; these are then scored over all words. One FTS5 query over all
words would give nearly the same order but take five to ten times as long, since `bm25()` visits the pages of every common word. FTS5
computes BM25 with k1 = 1.2 and b = 0.75 (https://www.sqlite.org/fts5.html#the_bm25_function); the second stage computes the same
from the document lengths that FTS5 stores. Scores are rounded, so that differences in the last digit between machines do not decide;
ties go to the lower page id.
"""

import math
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from heapq import heappush, heappushpop
from typing import Final, TypeAlias, cast

from simtrain.worlds.search.engine.texts import FoldedText, Run, Texts, numbers
from simtrain.worlds.search.engine.tokens import tokens, whole

CANDIDATES: Final = 200
FILLING: Final = 60
"""Further pages that are scored if those with the rare words do not fill the results."""

FEW: Final = 500, 5_000, 1 / 200
"""Words join the first stage, the rarest first, up to a total of this many pages: lower bound, upper bound, share of all pages."""

COMMON: Final = 2_000, 20_000, 1 / 50
"""A word on more pages than this is common: lower bound, upper bound, share of all pages. If all words of a query are common, pages
with all of them are looked for first."""

MOST_WORDS: Final = 32
TITLE_WEIGHT: Final = 2
FIRST: Final = 20
"""Candidates that are scored first. The others are then compared with the best so far."""
AT_ONCE: Final = 80
"""Candidates in each later batch."""
CROSSED: Final = 2_000
"""Most pages of rare words for which FTS5 is asked about the other words; beyond that, texts are read instead."""

_K1, _B = 1.2, 0.75
_LEAST_IDF = 1e-6
_DIGITS = 9
# SQLite and Python add in different orders. A candidate is skipped only if it is worse by more than that can explain.
_TOLERANCE = 1e-6
_VOCABULARY = "temp._vocabulary"


@dataclass(frozen=True, slots=True)
class Hit:
    """A page and its score, higher is better."""

    page: int
    score: float


@dataclass(frozen=True)
class _Term:
    word: str
    pages: int
    idf: float
    weight: float
    """The most that the word can add to a page's score."""

    @property
    def quoted(self) -> str:
        """Return the word quoted for FTS5; a token never contains a quotation mark."""
        return f'"{self.word}"'

    @cached_property
    def found(self) -> Callable[[bytes], list[bytes]]:
        """A function that finds the word in a folded text."""
        return whole(self.word).findall


_Held: TypeAlias = dict[int, list[_Term]]
"""Page -> the words still to be counted that it may contain, the rarest first."""


class Ranking:
    """The ranking of one world file. `run` must be allowed to read the index's own tables."""

    def __init__(self, run: Run, lock: AbstractContextManager[object]) -> None:
        """`lock` keeps other threads away while it is held."""
        self._run = run
        self._lock = lock
        list(run(f"create virtual table {_VOCABULARY} using fts5vocab(main, _index, row)", ()))
        # Row 1 of FTS5's data table holds the totals; `bm25()` reads its averages from there as well.
        self.pages, self._average = _averages(cast(bytes, self._one("select block from _index_data where id = 1")))
        self._texts = Texts(run, title_weight=TITLE_WEIGHT)
        self._term = lru_cache(maxsize=20_000)(self._look_up)

    def top(self, query: str, *, count: int, offset: int = 0, site: int | None = None) -> list[Hit]:
        """Return the best pages of a query, best first, of the site with id `site` if given. A query without words finds none."""
        with self._lock:
            return self._top(query, count, offset, site)

    def _top(self, query: str, count: int, offset: int, site: int | None) -> list[Hit]:
        words = self._terms(query)
        if not words:
            return []
        # Words on most pages say nothing if there are other words; they are used only to fill up the results.
        terms = [term for term in words if term.idf > _LEAST_IDF] or words
        wanted = offset + count
        first, held = self._first_stage(terms, site)
        ranked = self._second_stage(first, held, wanted)
        # Pages without a rare word are used only if those with one do not fill the results.
        if len(ranked) < wanted:
            held = self._others(terms, words, first, site, wanted)
            ranked += self._second_stage(dict.fromkeys(held, 0.0), held, wanted)
        return ranked[offset:wanted]

    def pages_with(self, word: str) -> int:
        """Return the number of pages that contain a word."""
        with self._lock:
            return self._term(word).pages

    def has(self, query: str) -> bool:
        """Return True if a query in FTS5 syntax finds a page."""
        return self._one("select 1 from _index where _index match ? limit 1", query) is not None

    def _terms(self, query: str) -> list[_Term]:
        """Return the words of a query that occur in the index, the rarest first."""
        # Repeated words do not count twice, and pasted texts must not make a query arbitrarily slow.
        words = list(dict.fromkeys(tokens(query)))[:MOST_WORDS]
        found = (self._term(word) for word in words)
        return sorted((term for term in found if term.pages), key=lambda term: (term.pages, term.word))

    def _look_up(self, word: str) -> _Term:
        pages = cast(int, self._one(f"select doc from {_VOCABULARY} where term = ?", word) or 0)
        # FTS5's formula. A word on more than half of the pages would have a negative weight; it gets the least one, as in FTS5.
        idf = math.log((self.pages - pages + 0.5) / (pages + 0.5))
        idf = idf if idf > 0 else _LEAST_IDF
        return _Term(word, pages, idf, idf * (_K1 + 1))

    def _one(self, sql: str, *values: object) -> object:
        row = next(iter(self._run(sql, values)), None)
        return None if row is None else row[0]

    # Which pages

    def _first_stage(self, terms: list[_Term], site: int | None) -> tuple[dict[int, float], _Held]:
        """Return candidates with their score over the rare words, and the other words they may contain; none if all words are common."""
        rare = self._rare(terms)
        if not rare:
            return {}, {}
        wanted = " OR ".join(term.quoted for term in rare)
        # Not round(): SQLite rounds by way of decimal text, which would take as long as everything else.
        sql = (
            f"select rowid, -bm25(_index, {TITLE_WEIGHT}.0, 1.0) as score from _index where _index match ?"
            f"{'' if site is None else _ON_SITE} order by cast(score * 1e{_DIGITS} + 0.5 as integer) desc, rowid limit {CANDIDATES}"
        )
        rows = self._run(sql, (wanted,) if site is None else (wanted, site))
        found = dict(cast("Iterable[tuple[int, float]]", rows))
        others = terms[len(rare) :]
        if sum(term.pages for term in rare) > CROSSED:
            return found, dict.fromkeys(found, others)
        return found, self._held([*found], wanted, [], others)

    def _rare(self, terms: list[_Term]) -> list[_Term]:
        """Return the words of the first stage; none if all are common."""
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
    ) -> _Held:
        """Return further candidates: pages with all terms, then with all but the commonest, and so on; finally those with any word."""
        pages: _Held = {}
        enough = max(wanted, FILLING if found else CANDIDATES)
        together = [
            (" AND ".join(term.quoted for term in terms[:length]), length) for length in range(len(terms), 0, -1)
        ]
        sql = f"select rowid from _index where _index match ?{'' if site is None else _ON_SITE} limit {enough + len(found)}"
        for query, held in (*together, *((word.quoted, 0) for word in words[1:])):
            rows = cast("Iterable[tuple[int]]", self._run(sql, (query,) if site is None else (query, site)))
            fresh = [page for (page,) in rows if page not in found and page not in pages]
            pages.update(self._held(fresh, query, terms[:held], terms[held:]))
            if len(pages) >= enough:
                break
        return pages

    def _held(self, pages: list[int], query: str, stated: list[_Term], others: list[_Term]) -> _Held:
        """Return, for each page found by an FTS5 query, the terms that it may contain: those of the query and some of the others.

        Asking the index is much faster than reading the texts, unless the pages are few.
        """
        if len(pages) <= FIRST:
            return {page: [*stated, *others] for page in pages}
        held = {page: [*stated] for page in pages}
        # A range of ids lets FTS5 skip the rest of a long posting list; with a list of ids it would restart the query for each.
        between = min(pages), max(pages)
        for term in others:
            rows = self._run(_HOLDING, (f"({query}) AND {term.quoted}", *between))
            for (page,) in cast("Iterable[tuple[int]]", rows):
                if page in held:
                    held[page].append(term)
        return held

    # In which order

    def _second_stage(self, candidates: dict[int, float], held: _Held, wanted: int) -> list[Hit]:
        """Return the `wanted` best candidates by exact score.

        Candidates are scored in the order of their highest possible score, until none of the others can be among the best.
        """
        most = {page: score + sum([term.weight for term in held[page]]) for page, score in candidates.items()}
        # The page id breaks ties, so that equal scores have the same order everywhere.
        waiting = sorted(candidates, key=lambda page: (-most[page], page))
        hits: list[Hit] = []
        best: list[float] = []
        # A page's score is at most its first-stage score plus the weights of its other words. Most texts need not be read.
        while waiting:
            least = best[0] - _TOLERANCE if len(best) == wanted else 0.0
            size = AT_ONCE if hits else FIRST
            near = [page for page in waiting[:size] if most[page] >= least]
            waiting = waiting[size:] if len(near) == size else []
            texts = self._texts.of([page for page in near if held[page]])
            for page in near:
                score = candidates[page]
                if held[page]:
                    score = self._added(score, held[page], texts[page])
                # Rounded like the first stage: sums in another order differ in the last bits.
                hits.append(Hit(page, round(score, _DIGITS)))
                (heappush if len(best) < wanted else heappushpop)(best, score)
        return sorted(hits, key=lambda hit: (-hit.score, hit.page))[:wanted]

    def _added(self, score: float, terms: list[_Term], text: FoldedText) -> float:
        """Return the score of a page, increased by further words."""
        plain = text.folded
        long = _K1 * (1 - _B + _B * text.length / self._average)
        for term in terms:
            often = len(term.found(plain))
            if often:
                score += term.weight * often / (often + long)
        return score


_HOLDING = "select rowid from _index where _index match ? and rowid between ? and ?"
_ON_SITE = " and (select site from _pages where _pages.id = _index.rowid) = ?"


def _averages(block: bytes) -> tuple[int, float]:
    """Return the number of pages and their mean length in words, from FTS5's totals: the rows, then the words of each column."""
    pages, *words = numbers(block) or [0]
    return pages, max(sum(words) / pages, 1.0) if pages else 1.0
