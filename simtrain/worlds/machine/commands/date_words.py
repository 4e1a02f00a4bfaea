"""Dates as GNU date reads them: `2024-02-28 +2 days`, `last friday`, `@86400` (info coreutils 'Date input formats')."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone, tzinfo

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_FULL_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAY_SHORT = {"tues": 1, "wednes": 2, "thur": 3, "thurs": 3}
_UNITS = {
    "year": ("months", 12), "month": ("months", 1), "fortnight": ("days", 14), "week": ("days", 7), "day": ("days", 1),
    "hour": ("seconds", 3600), "minute": ("seconds", 60), "min": ("seconds", 60), "second": ("seconds", 1),
    "sec": ("seconds", 1),
}  # fmt: skip
_FIXED = {"tomorrow": 1, "yesterday": -1, "today": 0, "now": 0}
_ORDINALS = {
    "last": -1, "this": 0, "next": 1, "first": 1, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7,
    "eighth": 8, "ninth": 9, "tenth": 10, "eleventh": 11, "twelfth": 12,
}  # fmt: skip
_ZONES = {
    "utc": 0, "gmt": 0, "z": 0, "ut": 0, "wet": 0, "cet": 60, "cest": 120, "eet": 120, "msk": 180, "est": -300, "edt": -240,
    "cst": -360, "cdt": -300, "mst": -420, "mdt": -360, "pst": -480, "pdt": -420, "jst": 540, "ist": 330, "bst": 60,
}  # fmt: skip
_TOKEN = re.compile(
    r"""
    \s+ | (?P<comment>\([^()]*\)) | ,
    | (?P<stamp>@[+-]?\d+(?:[.,]\d+)?)
    | (?P<iso>\d{4,}-\d{1,2}-\d{1,2}(?=$|[^0-9-]))
    | (?P<slashes>\d{1,4}/\d{1,2}(?:/\d{1,4})?)
    | (?P<named>\d{1,2}-[a-z]{3,9}-\d{2,4})
    | (?P<time>\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s*[ap]\.?m\.?(?![a-z]))?)
    | (?P<hour>\d{1,2}\s*[ap]\.?m\.?(?![a-z]))
    | (?P<signed>[+-]\s*\d+(?::\d{2})?)
    | (?P<number>\d+)
    | (?P<word>[a-z]+)\.?
    """,
    re.VERBOSE,
)


class NoDate(ValueError):
    """Raised for a text that is no date."""


@dataclass(slots=True)
class _Reading:
    """What has been read so far."""

    zone: tzinfo
    date: tuple[int | None, int, int] | None = None
    time: tuple[int, int, float] | None = None
    offset: tzinfo | None = None
    weekday: tuple[int, int] | None = None
    months: int = 0
    days: int = 0
    seconds: float = 0.0
    relative: bool = False
    stamp: float | None = None
    pending: int | None = None
    tokens: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


def moment_of(text: str, *, now: float, zone: tzinfo) -> float:
    """Return the Unix time that a text means. Raises NoDate."""
    reading = _Reading(zone, tokens=_tokens(text.lower()))
    while reading.tokens:
        kind, word = reading.tokens.pop(0)
        _READERS[kind](reading, word)
    if reading.stamp is not None:
        return reading.stamp + reading.seconds + reading.days * 86400
    return _settled(reading, now)


def _tokens(text: str) -> list[tuple[str, str]]:
    # The T of ISO 8601 stands between date and time.
    text = re.sub(r"(\d{4}-\d{2}-\d{2})t(?=\d)", r"\1 ", text)
    found: list[tuple[str, str]] = []
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None or match.end() == place:
            raise NoDate(text)
        place = match.end()
        if match.lastgroup and match.lastgroup != "comment":
            found.append((match.lastgroup, match[match.lastgroup]))
    return found


def _stamp(reading: _Reading, word: str) -> None:
    reading.stamp = float(word[1:].replace(",", "."))


def _set_date(reading: _Reading, year: int | None, month: int, day: int) -> None:
    if reading.date is not None:
        raise NoDate("two dates")
    reading.date = (year, month, day)


def _year(text: str) -> int:
    # Two digits mean 1969 to 2068 (POSIX).
    number = int(text)
    return number if len(text) > 2 else number + (1900 if number >= 69 else 2000)


def _iso(reading: _Reading, word: str) -> None:
    year, month, day = word.split("-")
    _set_date(reading, int(year), int(month), int(day))


def _slashes(reading: _Reading, word: str) -> None:
    parts = word.split("/")
    if len(parts) == 2:
        _set_date(reading, None, int(parts[0]), int(parts[1]))
    elif len(parts[0]) == 4:
        _set_date(reading, int(parts[0]), int(parts[1]), int(parts[2]))
    else:
        _set_date(reading, _year(parts[2]), int(parts[0]), int(parts[1]))


def _named(reading: _Reading, word: str) -> None:
    day, name, year = word.split("-")
    month = _month(name)
    if month is None:
        raise NoDate(word)
    _set_date(reading, _year(year), month, int(day))


def _time(reading: _Reading, word: str) -> None:
    if reading.time is not None:
        raise NoDate("two times")
    half = re.search(r"([ap])\.?m", word)
    parts = re.sub(r"\s*[ap]\.?m\.?", "", word).replace(",", ".").split(":")
    hour, minute = int(parts[0]), int(parts[1]) if len(parts) > 1 else 0
    second = float(parts[2]) if len(parts) > 2 else 0.0
    if half is not None:
        if not 1 <= hour <= 12:
            raise NoDate(word)
        hour = hour % 12 + (12 if half[1] == "p" else 0)
    if hour > 23 or minute > 59 or second >= 61:
        raise NoDate(word)
    reading.time = (hour, minute, second)
    # A signed number right behind a time is its zone.
    if reading.tokens and reading.tokens[0][0] == "signed" and len(reading.tokens[0][1].lstrip("+- ")) != 3:
        _, sign = reading.tokens.pop(0)
        _zone_offset(reading, sign)


def _zone_offset(reading: _Reading, word: str) -> None:
    digits = word[1:].strip()
    if ":" in digits:
        hours, _, minutes = digits.partition(":")
    else:
        hours, minutes = (digits, "0") if len(digits) <= 2 else (digits[:-2], digits[-2:])
    amount = int(hours) * 60 + int(minutes)
    if amount > 24 * 60:
        raise NoDate(word)
    reading.offset = timezone(timedelta(minutes=-amount if word[0] == "-" else amount))


def _signed(reading: _Reading, word: str) -> None:
    if ":" in word:
        raise NoDate(word)
    number = int(word.replace(" ", ""))
    if not (reading.tokens and reading.tokens[0][0] == "word"):
        raise NoDate(word)
    _relate(reading, number, reading.tokens.pop(0)[1])


def _relate(reading: _Reading, number: int, word: str) -> None:
    """Add a number of units, which count backwards where `ago` follows."""
    if reading.tokens and reading.tokens[0] == ("word", "ago"):
        reading.tokens.pop(0)
        number = -number
    unit = word if word in _UNITS else word.removesuffix("s")
    if word in _FIXED:
        reading.days += number * _FIXED[word]
    elif unit in _UNITS:
        what, size = _UNITS[unit]
        if what == "months":
            reading.months += number * size
        elif what == "days":
            reading.days += number * size
        else:
            reading.seconds += number * size
    else:
        raise NoDate(word)
    reading.relative = True


def _number(reading: _Reading, word: str) -> None:
    following = reading.tokens[0] if reading.tokens else ("", "")
    if following[0] == "word":
        unit = following[1] if following[1] in _UNITS else following[1].removesuffix("s")
        if unit in _UNITS:
            reading.tokens.pop(0)
            _relate(reading, int(word), following[1])
            return
        month = _month(following[1])
        if month is not None and reading.date is None and len(word) <= 2:
            reading.tokens.pop(0)
            _set_date(reading, _year_behind(reading), month, int(word))
            return
        if _weekday(following[1]) is not None and len(word) <= 2:
            reading.tokens.pop(0)
            reading.weekday = (int(word), _weekday(following[1]) or 0)
            return
    if reading.date is not None and reading.date[0] is None and (reading.time or len(word) > 2):
        reading.date = (_year(word), reading.date[1], reading.date[2])
    elif len(word) > 4:
        _set_date(reading, _year(word[:-4]), int(word[-4:-2]), int(word[-2:]))
    else:
        hour, minute = (int(word), 0) if len(word) <= 2 else (int(word[:-2]), int(word[-2:]))
        if reading.time is not None or hour > 23 or minute > 59:
            raise NoDate(word)
        reading.time = (hour, minute, 0.0)


def _year_behind(reading: _Reading) -> int | None:
    if reading.tokens and reading.tokens[0][0] == "number" and len(reading.tokens[0][1]) in (2, 4):
        return _year(reading.tokens.pop(0)[1])
    return None


def _word(reading: _Reading, word: str) -> None:
    month, day = _month(word), _weekday(word)
    if word in _FIXED:
        reading.days += _FIXED[word]
        reading.relative = True
    elif word in _ORDINALS and reading.tokens and reading.tokens[0][0] == "word":
        following = reading.tokens.pop(0)[1]
        day = _weekday(following)
        if day is not None:
            reading.weekday = (_ORDINALS[word], day)
        else:
            _relate(reading, _ORDINALS[word], following)
    elif word in ("noon", "midnight"):
        raise NoDate(word)
    elif word == "t" and reading.date is not None:
        return
    elif month is not None and reading.tokens and reading.tokens[0][0] == "number":
        number = reading.tokens.pop(0)[1]
        if len(number) > 2:
            raise NoDate(word)
        _set_date(reading, _year_behind(reading), month, int(number))
    elif day is not None:
        reading.weekday = (0, day)
    elif word in _ZONES:
        _named_zone(reading, word)
    else:
        _relate(reading, 1, word)


def _named_zone(reading: _Reading, word: str) -> None:
    minutes = _ZONES[word]
    if reading.tokens and reading.tokens[0][0] == "signed" and len(reading.tokens) == 1:
        base = reading.tokens.pop(0)[1]
        _zone_offset(reading, base)
        return
    reading.offset = timezone(timedelta(minutes=minutes))


def _month(word: str) -> int | None:
    for names in (_MONTHS, _FULL_MONTHS):
        if word in names:
            return names.index(word) + 1
    return 9 if word == "sept" else None


def _weekday(word: str) -> int | None:
    if word in _DAY_SHORT:
        return _DAY_SHORT[word]
    return next((place for place, name in enumerate(_DAYS) if word in (name, name[:3])), None)


_READERS = {
    "stamp": _stamp, "iso": _iso, "slashes": _slashes, "named": _named, "time": _time, "hour": _time, "signed": _signed,
    "number": _number, "word": _word,
}  # fmt: skip


def _settled(reading: _Reading, now: float) -> float:
    zone = reading.offset or reading.zone
    here = datetime.fromtimestamp(now, zone)
    hour, minute, second = here.hour, here.minute, here.second + now % 1
    if reading.time is not None:
        hour, minute, second = reading.time
    elif reading.date is not None or (reading.weekday is not None and not reading.relative):
        hour, minute, second = 0, 0, 0.0
    year, month, day = reading.date or (here.year, here.month, here.day)
    year = here.year if year is None else year
    try:
        moment = datetime(year, month, day)
    except (ValueError, OverflowError):
        raise NoDate("no such day") from None
    if reading.weekday is not None and reading.date is None:
        ordinal, wanted = reading.weekday
        ahead = (wanted - moment.weekday()) % 7
        moment += timedelta(days=ahead + 7 * (ordinal - (1 if ordinal > 0 and ahead else 0)))
    try:
        months = moment.year * 12 + moment.month - 1 + reading.months
        # A day that the month lacks runs over into the next: January 31 and a month is March 2 or 3.
        moment = datetime(months // 12, months % 12 + 1, 1) + timedelta(days=moment.day - 1 + reading.days)
        moment = moment.replace(hour=hour, minute=minute, tzinfo=zone)
        return moment.astimezone(UTC).timestamp() + second + reading.seconds
    except (ValueError, OverflowError):
        raise NoDate("out of range") from None
