"""Reads words of a page back into values: dates, numbers with scale and unit, coordinates."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

MOST: Final = 50_000
"""Most cached readings: many dates and numbers are on several pages."""

# Written again, and not imported from the renderer, whose errors would pass unseen.
MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
            "september sep", "october oct", "november nov", "december dec",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
CALENDAR: Final = frozenset({*MONTHS, *DAYS, *(f"{day}s" for day in DAYS)})
"""Months and days of the week. Without a number beside them they are no date."""
SCALES: Final = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}

_NAME = "|".join(sorted(MONTHS, key=len, reverse=True))
_DATES: Final = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        # The most specific form first, since fullmatch takes the first that fits.
        r"(?P<y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})",
        r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})",
        rf"(?P<d>\d{{1,2}}) (?P<name>{_NAME})\.? (?P<y>\d{{4}})",
        rf"(?P<name>{_NAME})\.? (?P<d>\d{{1,2}}),? (?P<y>\d{{4}})",
        rf"(?P<name>{_NAME})\.? (?P<y>\d{{4}})",
        r"(?P<y>\d{4})",
    )
)
_AMOUNT = re.compile(
    r"(?P<before>[^\d\s.,+−-]*)\s?(?P<sign>[-−+]?)(?P<before2>[^\d\s.,+−-]?)(?P<digits>\d{1,3}(?:,\d{3})+|\d+)(?:\.(?P<fraction>\d+))?"
    r"(?: ?(?P<scale>thousand|million|billion|trillion))?(?: ?(?P<unit>[^\d\s,.]\D*[23]?))?",
    re.IGNORECASE,
)
_DEGREES = re.compile(
    r"(?P<degrees>-?\d+(?:\.\d+)?)\s?°?(?:\s?(?P<minutes>\d+)[′'])?(?:\s?(?P<seconds>\d+(?:\.\d+)?)[″\"])?\s?(?P<side>[NSEW]?)"
)


@dataclass(frozen=True, slots=True)
class Amount:
    """A displayed number in units of `unit` (empty: none written), precise to half of `step`.

    `rough` is the step if trailing zeros are due to rounding: 1,600,000 may mean 1,623,411. `whole` is true if it is written out in
    single units without a fraction.
    """

    value: float
    unit: str
    step: float
    rough: float
    whole: bool


@lru_cache(MOST)
def read_date(words: str) -> tuple[int, int | None, int | None] | None:
    """Return year, month and day, with None for missing parts; None for words that are not a date."""
    for form in _DATES:
        match = form.fullmatch(words.strip())
        if match is None:
            continue
        parts = match.groupdict()
        month = MONTHS[parts["name"].lower()] if parts.get("name") else parts.get("m")
        return int(parts["y"]), None if month is None else int(month), int(parts["d"]) if parts.get("d") else None
    return None


@lru_cache(MOST)
def read_amount(words: str) -> Amount | None:
    """Return the number in some words; None for words that are not a number."""
    match = _AMOUNT.fullmatch(words.strip())
    if match is None:
        return None
    digits, fraction = match["digits"].replace(",", ""), match["fraction"] or ""
    scale = SCALES[match["scale"].lower()] if match["scale"] else 1.0
    value = float(f"{digits}.{fraction or 0}") * scale
    before = match["before"] or match["before2"]
    unit = " ".join(part for part in (before, (match["unit"] or "").strip()) if part)
    step = 10 ** -len(fraction) * scale
    zeros = len(digits) - len(digits.rstrip("0")) if not fraction and int(digits) else 0
    value = -value if match["sign"] in ("-", "−") and match["sign"] else value
    return Amount(value, unit, step, step * 10**zeros, whole=step == 1)


def read_coordinates(words: str) -> tuple[float, float] | None:
    """Return latitude and longitude in degrees; None for words that are no coordinates."""
    parts = words.split(", ")
    if len(parts) != 2:
        return None
    found: list[float] = []
    for part in parts:
        match = _DEGREES.fullmatch(part.strip())
        if match is None:
            return None
        degrees = float(match["degrees"])
        size = abs(degrees) + float(match["minutes"] or 0) / 60 + float(match["seconds"] or 0) / 3600
        found.append(-size if degrees < 0 or (match["side"] in ("S", "W") and match["side"]) else size)
    return found[0], found[1]
