"""Units: recognises fields with quantities by their names, and converts quantities to another unit."""

import re
from collections.abc import Callable

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

_MONEY = frozenset({
    "price", "prices", "cost", "costs", "fee", "fees", "fare", "fares", "salary", "wage", "wages", "balance", "budget", "refund",
    "discount", "surcharge", "deposit", "revenue", "income", "expense", "expenses", "rent", "tax", "taxes", "earnings", "savings", "tariff",
})  # fmt: skip
"""Field names of money, also for whole numbers."""

_SUMS = frozenset({"amount", "due", "paid", "value", "credit", "charge", "goods", "worth"})
"""Field names of money, if the figure has a fraction or the tool, the list or the record is about money."""

_TOTALS = frozenset({"total", "subtotal", "sum", "net", "gross", "totals"})
"""Field names of money, if the figure has a fraction or a currency is beside it; otherwise they are counts."""

_TALK = _MONEY | {
    "payment", "payments", "billing", "invoice", "invoices", "charges", "refunds", "vouchers", "voucher", "wallet", "bank",
    "currency", "tariffs",
}  # fmt: skip

_FACTORS: dict[str, tuple[float, str]] = {
    "milliseconds": (0.001, "seconds"), "millis": (0.001, "seconds"), "ms": (0.001, "s"), "seconds": (1000, "ms"),
    "secs": (1000, "ms"), "minutes": (60, "seconds"), "mins": (60, "s"), "hours": (60, "minutes"), "hrs": (60, "min"),
    "days": (24, "hours"),
    "weeks": (7, "days"),
    "years": (12, "months"),
    "km": (1000, "m"), "kilometres": (1000, "m"), "kilometers": (1000, "m"), "metres": (100, "cm"), "meters": (100, "cm"), "cm": (10, "mm"),
    "mm": (0.1, "cm"), "miles": (1.609344, "km"), "mi": (1.609344, "km"), "feet": (12, "in"), "ft": (12, "in"), "inches": (2.54, "cm"),
    "kg": (1000, "g"), "kgs": (1000, "g"), "kilograms": (1000, "g"), "grams": (0.001, "kg"), "tonnes": (1000, "kg"), "lbs": (16, "oz"),
    "lb": (16, "oz"), "ounces": (1 / 16, "lb"), "oz": (1 / 16, "lb"),
    "litres": (1000, "ml"), "liters": (1000, "ml"), "ml": (0.001, "l"), "gallons": (4, "quarts"),
    "bytes": (1 / 1024, "KB"), "kb": (1024, "bytes"), "mb": (1024, "KB"), "gb": (1024, "MB"), "tb": (1024, "GB"),
    "kmh": (1 / 3.6, "m/s"), "kph": (1 / 3.6, "m/s"), "mph": (1.609344, "km/h"), "knots": (1.852, "km/h"),
    "kwh": (1000, "Wh"), "hectares": (10_000, "m2"), "cents": (0.01, "units"), "pence": (0.01, "pounds"),
}  # fmt: skip
"""Unit -> factor to the next unit, and its name."""

_BRIEF: dict[str, tuple[float, str]] = {
    "s": (1000, "ms"), "min": (60, "s"), "h": (60, "min"), "m": (100, "cm"), "g": (0.001, "kg"), "l": (1000, "ml"),
}  # fmt: skip
"""The same for symbols that are too ambiguous inside field names; they count only by themselves."""

_MEASURES: dict[str, float] = {
    "duration": 60, "delay": 60, "distance": 1000, "weight": 1000, "mass": 1000, "mileage": 1.609344, "timeout": 1000, "latency": 1000,
    "uptime": 60,
}  # fmt: skip
"""Field names of quantities without a unit."""

_LENGTHS = frozenset({"height", "length", "width", "depth", "altitude", "elevation"})
_SHARES = frozenset({"percent", "percentage", "pct", "rate", "share", "ratio"})
_MOMENTS = frozenset({"timestamp", "epoch", "ts", "time", "at", "created", "updated", "date", "expires"})
_NONE = frozenset(
    {"id", "ids", "count", "counts", "number", "no", "num", "index", "code", "version", "per", "page", "pages"}
)
_SECONDS, _MILLISECONDS = 10**9, 10**12
_KILO = 1024
_QUANTITY = re.compile(r"(-?\d+(?:\.\d+)?)( ?)([A-Za-z]+)")


