"""Reads dates in the cells of a table, independently of today's date."""

import re
from dataclasses import dataclass
from datetime import date
from typing import Final

from simtrain.questions.widesearch.words import plain
from simtrain.values.months import MONTH_NUMBERS

MAX_TEXT: Final = 120

_MONTHS: Final = {**MONTH_NUMBERS, "sept": 9}
_WORD = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAYS = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+"
_Y, _M, _D = r"(?P<y>\d{4})", r"(?P<m>\d{1,2})", r"(?P<d>\d{1,2})"
_NAME = rf"(?P<name>{_WORD})\.?"
_ORDINAL = r"(?:st|nd|rd|th)?"
_CLOCK = r"(?:[t\s]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s*(?:z|utc|[+-]\d{2}:?\d{2})?)?"
_FORMS: Final = tuple(
    re.compile(form)
    for form in (
        rf"{_Y}[-/.]{_M}[-/.]{_D}{_CLOCK}",
        rf"{_Y}[-/.]{_M}",
        rf"{_Y}(?:年)?",
        rf"{_Y}\s*年\s*{_M}\s*月\s*{_D}\s*日",
        rf"{_Y}\s*年\s*{_M}\s*月",
        rf"(?:{_DAYS})?{_D}{_ORDINAL}\s+(?:of\s+)?{_NAME},?\s+{_Y}",
        rf"{_D}-{_NAME}-{_Y}",
        rf"(?:{_DAYS})?{_NAME}\s+{_D}{_ORDINAL},?\s+{_Y}",
        rf"{_NAME},?\s+(?:of\s+)?{_Y}",
        rf"{_Y}\s+{_NAME}(?:\s+{_D}{_ORDINAL})?",
    )
)
_ASIDE = re.compile(r"\s*[(（][^()（）]*[)）]\s*")
_TWO_WAYS = re.compile(r"(?P<a>\d{1,2})[-/.](?P<b>\d{1,2})[-/.](?P<y>\d{4})")


@dataclass(frozen=True, slots=True)
class PartialDate:
    """A date whose day, or day and month, may be missing."""

    year: int
    month: int | None = None
    day: int | None = None

    @property
    def first(self) -> date:
        """The earliest day that it may mean."""
        return date(self.year, self.month or 1, self.day or 1)


def read_dates(text: str) -> tuple[PartialDate, ...]:
    """Return the possible dates of a cell: one, two if day and month may be swapped (`04/12/1987`), none if it is not a date.

    Text in parentheses is ignored.
    """
    if len(text) > MAX_TEXT:
        return ()
    bare = _ASIDE.sub(" ", plain(text)).casefold().strip(" .")
    both = _TWO_WAYS.fullmatch(bare)
    if both is not None:
        year, one, other = int(both["y"]), int(both["a"]), int(both["b"])
        found = {_checked(year, one, other), _checked(year, other, one)} - {None}
        return tuple(sorted((reading for reading in found if reading is not None), key=lambda reading: reading.first))
    for form in _FORMS:
        match = form.fullmatch(bare)
        if match is not None:
            parts = match.groupdict()
            month = _MONTHS[parts["name"]] if parts.get("name") else parts.get("m")
            read = _checked(int(parts["y"]), _whole(month), _whole(parts.get("d")))
            return () if read is None else (read,)
    return ()


def near(gold: PartialDate, given: PartialDate, *, days: int) -> bool:
    """Return True if two dates are at most `days` apart, with the precision of the gold one; a missing day counts as the first."""
    if gold.month is None or given.month is None:
        return gold.month is None and gold.year == given.year
    return abs((gold.first - given.first).days) <= days


def same(gold: PartialDate, given: PartialDate) -> bool:
    """Return True if a date agrees with the gold one in everything that the gold one states."""
    return gold.year == given.year and gold.month in (None, given.month) and gold.day in (None, given.day)


def _whole(text: str | int | None) -> int | None:
    return None if text is None else int(text)


def _checked(year: int, month: int | None, day: int | None) -> PartialDate | None:
    try:
        date(year, month or 1, day or 1)
    except ValueError:
        return None
    # `or 1` above lets a zero pass for a missing part.
    if month == 0 or day == 0:
        return None
    return PartialDate(year, month, day)
