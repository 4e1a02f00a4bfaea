"""Dates in the forms that git takes (`git help rev-parse`, --since): exact ones, `2 weeks ago`, `yesterday`, `Jan 15 2024`."""

import calendar
import re
from datetime import UTC, datetime, timedelta, timezone

from simtrain.values.clock import instant

_MONTHS = tuple(name.lower() for name in calendar.month_name[1:])
_DAYS = tuple(name.lower() for name in calendar.day_name)
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_HOURS = {"midnight": 0, "noon": 12, "tea": 17}

# git takes a number of nine digits or more for seconds since 1970.
_EPOCH = re.compile(r"@(\d{1,12})(?:\s+[+-]\d{4})?|(\d{9,12})(?:\s+[+-]\d{4})?")
_EXACT = re.compile(
    r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:T|\s+)(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s*(Z|UTC|GMT|[+-]\d{2}:?\d{2})?",
    re.IGNORECASE,
)
_WORDY = re.compile(
    r"(?:[a-z]{3,9},?\s+)?(?:([a-z]{3,9})\s+(\d{1,2})|(\d{1,2})\s+([a-z]{3,9})),?\s+(?:(\d{4})\s+)?"
    r"(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\s+(\d{4}))?\s*(Z|UTC|GMT|[+-]\d{2}:?\d{2})?",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[a-z]+|\d+(?:[:/.-]\d+)*", re.IGNORECASE)


def seconds_at(text: str, now: str) -> int:
    """Return a date in seconds since 1970. Missing parts are those of `now`; a text without a date means now."""
    exact = _exact(text.strip())
    return exact if exact is not None else _Guess(now).read(text)


def _exact(text: str) -> int | None:
    epoch = _EPOCH.fullmatch(text)
    if epoch:
        return int(epoch[1] or epoch[2])
    found = _EXACT.fullmatch(text)
    if found:
        year, month, day, hour, minute, second, zone = found.groups()
        return _moment(year, month, day, hour, minute, second, zone)
    found = _WORDY.fullmatch(text)
    if found is None or not (found[5] or found[9]):
        return None
    month = _month((found[1] or found[4]).lower())
    if month is None:
        return None
    return _moment(found[5] or found[9], str(month), found[2] or found[3], found[6], found[7], found[8], found[10])


def _moment(
    year: str, month: str, day: str, hour: str, minute: str, second: str | None, zone: str | None
) -> int | None:
    try:
        at = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second or 0), tzinfo=_zone(zone))
        return int(at.timestamp())
    except (ValueError, OverflowError):
        return None


def _zone(text: str | None) -> timezone:
    if text is None or text[0] not in "+-":
        return UTC
    digits = text[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)


def _month(word: str) -> int | None:
    return next((place + 1 for place, name in enumerate(_MONTHS) if len(word) >= 3 and name.startswith(word)), None)


