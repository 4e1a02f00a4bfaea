"""The forms of values on pages: template filters, combined into one function from a value to its text."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import floor, log10
from typing import Final, TypeAlias, cast

from simtrain.values.errors import InputError, nearest
from simtrain.values.months import MONTHS
from simtrain.values.types import JsonValue
from simtrain.worlds.search.facts.attributes import Value
from simtrain.worlds.search.spec.schema import NUMERIC, Attribute
from simtrain.worlds.search.spec.units import factor

Write: TypeAlias = Callable[[Value], str]
Filter: TypeAlias = tuple[str, Sequence[JsonValue]]

_MOST_REMEMBERED = 1 << 14
_SCALES = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"), (1e3, "thousand"))

# Not strftime, whose names follow the locale.
_DATES: dict[str, Callable[[str], str]] = {
    "long": lambda day: f"{int(day[8:10])} {MONTHS[int(day[5:7]) - 1]} {day[:4]}",
    "us": lambda day: f"{MONTHS[int(day[5:7]) - 1]} {int(day[8:10])}, {day[:4]}",
    "short": lambda day: f"{int(day[8:10])} {MONTHS[int(day[5:7]) - 1][:3]} {day[:4]}",
    "iso": lambda day: day,
    "dotted": lambda day: f"{day[8:10]}.{day[5:7]}.{day[:4]}",
    "month": lambda day: f"{MONTHS[int(day[5:7]) - 1]} {day[:4]}",
    "year": lambda day: day[:4],
}
_CASES: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "capitalize": lambda text: text[:1].upper() + text[1:],
}
FILTERS: Final = {
    "date": (*_DATES,),
    "number": ("plain", "digits", "about", "scaled", "in", "bare"),
    "flag": ("words",),
    "coordinates": ("hemispheres", "dms"),
    "text": (*_CASES,),
}
"""The filters by kind of value; names, texts, categories and refs share those of text. `or` and `link` apply to all."""


_OPEN = re.compile(
    r"8|1[18](?!\d)|hour|honest|honou?r|heir"
    r"|(?!eu|ewe|onc?e\b|one-|uni(?!m|n[^i])|us[aeiu]|ubi|uti|ur[aeio])[aeiou]",
    re.IGNORECASE,
)
"""The beginning of written words that are spoken with a vowel first: `8`, `hour`, but not `unit` or `one`."""


def article(words: str) -> str:
    """Return `a ` or `an `, for the words or the number that follow."""
    return "an " if _OPEN.match(words) else "a "


def writer(attribute: Attribute, filters: Sequence[Filter], units: Mapping[str, tuple[str, float]]) -> Write:
    """Return a function that writes values of an attribute. Raises InputError for filters that do not fit its kind."""
    kind = "number" if attribute.kind in NUMERIC else attribute.kind
    known = FILTERS.get(kind, FILTERS["text"])
    for name, _ in filters:
        if name not in known:
            raise InputError(f"a {attribute.kind} has no filter {name!r}", remedy=nearest(name, known))
    if kind == "date":
        return _day_writer(filters[-1][0] if filters else "long")
    if kind == "number":
        return _number(attribute, dict(filters), units)
    if kind == "flag":
        yes, no = _two_texts(filters[-1][1]) if filters else ("yes", "no")
        return lambda value: yes if value else no
    if kind == "coordinates":
        return _coordinates(filters[-1][0] if filters else "")
    write: Callable[[str], str] | None = None
    for name, _ in filters:
        write = _CASES[name]
    return cast(Write, write or str)


def is_plain_text(attribute: Attribute, filters: Sequence[Filter]) -> bool:
    """Return True if a value is written exactly as stored."""
    return attribute.kind in ("name", "text", "category", "ref") and not filters


class _Remembered(dict[Value, str]):
    """A bounded cache of written values: values are mentioned far more often than there are different ones."""

    def __init__(self, write: Write) -> None:
        super().__init__()
        self._write = write

    def __missing__(self, value: Value) -> str:
        written = self._write(value)
        if len(self) < _MOST_REMEMBERED:
            self[value] = written
        return written


@cache
def _day_writer(form: str) -> Write:
    return _Remembered(cast(Write, _DATES[form])).__getitem__


def _two_texts(given: Sequence[JsonValue]) -> tuple[str, str]:
    if len(given) != 2 or not all(isinstance(text, str) for text in given):
        raise InputError("`words` needs two texts, for yes and for no")
    return tuple(given)


def _number(
    attribute: Attribute, filters: Mapping[str, Sequence[JsonValue]], units: Mapping[str, tuple[str, float]]
) -> Write:
    digits, scale, unit = attribute.digits, 1.0, attribute.unit
    if "in" in filters:
        if attribute.kind != "quantity":
            raise InputError(f"only a quantity can be converted, but {attribute.name} is a {attribute.kind}")
        unit = _text(filters["in"])
        scale = factor(cast(str, attribute.unit), unit, units)
        digits = _decimals(digits, scale)
    if "digits" in filters:
        digits = _small(filters["digits"])
    before, after = _around(attribute, None if "bare" in filters else unit)
    if "scaled" in filters:
        places = _small(filters["scaled"]) if filters["scaled"] else 1
        return lambda value: f"{before}{_scaled(cast(float, value) * scale, places)}{after}"
    if "about" in filters:
        figures = _small(filters["about"]) or 1
        return lambda value: f"{before}{_about(cast(float, value) * scale, figures)}{after}"
    return _number_writer(before, after, "" if "plain" in filters else ",", digits, scale)


@cache
def _number_writer(before: str, after: str, comma: str, digits: int, scale: float) -> Write:
    if digits == 0 and scale == 1.0:
        return _Remembered(lambda value: f"{before}{round(cast(float, value)):{comma}}{after}").__getitem__
    write = f"{_plain(before)}{{:{comma}.{digits}f}}{_plain(after)}".format
    return _Remembered(lambda value: write(cast(float, value) * scale)).__getitem__


def _decimals(digits: int, scale: float) -> int:
    """Return the decimals of a converted number: two, or fewer if two would claim more precision than the original has."""
    return 2 if scale < 10 else min(2, max(0, digits - floor(log10(scale))))


def _plain(text: str) -> str:
    """Return a text escaped for str.format."""
    return text.replace("{", "{{").replace("}", "}}")


def _around(attribute: Attribute, unit: str | None) -> tuple[str, str]:
    if not unit:
        return "", ""
    if unit == "%":
        return "", "%"
    # A currency sign precedes the amount, a word follows it.
    if attribute.kind == "money" and not unit.isalpha():
        return unit, ""
    return "", f" {unit}"


def _scaled(number: float, places: int) -> str:
    size, word = next(((size, word) for size, word in _SCALES if abs(number) >= size), (1.0, ""))
    shown = f"{number / size:,.{places}f}"
    return f"{shown} {word}" if word else shown


def _about(number: float, figures: int) -> str:
    if number == 0:
        return "0"
    places = figures - 1 - floor(log10(abs(number)))
    rounded = round(number, places)
    return f"{rounded:,.{max(places, 0)}f}" if places > 0 else f"{int(rounded):,}"


def _coordinates(form: str) -> Write:
    if not form:
        return str

    def degrees(number: float, signs: str) -> str:
        sign = signs[number < 0]
        if form == "hemispheres":
            return f"{abs(number):g}° {sign}"
        # Rounded once, in seconds: rounding only the last part could give 60″.
        whole = round(abs(number) * 3600)
        return f"{whole // 3600}°{whole // 60 % 60:02}′{whole % 60:02}″ {sign}"

    def write(value: Value) -> str:
        latitude, _, longitude = cast(str, value).partition(", ")
        return f"{degrees(float(latitude), 'NS')}, {degrees(float(longitude), 'EW')}"

    return write


def _text(given: Sequence[JsonValue]) -> str:
    if len(given) != 1 or not isinstance(given[0], str):
        raise InputError("`in` needs the name of one unit")
    return given[0]


def _small(given: Sequence[JsonValue]) -> int:
    if len(given) != 1 or not isinstance(given[0], int) or not 0 <= given[0] <= 6:
        raise InputError("the filter needs one whole number from 0 to 6")
    return given[0]
