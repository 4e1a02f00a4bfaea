"""The parts that Chromium shows within fields for dates and times, in American English."""

import re
from dataclasses import dataclass, replace

_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


@dataclass(frozen=True, slots=True)
class FieldPart:
    """One part: its name, its limits, its value (0 where it is empty), and what it shows."""

    name: str
    low: int
    high: int
    value: int
    shown: str


Parts = list[FieldPart | str]


def field_parts(kind: str, value: str, low: str = "", high: str = "") -> tuple[Parts, str]:
    """The parts of a field with the texts between them, and the name of what its button opens.

    `low` and `high` are the limits that the field states; they narrow the years.
    """
    parts, button = _field_parts(kind, value)
    years = re.match(r"\d+", low), re.match(r"\d+", high)
    return [_narrowed(part, *years) if isinstance(part, FieldPart) else part for part in parts], button


def _narrowed(part: FieldPart, low: re.Match[str] | None, high: re.Match[str] | None) -> FieldPart:
    if part.name != "Year":
        return part
    return replace(part, low=int(low[0]) if low else part.low, high=int(high[0]) if high else part.high)


def _field_parts(kind: str, value: str) -> tuple[Parts, str]:
    if kind == "date":
        return _date(value), "date"
    if kind == "time":
        return _time(value), "time"
    if kind == "datetime-local":
        day, _, clock = value.partition("T")
        return [*_date(day), ", ", *_time(clock)], "local date and time"
    numbers = [int(number) for number in re.findall(r"\d+", value)]
    if kind == "month":
        shown = _MONTHS[numbers[1] - 1] if numbers else "---------"
        return [FieldPart("Month", 1, 12, numbers[1] if numbers else 0, shown), " ", _year(numbers)], "month"
    week = FieldPart("Week", 1, 53, numbers[1] if numbers else 0, f"{numbers[1]:02}" if numbers else "--")
    return ["Week ", week, ", ", _year(numbers)], "week"


def _year(numbers: list[int]) -> FieldPart:
    return FieldPart("Year", 1, 275760, numbers[0] if numbers else 0, f"{numbers[0]:04}" if numbers else "----")


def _date(value: str) -> Parts:
    if not value:
        return [
            FieldPart("Month", 1, 12, 0, "mm"),
            "/",
            FieldPart("Day", 1, 31, 0, "dd"),
            "/",
            FieldPart("Year", 1, 275760, 0, "yyyy"),
        ]
    year, month, day = (int(part) for part in value.split("-"))
    return [
        FieldPart("Month", 1, 12, month, f"{month:02}"),
        "/",
        FieldPart("Day", 1, 31, day, f"{day:02}"),
        "/",
        FieldPart("Year", 1, 275760, year, f"{year:04}"),
    ]


def _time(value: str) -> Parts:
    if not value:
        empty = [
            FieldPart("Hours", 1, 12, 0, "--"),
            FieldPart("Minutes", 0, 59, 0, "--"),
            FieldPart("AM/PM", 1, 2, 0, "--"),
        ]
        return [empty[0], ":", empty[1], " ", empty[2]]
    hour, minute = (int(part) for part in value.split(":")[:2])
    half = FieldPart("AM/PM", 1, 2, 1 if hour < 12 else 2, "AM" if hour < 12 else "PM")
    twelve = hour % 12 or 12
    return [
        FieldPart("Hours", 1, 12, twelve, f"{twelve:02}"),
        ":",
        FieldPart("Minutes", 0, 59, minute, f"{minute:02}"),
        "\u202f",
        half,
    ]
