"""Reads numbers with units in the cells of a table: `4.2 m`, `US$ 3.5 million`, `12.5 %`, `3.2亿`."""

import math
import re
from dataclasses import dataclass
from typing import Final

from simtrain.questions.widesearch.words import plain

MAX_TEXT: Final = 300

_NUMBER = re.compile(
    r"(?<![\w.,])(?P<sign>[-−+]?)(?P<digits>\d{1,3}(?:[,   ]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?P<power>[eE][-+]?\d+)?"
)
_ASIDE = re.compile(r"\([^()]*\)")
_MAGNITUDES: Final = {
    "thousand": 1e3, "k": 1e3, "million": 1e6, "mn": 1e6, "billion": 1e9, "bn": 1e9, "trillion": 1e12, "tn": 1e12,
    "千": 1e3, "万": 1e4, "百万": 1e6, "亿": 1e8, "万亿": 1e12,
}  # fmt: skip
# "¥" is the sign of both currencies, so that they cannot be told apart.
_CURRENCIES: Final = {
    "$": "usd", "us$": "usd", "usd": "usd", "dollar": "usd", "dollars": "usd", "€": "eur", "eur": "eur", "euro": "eur", "euros": "eur",
    "£": "gbp", "gbp": "gbp", "¥": "yen or yuan", "jpy": "yen or yuan", "cny": "yen or yuan", "rmb": "yen or yuan", "元": "yen or yuan",
    "₹": "inr", "inr": "inr",
}  # fmt: skip
# Unit -> its dimension, and its size in the base unit of that dimension.
_UNITS: Final[dict[str, tuple[str, float]]] = {
    "%": ("share", 0.01), "percent": ("share", 0.01), "per cent": ("share", 0.01), "‰": ("share", 0.001),
    "nm": ("length", 1e-9), "µm": ("length", 1e-6), "μm": ("length", 1e-6), "um": ("length", 1e-6), "mm": ("length", 1e-3),
    "cm": ("length", 1e-2), "m": ("length", 1.0), "metre": ("length", 1.0), "metres": ("length", 1.0), "meter": ("length", 1.0),
    "meters": ("length", 1.0), "米": ("length", 1.0), "km": ("length", 1e3), "kilometres": ("length", 1e3),
    "kilometers": ("length", 1e3), "公里": ("length", 1e3), "in": ("length", 0.0254), "inches": ("length", 0.0254),
    "ft": ("length", 0.3048), "feet": ("length", 0.3048), "mi": ("length", 1609.344), "miles": ("length", 1609.344),
    "nmi": ("length", 1852.0), "nautical miles": ("length", 1852.0), "ly": ("length", 9.4607e15), "light-years": ("length", 9.4607e15),
    "au": ("length", 1.495978707e11),
    "mg": ("mass", 1e-6), "g": ("mass", 1e-3), "kg": ("mass", 1.0), "t": ("mass", 1e3), "tonne": ("mass", 1e3), "tonnes": ("mass", 1e3),
    "tons": ("mass", 1e3), "吨": ("mass", 1e3), "kt": ("mass", 1e6), "lb": ("mass", 0.45359237), "lbs": ("mass", 0.45359237),
    "oz": ("mass", 0.028349523125),
    "ms": ("time", 1e-3), "s": ("time", 1.0), "sec": ("time", 1.0), "seconds": ("time", 1.0), "min": ("time", 60.0),
    "minutes": ("time", 60.0), "h": ("time", 3600.0), "hours": ("time", 3600.0), "hrs": ("time", 3600.0), "d": ("time", 86400.0),
    "day": ("time", 86400.0), "days": ("time", 86400.0), "天": ("time", 86400.0), "weeks": ("time", 604800.0),
    "month": ("time", 2629800.0), "months": ("time", 2629800.0), "year": ("time", 31557600.0), "years": ("time", 31557600.0),
    "yr": ("time", 31557600.0), "yrs": ("time", 31557600.0),
    "m2": ("area", 1.0), "sqm": ("area", 1.0), "km2": ("area", 1e6), "sqkm": ("area", 1e6), "ha": ("area", 1e4),
    "hectares": ("area", 1e4), "acres": ("area", 4046.8564224), "acre": ("area", 4046.8564224), "平方公里": ("area", 1e6),
    "ml": ("volume", 1e-6), "l": ("volume", 1e-3), "litres": ("volume", 1e-3), "liters": ("volume", 1e-3), "m3": ("volume", 1.0),
    "km/h": ("speed", 1 / 3.6), "kph": ("speed", 1 / 3.6), "m/s": ("speed", 1.0), "mph": ("speed", 0.44704),
    "kn": ("speed", 1852 / 3600), "knots": ("speed", 1852 / 3600),
    "w": ("power", 1.0), "kw": ("power", 1e3), "mw": ("power", 1e6), "gw": ("power", 1e9),
    "wh": ("energy", 3.6e3), "kwh": ("energy", 3.6e6), "mwh": ("energy", 3.6e9), "gwh": ("energy", 3.6e12),
    "kb": ("data", 1e3), "mb": ("data", 1e6), "gb": ("data", 1e9), "tb": ("data", 1e12),
    "hz": ("frequency", 1.0), "khz": ("frequency", 1e3), "mhz": ("frequency", 1e6), "ghz": ("frequency", 1e9),
}  # fmt: skip


