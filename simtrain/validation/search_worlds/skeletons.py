"""How often the sentences of a world recur. Each is reduced to a skeleton: its words without names, numbers and dates."""

import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from simtrain.values.months import MONTHS
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.search.checking.facts import FactTables

MANY: Final = 10
"""Other pages above which a skeleton counts as shared."""
MOST_SHARED: Final = 0.6
"""The share of sentences that may have a shared skeleton."""
MEASURED: Final = 10_000
"""Pages of a world at which that share holds; fewer pages repeat less, more repeat more."""

_MONTH = "|".join((*MONTHS, *(month[:3] for month in MONTHS)))
_DATE = re.compile(rf"\d{{1,2}} (?:{_MONTH})\.? \d{{4}}|(?:{_MONTH})\.? (?:\d{{1,2}}, )?\d{{4}}")
_NUMBER = re.compile(r"\b[A-Z]*-?[A-Z]*\d[\w.,:/°′″%-]*(?<![.,:])(?: (?:thousand|million|billion|trillion))?")
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()\s]*\)")
_SIGNS = re.compile(r"[*`]{1,3}")
_NO_PROSE = re.compile(r"\s*(?:\||#|-{3})")
_ITEM = re.compile(r"^\s*(?:[-*+>]|\d+[.)])\s+")
_SENTENCE = re.compile(r"[^.!?]+(?:[.!?](?!\s|$|[\"”’)])[^.!?]*)*[.!?]+[\"”’)]*(?=\s|$)")
_CAPITAL = re.compile(r"\b[A-ZÀ-ÖØ-Þ][\w’'-]*")
_RUN = re.compile(r"[A-ZÀ-ÖØ-Þ][\w’'-]*(?:[ -](?:of |the |de |von )?[A-ZÀ-ÖØ-Þ][\w’'-]*)*")
_LISTED = re.compile(r"¤(?:(?:,| and| or|, and|, or|;| to|:)? ¤)+")
_SPACES = re.compile(r"\s+")
_MARK = "¤"


@dataclass(frozen=True, slots=True)
class Skeletons:
    """The number of sentences, of those whose skeleton more than ten other pages have, and the most frequent skeletons."""

    sentences: int
    shared: int
    kinds: dict[str, tuple[int, int]]
    """The same by kind of page: sentences, shared."""
    commonest: list[tuple[str, int]]

    @property
    def share(self) -> float:
        """Shared sentences among all."""
        return self.shared / self.sentences if self.sentences else 0.0

    def report(self) -> JsonObject:
        """Return the JSON of a report."""
        kinds: JsonObject = {
            kind: {"sentences": total, "share": round(shared / total, 4)}
            for kind, (total, shared) in self.kinds.items()
        }
        commonest: list[JsonValue] = [{"skeleton": skeleton, "pages": pages} for skeleton, pages in self.commonest]
        return {
            "sentences": self.sentences,
            "shared": self.shared,
            "share": round(self.share, 4),
            "many": MANY,
            "kinds": kinds,
            "commonest": commonest,
        }


def skeletons(connection: sqlite3.Connection, *, shown: int = 10) -> Skeletons:
    """Return the skeletons of all pages of a world file, from finished texts and names alone: a proof shares no code with
    the renderer.
    """
    masker = _Masker(name for _, name in FactTables(connection).names())
    pages: Counter[str] = Counter()
    found: Counter[tuple[str, str]] = Counter()
    rows = connection.execute(
        "select s.name, p.kind, p.body from _pages p join _sites s on s.id = p.site order by p.id"
    )
    for site, kind, body in rows:
        own = [masker.skeleton(sentence) for sentence in sentences(body)]
        # Once a page: a sentence that a page repeats is shared with no other page.
        pages.update(dict.fromkeys(own, 1))
        found.update((f"{site}/{kind}", skeleton) for skeleton in own)
    kinds: dict[str, tuple[int, int]] = {}
    for (kind, skeleton), count in found.items():
        total, shared = kinds.get(kind, (0, 0))
        kinds[kind] = total + count, shared + count * (pages[skeleton] - 1 > MANY)
    commonest = [(skeleton, count) for skeleton, count in pages.most_common(shown) if count - 1 > MANY]
    return Skeletons(found.total(), sum(one for _, one in kinds.values()), dict(sorted(kinds.items())), commonest)


def sentences(body: str) -> Iterator[str]:
    """Yield the sentences of a page, from paragraphs, comments and list items. Tables and headings have none."""
    for line in body.splitlines():
        if _NO_PROSE.match(line):
            continue
        plain = _SIGNS.sub("", _LINK.sub(r"\1", _ITEM.sub("", line)))
        for match in _SENTENCE.finditer(plain):
            yield match[0].strip()


class _Masker:
    """Replaces known names, runs of capitalised words, dates and numbers by a mark."""

    def __init__(self, names: Iterable[str]) -> None:
        by_first: defaultdict[str, set[str]] = defaultdict(set)
        for name in names:
            first = _CAPITAL.match(name)
            if first is not None:
                by_first[first[0]].add(name)
        # Longer names first: one may begin with another.
        self._names = {first: sorted(found, key=lambda name: (-len(name), name)) for first, found in by_first.items()}

    def skeleton(self, sentence: str) -> str:
        """Return the sentence with one mark for each name, number or date; marks that are merely listed are one."""
        text = self._named(sentence)
        text = _NUMBER.sub(_MARK, _DATE.sub(_MARK, text))
        # A single capitalised word at the start is just the first of the sentence.
        text = _RUN.sub(lambda run: _MARK if run.start() or " " in run[0] else run[0], text)
        text = _LISTED.sub(_MARK, text)
        return _SPACES.sub(" ", text).casefold().replace(" an ", " a ")

    def _named(self, text: str) -> str:
        parts: list[str] = []
        place = 0
        for word in _CAPITAL.finditer(text):
            if word.start() < place:
                continue
            name = next((name for name in self._names.get(word[0], ()) if text.startswith(name, word.start())), None)
            if name is not None:
                parts += [text[place : word.start()], _MARK]
                place = word.start() + len(name)
        return "".join(parts) + text[place:]
