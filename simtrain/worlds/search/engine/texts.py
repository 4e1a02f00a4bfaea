"""Texts of pages for ranking: folded, read in batches, and cached."""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple, cast

import orjson

from simtrain.worlds.search.engine.tokens import folded_bytes

KEPT: Final = 10_000
"""Page texts kept in memory, a little more than a kilobyte each."""

Run = Callable[[str, Sequence[object]], Iterable[tuple[object, ...]]]
"""Runs one of the engine's own statements over the world file."""

# Read as bytes: text would be decoded here only to be encoded again. The cross join keeps SQLite from scanning all pages.
_TEXTS: Final = (
    "select p.id, s.sz, cast(p.title as blob), cast(p.body as blob) from json_each(?) j"
    " cross join _pages p on p.id = j.value join _index_docsize s on s.id = p.id"
)


class FoldedText(NamedTuple):
    """A page's title and body, folded, the title repeated by its weight; `length` is the number of words of both."""

    folded: bytes
    length: int


class Texts:
    """The texts of one world file."""

    def __init__(self, run: Run, *, title_weight: int) -> None:
        self._run = run
        self._title_weight = title_weight
        self._kept: dict[int, FoldedText] = {}

    def of(self, pages: Collection[int]) -> dict[int, FoldedText]:
        """Return the texts of pages. The latest ones stay cached."""
        unknown = [page for page in pages if page not in self._kept]
        if unknown:
            rows = self._run(_TEXTS, (orjson.dumps(unknown).decode(),))
            for page, sizes, title, body in cast("Iterable[tuple[int, bytes, bytes, bytes]]", rows):
                self._kept[page] = FoldedText(folded_bytes((title + b"\n") * self._title_weight + body), _total(sizes))
        texts = {page: self._kept[page] for page in pages}
        # A dict keeps insertion order, so the oldest go first. Not an LRU: that would reorder on every hit.
        for page in list(islice(self._kept, max(0, len(self._kept) - KEPT))):
            del self._kept[page]
        return texts


def numbers(block: bytes) -> list[int]:
    """Return the SQLite varints in a block: seven bits a byte, the most significant first, the high bit set on all but the last byte."""
    found: list[int] = []
    value = 0
    for byte in block:
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            found.append(value)
            value = 0
    return found


@lru_cache(maxsize=10_000)
def _total(block: bytes) -> int:
    return sum(numbers(block))