_ZEROS: Final[dict[str, tuple[float, float]]] = {
    "kelvin": (1.0, 0.0), "°c": (1.0, 273.15), "celsius": (1.0, 273.15), "degrees celsius": (1.0, 273.15), "摄氏度": (1.0, 273.15),
    "°f": (5 / 9, 459.67 * 5 / 9), "fahrenheit": (5 / 9, 459.67 * 5 / 9), "degrees fahrenheit": (5 / 9, 459.67 * 5 / 9),
}  # fmt: skip
"""Unit of temperature -> its size and its zero point, in kelvin."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with the dimension of its unit; empty if there is no unit.

    `size` and `zero` are the size and the zero point of the unit, in base units.
    """

    value: float
    dimension: str = ""
    size: float = 1.0
    zero: float = 0.0


def read_quantity(text: str) -> Quantity | None:
    """Return the only quantity in a cell; None if there is none, more than one (a range), or a number that cannot be read.


    Text in parentheses is ignored: `4.2 m (13.8 ft)` is 4.2 m.
    """
    if len(text) > MAX_TEXT:
        return None
    bare = plain(_ASIDE.sub(" ", plain(text)))
    found = list(_NUMBER.finditer(bare))
    if len(found) != 1:
        return None
    number = found[0]
    after, before = bare[number.end() :].strip().casefold(), bare[: number.start()].strip().casefold()
    # `3-5`, `10:30` and `1/2` are no single numbers.
    if after[:1].isdigit() or re.match(r"[-–−/:.,]\s*\d", after):
        return None
    value = float(re.sub(r"[,   ]", "", number["digits"]) + (number["power"] or ""))
    # `1e999` reads as infinity.
    if not math.isfinite(value):
        return None
    value = -value if number["sign"] in ("-", "−") and number["sign"] else value
    magnitude, unit = _magnitude(after, money=_currency(before) is not None)
    currency = _currency(before) or _currency(unit)
    if currency is not None:
        return Quantity(value * magnitude, currency)
    return Quantity(value * magnitude, *unit_of(unit))


def unit_of(text: str) -> tuple[str, float, float]:
    """Return dimension, size and zero point of a unit; ("", 1.0, 0.0) for an empty text or an unknown unit."""
    name = text.strip().casefold().strip(".,;").replace("²", "2").replace("³", "3").replace("^", "")
    name = {"sq km": "km2", "sq m": "m2", "square kilometres": "km2", "square kilometers": "km2"}.get(name, name)
    if name in _ZEROS:
        return ("temperature", *_ZEROS[name])
    return (*_UNITS.get(name, ("", 1.0)), 0.0)


def near(gold: Quantity, given: Quantity, *, tolerance: float) -> bool:
    """Return True if two quantities differ by at most `tolerance` times the gold one. A unit on one side only applies to both."""
    if gold.dimension and given.dimension and gold.dimension != given.dimension:
        return False
    value = given.value
    if gold.dimension and given.dimension:
        value = (given.value * given.size + given.zero - gold.zero) / gold.size
    # The slack covers floating-point errors, also those of conversions.
    return abs(gold.value - value) <= abs(gold.value) * tolerance + 1e-9 * max(1.0, abs(gold.value))


def _magnitude(text: str, *, money: bool) -> tuple[float, str]:
    """Return the magnitude word at the beginning of a text as a factor, and the rest."""
    # The longest first: 万亿 begins with 万.
    for word in sorted(_MAGNITUDES, key=len, reverse=True):
        rest = text.removeprefix(word)
        if len(rest) < len(text) and (not rest or not word.isascii() or not rest[0].isalpha()):
            return _MAGNITUDES[word], rest.strip()
    # `$3 m` is three million; without money, `3 m` is three metres.
    if money and re.match(r"m\b", text):
        return 1e6, text[1:].strip()
    return 1.0, text


def _currency(text: str) -> str | None:
    """Return the currency next to a number: the last word before it, or the first after it."""
    words = text.replace("/", " ").split()
    return next((_CURRENCIES[word] for word in (*words[-1:], *words[:1]) if word in _CURRENCIES), None)