class _Guess:
    """A date read word by word, with the guesses of git's approxidate."""

    def __init__(self, now: str) -> None:
        self._now = datetime.fromtimestamp(instant(now), UTC).replace(tzinfo=None)
        self._clock = self._now
        self._year: int | None = None
        self._month: int | None = None
        self._day: int | None = None
        self._number = 0

    def read(self, text: str) -> int:
        """Return seconds since 1970."""
        try:
            for token in _TOKEN.findall(text):
                if token[0].isdigit():
                    self._use_number()
                    self._digits(token)
                else:
                    self._word(token.lower())
            self._use_number()
            return int(self._settled().replace(tzinfo=UTC).timestamp())
        except (ValueError, OverflowError):
            # git never refuses a date: what cannot be one means now.
            return int(self._now.replace(tzinfo=UTC).timestamp())

    def _settled(self, *, back: float = 0) -> datetime:
        """Return the date read so far minus `back` seconds; missing parts are those of now."""
        day = self._day or self._now.day
        month = self._month or self._now.month
        year = self._year
        if year is None:
            # A month that is still to come this year means last year's.
            year = self._now.year - (month > self._now.month)
        start = self._clock.replace(year=year, month=month, day=1)
        return start + timedelta(days=day - 1) - timedelta(seconds=back)

    def _go(self, moment: datetime) -> None:
        self._clock = moment
        self._year, self._month, self._day = moment.year, moment.month, moment.day

    def _use_number(self) -> None:
        """Take a number without a unit as a day, else a month, else a year."""
        number, self._number = self._number, 0
        if number == 0:
            return
        if self._day is None and number < 32:
            self._day = number
        elif self._month is None and number < 13:
            self._month = number
        elif self._year is None:
            self._year = _full_year(number)

    def _digits(self, token: str) -> None:
        parts = re.split(r"[:/.-]", token)
        if len(parts) > 1 and ":" in token:
            self._time([int(part) for part in parts])
        elif len(parts) > 2:
            self._date([int(part) for part in parts[:3]], american="." not in token)
        elif len(token) <= 2 or token[0] != "0":
            self._number = int(parts[0])

    def _time(self, parts: list[int]) -> None:
        hour, minute, second = (*parts, 0)[:3]
        if hour < 25 and minute < 60 and second <= 60:
            self._clock = self._clock.replace(hour=hour % 24, minute=minute, second=min(second, 59))

    def _date(self, parts: list[int], *, american: bool) -> None:
        first, second, third = parts
        # As git: 3/4/2030 is March 4, and 3.4.2030 is April 3; if that is no date, the other way round.
        orders = [(third, first, second), (third, second, first)]
        if first > 70:
            orders = [(first, second, third), (first, third, second)]
        elif not american:
            orders.reverse()
        for year, month, day in orders:
            full = _full_year(year)
            if full is not None and 0 < month < 13 and 0 < day < 32:
                self._year, self._month, self._day = full, month, day
                return

    def _word(self, word: str) -> None:
        month = _month(word)
        if month is not None:
            self._use_number()
            self._month = month
        elif word in _HOURS:
            self._use_number()
            self._at_hour(_HOURS[word])
        elif word in ("am", "pm"):
            self._half(word)
        elif word == "yesterday":
            self._number = 0
            self._go(self._settled(back=86400))
        elif word in ("now", "never"):
            self._number = 0
            self._go(self._now if word == "now" else datetime(1970, 1, 1))
        elif word == "last":
            self._number = 1
        elif word in _NUMBERS:
            self._number = _NUMBERS.index(word)
        else:
            self._unit(word.removesuffix("s"))

    def _at_hour(self, hour: int) -> None:
        # `noon` in the morning is yesterday's, unless a day was named.
        if self._clock.hour < hour and self._day is None:
            self._go(self._settled(back=86400))
        self._clock = self._clock.replace(hour=hour, minute=0, second=0)

    def _half(self, word: str) -> None:
        number, self._number = self._number, 0
        if number:
            self._clock = self._clock.replace(hour=number % 24, minute=0, second=0)
        self._clock = self._clock.replace(hour=self._clock.hour % 12 + (12 if word == "pm" else 0))

    def _unit(self, unit: str) -> None:
        if unit in _SECONDS:
            number, self._number = self._number, 0
            self._go(self._settled(back=number * _SECONDS[unit]))
        elif unit in ("month", "year"):
            number, self._number = self._number, 0
            moment = self._settled()
            months = moment.year * 12 + moment.month - 1 - number * (12 if unit == "year" else 1)
            self._clock = moment
            self._year, self._month, self._day = months // 12, months % 12 + 1, moment.day
        else:
            self._weekday(unit)

    def _weekday(self, word: str) -> None:
        for place, name in enumerate(_DAYS):
            if len(word) >= 3 and name.startswith(word):
                weeks, self._number = self._number - 1, 0
                moment = self._settled()
                # Python's weeks begin on Monday, git's on Sunday.
                days = (moment.weekday() + 1) % 7 - (place + 1) % 7
                days += 7 * (weeks + 1 if days <= 0 else weeks)
                self._go(moment - timedelta(days=max(days, 0)))
                return


def _full_year(number: int) -> int | None:
    if 1969 < number < 2100:
        return number
    if 69 < number < 100:
        return 1900 + number
    return 2000 + number if number < 38 else None