def drifted(name: str, value: float, *, money: bool = False, currency: bool = False) -> float | None:
    """Return a figure in another unit; None if its field is not named like a quantity.

    `money` says that the surrounding text is about money, `currency` that it names one.
    """
    parts = parts_of(name)
    # Ids, counts and rates ("per") have no unit that could drift.
    if not parts or parts[-1] in _NONE or parts[0] in _NONE or "per" in parts:
        return None
    words = frozenset(parts)
    if factor := _unit(parts):
        return times(value, factor)
    # Temperatures are not proportional, so they cannot be in the table of factors.
    if words & {"celsius", "temperature"}:
        return times(value * 1.8 + 32, 1)
    if "fahrenheit" in words:
        return times((value - 32) / 1.8, 1)
    fraction = isinstance(value, float)
    if (
        words & _MONEY
        or (words & _SUMS and (fraction or money or currency))
        or (words & _TOTALS and (fraction or currency))
    ):
        return times(value, 100)
    if parts[-1] in _SHARES and not words & {"exchange", "hourly", "daily"}:
        return times(value, 100 if abs(value) <= 1 else 0.01)
    # From 10^9 on, an integer is a Unix time in seconds (2001 or later), from 10^12 on in milliseconds.
    if parts[-1] in _MOMENTS and value >= _SECONDS:
        return times(value, 1000 if value < _MILLISECONDS else 0.001)
    return _measured(parts, value)


def may_drift(name: str, *, moments: bool = True) -> bool:
    """Return True if a figure of that name could come in another unit; with `moments`, also times in seconds."""
    # A fraction, a size in bytes and a Unix time: the kinds of value on which the rules depend.
    tried = (1.5, 2.0 * _KILO, float(_SECONDS))[: 3 if moments else 2]
    return any(drifted(name, value, money=True, currency=True) is not None for value in tried)


def respelt(text: str) -> str | None:
    """Return a text with quantity and unit (12.5 kg) in another unit; None for other texts."""
    found = _QUANTITY.fullmatch(text.strip())
    other = found and other_unit(found[3])
    return f"{times(float(found[1]), other[0])}{found[2]}{other[1]}" if found and other else None


def other_unit(unit: str) -> tuple[float, str] | None:
    """Return the factor to the next unit, and its name; None for an unknown unit."""
    return _FACTORS.get(unit.lower()) or _FACTORS.get(f"{unit.lower()}s") or _BRIEF.get(unit.lower())


def speaks_of_money(name: str) -> bool:
    """Return True if the name of a tool or a list is about money."""
    return not _TALK.isdisjoint(parts_of(name))


def parts_of(name: str) -> list[str]:
    """Return the words of a name: the same for `fileSizeKB`, `file_size_kb` and `File size (KB)`."""
    return [part.lower() for part in _PARTS.findall(name)]


def times(value: float, factor: float) -> float:
    """Return the product, as an integer if it is whole."""
    # Rounded, since binary fractions such as 0.30000000000000004 would reveal the conversion.
    converted = round(value * factor, 6)
    return int(converted) if converted == int(converted) else converted


def _unit(parts: list[str]) -> float | None:
    """Return the factor from the unit in a field's name to the next one; the last word that is a unit counts."""
    return next((_FACTORS[part][0] for part in reversed(parts) if part in _FACTORS), None)


def _measured(parts: list[str], value: float) -> float | None:
    """Return a quantity whose name has no unit, read as kilometres, kilograms, minutes, metres or bytes."""
    last = parts[-1]
    rules: tuple[tuple[bool, Callable[[], float]], ...] = (
        (last in _MEASURES, lambda: _MEASURES[last]),
        (last in _LENGTHS and isinstance(value, float), lambda: 100),
        (last in ("size", "filesize") and value >= _KILO, lambda: 1 / _KILO),
    )
    return next((times(value, factor()) for holds, factor in rules if holds), None)
