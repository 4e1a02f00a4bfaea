"""Rewording pages: statements are replaced by marks, the prose around them may be rewritten, and the statements are put back."""

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeAlias

from simtrain.files.file_model import FileModel
from simtrain.files.jsonl import whole_lines
from simtrain.files.yaml_files import parse_line
from simtrain.values.errors import InputError
from simtrain.worlds.search.pages.mentions import StatementRow, mentions

Span: TypeAlias = tuple[int, int]

_LINK: Final = re.compile(r"!?\[[^\]]*\]\([^)\s]*\)")
_MARK: Final = re.compile(r"⟦(\d+)⟧")
_WORD: Final = re.compile(r"[^\W\d_][\w'’-]*")
# Lines of tables, lists, headings and code.
_NO_PROSE: Final = re.compile(r"\s*(?:\||[-*+>]\s|#|\d+[.)]\s|```)")
_STRANGE: Final = re.compile(r"[0-9\[\]<>|`#\\⟦⟧]")
_ENDS: Final = '.!?:\n“"('
_NUMBERS: Final = frozenset(
    re.findall(
        r"\w+",
        "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"
        " thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen half third quarter",
    )
)
SHORTEST: Final = 0.5
LONGEST: Final = 3.0
"""Shortest and longest rewording, relative to the number of words before."""


class Reworded(FileModel):
    """A line of a file of rewordings: the page's URL, a digest of its original text, and the new text with marks."""

    url: str
    was: str
    text: str


@dataclass(frozen=True, slots=True)
class Cut:
    """A page split up: `text` is its prose with ⟦1⟧, ⟦2⟧ ... for `parts`, the spans of the body that must not change.

    `blocks` holds the numbers of parts that are whole lines: tables, lists, headings.
    """

    body: str
    text: str
    parts: tuple[Span, ...]
    blocks: frozenset[int]

    def part(self, number: int) -> str:
        """Return a part by its number, counted from 1."""
        start, end = self.parts[number - 1]
        return self.body[start:end]


def cut(body: str, stated: Iterable[Span]) -> Cut:
    """Return the page with marks for every statement, every link, and every line that is not prose."""
    blocks = list(_blocks(body))
    parts = _merged([*blocks, *stated, *(match.span() for match in _LINK.finditer(body))])
    text, place = "", 0
    for number, (start, end) in enumerate(parts, 1):
        text += f"{body[place:start]}⟦{number}⟧"
        place = end
    return Cut(
        body, text + body[place:], tuple(parts), frozenset(parts.index(block) + 1 for block in blocks if block in parts)
    )


def faults(page: Cut, text: str) -> list[str]:
    """Return the reasons why a reworded page cannot replace the original; empty if it can."""
    found: list[str] = []
    marks = Counter(int(mark) for mark in _MARK.findall(text))
    for number in range(1, len(page.parts) + 1):
        if marks[number] != 1:
            found.append(f"⟦{number}⟧ stands {marks[number]} times, and must stand once")
        elif number in page.blocks and re.search(rf"^⟦{number}⟧$", text, re.MULTILINE) is None:
            found.append(f"⟦{number}⟧ must be on a line of its own")
    found += [f"there is no ⟦{number}⟧" for number in sorted(marks) if not 0 < number <= len(page.parts)]
    # An order is only compared once every mark is there, once.
    found += [] if found else _swapped(page, [int(mark) for mark in _MARK.findall(text)])
    own, other = _MARK.sub(" ", page.text), _MARK.sub(" ", text)
    # Counted, since the original prose may have some of these signs itself, as between links.
    strange = next((one for one in _STRANGE.finditer(other) if other.count(one[0]) > own.count(one[0])), None)
    if strange is not None:
        found.append(f"{strange[0]!r} may not be used outside of the marks")
    if any(_NO_PROSE.match(line) and not _MARK.match(line) for line in text.splitlines()):
        found.append("only prose may be written: no lists, tables or headings")
    known = {word.casefold() for word in _WORD.findall(own)}
    found += [f"{word!r} may be a name or a number that nothing states" for word in _claims(text, known)]
    words, had = len(other.split()), len(own.split())
    if not SHORTEST * had <= words <= max(LONGEST * had, had + 20):
        found.append(f"it has {words} words beside the marks, and had {had}")
    return found


def _swapped(page: Cut, order: Sequence[int]) -> Iterator[str]:
    """Yield the marks that may have changed places. Figures must keep their order, and so must names, or a reader could mix them up."""
    for form in ("figure", "name"):
        alike = [number for number in order if number not in page.blocks and _form(page.part(number)) == form]
        for before, after in pairwise(alike):
            if before > after and page.part(before) != page.part(after):
                yield f"⟦{after}⟧ and ⟦{before}⟧ have changed places, and must keep their order"


