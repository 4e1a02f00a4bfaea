"""Find the rows of a relation (who served where, and when) in the lines of pages about either end."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from simtrain.agents.searching.asked import Condition, ReadQuestion, Wanted
from simtrain.agents.searching.judging import allowed, in_range, meets
from simtrain.agents.searching.knowing import Knowing, Thing
from simtrain.agents.searching.pages import DATE, LINK, OpenedPage, plain_value, plural, stems
from simtrain.agents.searching.reader import Reading
from simtrain.contracts.question import MISSING
from simtrain.values.passages import read_day

_NUMBER: Final = re.compile(r"(?<![\w-])\d[\d,]*(?:\.\d+)?")
_START: Final = frozenset(stems("start since").split())
_TIMES: Final = ("current", "ended", "held_on")


@dataclass(frozen=True, slots=True)
class RelationRow:
    """A row: the things at its two ends, its first and last day as far as stated, and the words of its line."""

    ends: tuple[Thing, Thing]
    days: tuple[str, ...]
    text: str

    def holds(self, condition: Condition) -> bool:
        """True if the row meets a condition on its time."""
        if condition.kind == "current":
            return len(self.days) == 1
        if condition.kind == "ended":
            return len(self.days) == 2
        day = condition.slots["day"]
        return bool(self.days) and self.days[0] <= day and (len(self.days) == 1 or day < self.days[1])


def is_relation(asked: ReadQuestion) -> bool:
    """True if the question wants rows with two names, neither of them the thing itself."""
    if asked.form != "rows" or len(asked.columns) < 2:
        return False
    first, second = (stems(column.path[0]) for column in asked.columns[:2])
    return all(len(column.path) == 1 for column in asked.columns[:2]) and stems(asked.things) not in (first, second)


def related(asked: ReadQuestion, knowing: Knowing) -> Reading[list[list[str]]]:
    """Return the rows of the answer's table that meet the conditions."""
    rows: list[list[str]] = []
    for row in (yield from _rows(asked, knowing)):
        fits = True
        for condition in asked.conditions:
            fits = fits and (yield from _meets(row, condition, asked, knowing))
        if fits:
            cells: list[str] = []
            for wanted in asked.columns:
                cells.append((yield from _cell(row, wanted, asked, knowing)))
            rows.append(cells)
    return rows


def _rows(asked: ReadQuestion, knowing: Knowing) -> Reading[list[RelationRow]]:
    """Return the rows on the page of an end that the question names, else on the pages of all things at the first end."""
    known: list[dict[str, Thing]] = []
    for place in (0, 1):
        things = yield from knowing.listed(plural(asked.columns[place].path[0]), _beyond(asked, place))
        known.append({thing.url: thing for thing in things if thing.url})
    ends = ((condition, _place(condition.path, asked)) for condition in asked.conditions if len(condition.path) == 1)
    named, begin = next(((one, end) for one, end in ends if end is not None and "value" in one.slots), (None, 0))
    starts = list(known[begin].values())
    # From the named end there is one page to read; from the other one there are as many as things.
    if named is not None:
        name = named.slots["value"]
        starts = [thing for thing in starts if thing.name == name] or [Thing(name, None)]
    found: list[RelationRow] = []
    for thing in starts:
        page = yield from knowing.page(thing)
        if page is not None:
            found += _rows_on(page, thing, known[1 - begin], begin)
    return found


def _rows_on(page: OpenedPage, thing: Thing, others: dict[str, Thing], begin: int) -> list[RelationRow]:
    """Return the rows in the lines of a page that link to a thing at the other end."""
    # Only lists and tables: prose that links to another thing may say anything about the two.
    rows: list[RelationRow] = []
    for line in page.text.split("\n"):
        if not line.lstrip().startswith(("-", "*", "|")):
            continue
        for link in LINK.finditer(line):
            other = others.get(link[2])
            if other is not None and other.url != thing.url:
                days = tuple(day for day in map(read_day, DATE.findall(line)) if day)
                rows.append(
                    RelationRow((thing, other) if begin == 0 else (other, thing), days[:2], LINK.sub(" ", line))
                )
                break
    return rows


def _meets(row: RelationRow, condition: Condition, asked: ReadQuestion, knowing: Knowing) -> Reading[bool]:
    if condition.kind in _TIMES:
        return row.holds(condition)
    place = _place(condition.path, asked)
    if place is None:
        if condition.kind in ("equals", "either", "differs"):
            mentioned = any(word in row.text.casefold() for word in allowed(condition.slots))
            return mentioned is (condition.kind != "differs")
        numbers = _NUMBER.findall(DATE.sub(" ", row.text))
        return any(in_range(condition.kind, number, condition.slots) for number in numbers)
    thing = row.ends[place]
    if len(condition.path) == 1:
        return thing.name == condition.slots.get("value")
    inner = Condition(condition.kind, condition.path[1:], condition.slots, condition.other[1:])
    return (yield from meets(thing, inner, knowing))


def _cell(row: RelationRow, wanted: Wanted, asked: ReadQuestion, knowing: Knowing) -> Reading[str]:
    place = _place(wanted.path, asked)
    if place is None:
        if _START & set(stems(wanted.path[0].replace("|", " ")).split()):
            return row.days[0] if row.days else MISSING
        numbers = _NUMBER.findall(DATE.sub(" ", row.text))
        return plain_value(numbers[0], "number") if numbers and wanted.unit else MISSING
    if len(wanted.path) == 1:
        return row.ends[place].name
    return (yield from knowing.cell(row.ends[place], wanted.path[1:], wanted.unit))


def _place(path: Sequence[str], asked: ReadQuestion) -> int | None:
    """Return the end that a path starts from; None for an attribute of the row itself."""
    return next((place for place in (0, 1) if path and stems(path[0]) == stems(asked.columns[place].path[0])), None)


def _beyond(asked: ReadQuestion, place: int) -> list[str]:
    """Return the labels of the attributes of the things at an end."""
    paths = [one.path for one in (*asked.conditions, *asked.columns) if _place(one.path, asked) == place]
    return list(dict.fromkeys(path[1] for path in paths if len(path) > 1))
