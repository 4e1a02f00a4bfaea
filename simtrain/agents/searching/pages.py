"""Parse a page: its links, tables and fields, and values that its prose states next to a label."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

from simtrain.values.passages import read_amount, read_day

Likeness: TypeAlias = Literal["date", "number", "text"]

LINK: Final = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_FIELD: Final = re.compile(r"^\s*(?:[-*]\s+)?(?:\*\*)?([^:*|\n]{2,40}?)(?::\*\*|\*\*:|:)\s+(.+?)\s*$", re.MULTILINE)
_RULE: Final = re.compile(r"^\s*\|?[\s:|-]+\|?\s*$")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_NEXT: Final = re.compile(r"\b(next|older|more)\b", re.IGNORECASE)
_WORD: Final = re.compile(r"\w+")
_NUMBER: Final = re.compile(r"\d[\d,]*(?:\.\d+)?(?: (?:thousand|million|billion|trillion)\b)?(?: ?[^\W\d_]+[²³]?)?")
DATE: Final = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2} [A-Z][a-z]+ \d{4}|[A-Z][a-z]+ \d{1,2}, \d{4}|\d\d\.\d\d\.\d{4}")
_STEM: Final = 4
_DULL: Final = frozenset({"of", "the", "on", "a", "in", "yearly", "last", "total", "registered"})


@dataclass(frozen=True, slots=True)
class ToldValue:
    """A value as a page states it, and the target of its link."""

    text: str
    url: str | None = None


@dataclass(frozen=True)
class MarkdownTable:
    """A markdown table: its headings and rows."""

    headings: tuple[str, ...]
    rows: tuple[tuple[ToldValue, ...], ...] = field(repr=False)


@dataclass(frozen=True)
class OpenedPage:
    """A page that was opened; its links are absolute."""

    url: str
    title: str
    date: str
    text: str

    @cached_property
    def links(self) -> list[ToldValue]:
        """Return every link, in page order."""
        return [ToldValue(text, url) for text, url in LINK.findall(self.text)]

    @property
    def next(self) -> str | None:
        """Return the URL of the next page of a list."""
        return next((link.url for link in self.links if _NEXT.search(link.text)), None)

    @cached_property
    def tables(self) -> list[MarkdownTable]:
        """Return the tables of the page."""
        return list(_tables(self.text.split("\n")))

    @cached_property
    def fields(self) -> dict[str, ToldValue]:
        """Return the values of lines such as `Crew: 136`, by the stems of their label."""
        return {stems(label): _cell(value) for label, value in _FIELD.findall(self.text)}

    def value(self, label: str, like: Likeness) -> ToldValue | None:
        """Return the value that the page states about its subject under a label: in a field, else in a sentence with the label's words."""
        found = self.fields.get(stems(label))
        return found if found is not None else self._in_prose(label, like)

    def row(self, name: str) -> dict[str, ToldValue]:
        """Return the values in table rows that begin with a name, by the stems of their headings."""
        return {
            stems(heading): cell
            for table in self.tables
            for row in table.rows
            if row and row[0].text.casefold() == name.casefold()
            for heading, cell in zip(table.headings[1:], row[1:], strict=True)
        }

    def _in_prose(self, label: str, like: Likeness) -> ToldValue | None:
        """Return the value in a sentence with all words of the label, else with its last: `36 berths` for docking berths."""
        wanted = [word for word in stems(label).split() if word not in _DULL]
        for sought in (wanted, wanted[-1:]):
            for sentence in _SENTENCE.split(self.text):
                if sentence.startswith("|") or not sought:
                    continue
                words = stems(LINK.sub(r"\1", sentence)).split()
                statement = _nearest(sentence, sought, like) if all(word in words for word in sought) else None
                if statement is not None:
                    return statement
        return None

    def mentions(self, text: str) -> bool:
        """True if the page contains these words in this order."""
        return re.search(rf"(?<!\w){re.escape(text.casefold())}(?!\w)", self.text.casefold()) is not None


def stems(text: str) -> str:
    """Return the stems of the words of a text, for comparing labels: `Opened` and `opening` are equal."""
    return " ".join(word[:_STEM].rstrip("s") or word for word in _WORD.findall(text.casefold()))


def plural(noun: str) -> str:
    """Return the plural of a noun, of the first of several synonyms; one that ends like a plural is returned unchanged."""
    first = noun.partition("|")[0]
    return first if first.endswith("s") else f"{first}s"


def _nearest(sentence: str, wanted: Sequence[str], like: Likeness) -> ToldValue | None:
    """Return the value of a sentence nearest to the words of a label; of two equally near, the one after them."""
    whole = re.search(r"\w*\W+(?:\w+\W+)?".join(rf"\b{re.escape(word)}" for word in wanted), sentence.casefold())
    place = (
        whole.start() if whole else min(filter(lambda at: at >= 0, map(sentence.casefold().find, wanted)), default=-1)
    )
    if place < 0:
        return None
    if like == "text":
        links = [(abs(found.start() - place), ToldValue(found[1], found[2])) for found in LINK.finditer(sentence)]
        return min(links, key=lambda item: item[0])[1] if links else None
    # Dates and links are masked by as many signs, since their digits are no figures and positions must stay.
    plain = sentence if like == "date" else DATE.sub(lambda found: "-" * len(found[0]), sentence)
    values = list((DATE if like == "date" else _NUMBER).finditer(LINK.sub(lambda link: "-" * len(link[0]), plain)))
    if not values:
        return None
    # "opened in 1901" and "1901 opening": nearness decides, and English puts the value after its label more often.
    best = min(values, key=lambda found: (abs(found.start() - place), found.start() < place))
    return ToldValue(best[0])


def _tables(lines: list[str]) -> Iterator[MarkdownTable]:
    place = 0
    while place + 1 < len(lines):
        if "|" in lines[place] and "|" in lines[place + 1] and _RULE.match(lines[place + 1]):
            headings = tuple(cell.text for cell in _cells(lines[place]))
            rows: list[tuple[ToldValue, ...]] = []
            place += 2
            while place < len(lines) and lines[place].lstrip().startswith("|"):
                rows.append(_cells(lines[place]))
                place += 1
            yield MarkdownTable(headings, tuple(row for row in rows if len(row) == len(headings)))
        else:
            place += 1


def _cells(line: str) -> tuple[ToldValue, ...]:
    return tuple(_cell(cell.strip()) for cell in line.strip().strip("|").split("|"))


def _cell(text: str) -> ToldValue:
    link = LINK.search(text)
    # A cell that is mostly a link is the thing itself; a link in a longer text only belongs to a word of it.
    if link is not None and len(link[0]) > len(text) / 2:
        return ToldValue(link[1], link[2])
    return ToldValue(LINK.sub(r"\1", text).strip("* "))


@lru_cache(maxsize=4096)
def family(url: str) -> str:
    """Return the common part of the URLs of one kind's pages: the host, and the path without its last segment."""
    parts = urlsplit(url)
    return f"{parts.netloc}{parts.path.rpartition('/')[0]}"


def plain_value(text: str, like: Likeness) -> str:
    """Return a value in the form of an answer's table: ISO dates, bare numbers, unchanged texts."""
    if like == "date":
        return read_day(text) or text
    if like == "number":
        number = read_amount(text)
        if number is None:
            return text
        return str(int(number)) if float(number).is_integer() else repr(round(number, 6))
    return text