def _form(part: str) -> str:
    shown = part.rpartition("](")[0] or part
    return "figure" if any(letter.isdigit() for letter in shown) else "name"


def joined(page: Cut, text: str) -> tuple[str, dict[int, int]]:
    """Return the body with the parts put back, and the position of each part by its number."""
    body, place, starts = "", 0, dict[int, int]()
    for mark in _MARK.finditer(text):
        body += text[place : mark.start()]
        starts[int(mark[1])] = len(body)
        body += page.part(int(mark[1]))
        place = mark.end()
    return body + text[place:], starts


def digest(body: str) -> str:
    """Return a digest of the original text, which shows later whether a rewording still fits."""
    return blake2b(body.encode(), digest_size=8).hexdigest()


def read_reworded(path: Path) -> Iterator[tuple[int, Reworded]]:
    """Yield the lines of a file of rewordings, with their numbers. Raises InputError for an invalid file."""
    if not path.is_file():
        raise InputError("there is no such file", remedy="`simtrain world enrich` writes one", file=path)
    for number, line in whole_lines(path):
        yield number, parse_line(Reworded, line, file=path, line=number, what="no other words for a page")


def cut_page(connection: sqlite3.Connection, page: int, body: str) -> Cut:
    """Return a page of a world file split up."""
    rows = connection.execute("select start, start + length from _statements where page = ?", (page,))
    return cut(body, rows.fetchall())


def reword_file(connection: sqlite3.Connection, path: Path) -> int:
    """Replace the text of pages by their rewordings from a file, and return how many were replaced.

    Pages whose text has changed since (other seed, size or wording) are left alone. Raises InputError for a rewording that changes a
    fact.
    """
    done = 0
    for number, line in read_reworded(path):
        row = connection.execute("select id, title, body from _pages where url = ?", (line.url,)).fetchone()
        if row is None or digest(row[2]) != line.was:
            continue
        page, title, body = row
        apart = cut_page(connection, page, body)
        wrong = faults(apart, line.text)
        if wrong:
            raise InputError(f"{line.url}: {wrong[0]}", remedy="remove the line", file=path, line=number)
        _replace(connection, page, title, apart, line.text)
        done += 1
    return done


def _replace(connection: sqlite3.Connection, page: int, title: str, apart: Cut, text: str) -> None:
    body, starts = joined(apart, text)
    columns = ", ".join(StatementRow._fields)
    stated = map(StatementRow._make, connection.execute(f"select {columns} from _statements where page = ?", (page,)))
    moved = [one._replace(start=_moved(apart, starts, one.start)) for one in stated]
    connection.execute("delete from _mentions where page = ?", (page,))
    connection.executemany("insert into _mentions values (?, ?, ?, ?, ?)", mentions(page, moved))
    # FTS5 with external content must be told the old text to remove its words.
    forget = "insert into _index (_index, rowid, title, body) values ('delete', ?, ?, ?)"
    connection.execute(forget, (page, title, apart.body))
    connection.execute("update _pages set body = ? where id = ?", (body, page))
    connection.execute("insert into _index (rowid, title, body) values (?, ?, ?)", (page, title, body))


def _moved(apart: Cut, starts: dict[int, int], place: int) -> int:
    """Return the new position of a place inside a part that has moved."""
    number, begin = next((number, start) for number, (start, end) in enumerate(apart.parts, 1) if start <= place < end)
    return starts[number] + place - begin


def _blocks(body: str) -> Iterator[Span]:
    """Yield the runs of lines that are not prose."""
    place = 0
    begin: int | None = None
    end = 0
    for line in body.splitlines(keepends=True):
        plain = line.rstrip("\n")
        if plain.strip() and _NO_PROSE.match(plain):
            begin, end = place if begin is None else begin, place + len(plain)
        elif plain.strip() and begin is not None:
            yield begin, end
            begin = None
        place += len(line)
    if begin is not None:
        yield begin, end


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Return the spans in order, with overlapping ones merged."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _claims(text: str, known: set[str]) -> Iterator[str]:
    """Yield new words that may claim something: capitalised words within a sentence, and numbers in words."""
    for word in _WORD.finditer(text):
        folded = word[0].casefold().removesuffix("'s").removesuffix("’s")
        if folded in known:
            continue
        before = text[: word.start()].rstrip(" *_")
        if folded in _NUMBERS or (word[0][0].isupper() and before and before[-1] not in _ENDS):
            yield word[0]
