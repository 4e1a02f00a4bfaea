"""Find passages of a text by the words around them, and read the amounts and dates in them."""

import re
from datetime import date
from typing import Final, Literal, TypeAlias

from simtrain.values.errors import InputError
from simtrain.values.months import MONTH_NUMBERS
from simtrain.values.numerals import read_number

Form: TypeAlias = Literal["text", "number", "date"]

_SCALES: Final = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SCALE: Final = re.compile(r"(?<=[\d ])(thousand|million|billion|trillion)\b", re.IGNORECASE)
_MONTH = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAYS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?P<year>\d{4})-(?P<number>\d{2})-(?P<day>\d{2})\b",
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?{_MONTH},? (?P<year>\d{{4}})\b",
        rf"\b{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{4}})\b",
        r"\b(?P<day>\d{1,2})\.(?P<number>\d{1,2})\.(?P<year>\d{4})\b",
    )
)


def find_passage(text: str, *, after: str, until: str) -> str:
    """Return the text between `after` and the next `until`; an empty marker means the text's start or end. Raises InputError."""
    begin = text.find(after)
    if begin < 0:
        raise InputError(f"the text does not hold {after[-60:]!r}")
    begin += len(after)
    end = text.find(until, begin) if until else len(text)
    if end < 0:
        raise InputError(f"the text does not hold {until[:60]!r} after {after[-60:]!r}")
    return text[begin:end].strip()


def read_amount(text: str) -> float | None:
    """Return the one number in a text, multiplied by a word like `million`; None if there is none, or several."""
    number = read_number(_SCALE.sub(" ", text))
    scale = _SCALE.search(text)
    return None if number is None else number * (_SCALES[scale[1].lower()] if scale else 1.0)


def read_day(text: str) -> str | None:
    """Return the first complete date in a text, in ISO form; it may be written as 2147-03-02, 2 March 2147, March 2, 2147 or 02.03.2147."""
    for pattern in _DAYS:
        found = pattern.search(text)
        if found is None:
            continue
        parts = found.groupdict()
        month = int(parts["number"]) if parts.get("number") else MONTH_NUMBERS[parts["month"].lower()]
        try:
            return date(int(parts["year"]), month, int(parts["day"])).isoformat()
        # 31 February is no date; a later one in the text may be.
        except ValueError:
            continue
    return None


def read_as(text: str, form: Form) -> str | int | float:
    """Return a passage as text, as a number, or as a date. Raises InputError if it is neither."""
    if form == "text":
        return text
    found = read_amount(text) if form == "number" else read_day(text)
    if found is None:
        raise InputError(f"{text[:60]!r} is not a {form}")
    return int(found) if isinstance(found, float) and found.is_integer() else found
