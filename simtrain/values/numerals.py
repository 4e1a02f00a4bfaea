"""Numbers as people write them: currency signs, thousands separators, percent signs and units."""

import math
import re

MAX_TEXT = 10_000

_SPACES = " \u00a0\u2009\u202f"
# A run of digits with the characters of numbers, dates, times and ranges. Digits attached to a word are the
# name of something (O0012, INV-7), not a number.
_RUN = re.compile(
    r"(?<!\w)(?<!\w[-_./#:])(?P<sign>[-−+]?)(?:[$€£¥₹]\s?)?(?P<inner>[-−]?)"
    rf"(?P<run>(?:\d|\.\d)(?:[\d.,:/\-–]|[{_SPACES}](?=\d))*(?:[eE][-+]?\d+)?)(?P<name>[^\W\d_]+\d)?"
)
_PLAIN = re.compile(r"(?:\d+|\d{1,3}(?:,\d{3})+)?(?:\.\d+)?(?:[eE][-+]?\d+)?")
_SPACED = re.compile(rf"\d{{1,3}}(?:[{_SPACES}]\d{{3}})+(?:\.\d+)?")
_SPACE = re.compile(f"[{_SPACES}]")


def read_number(text: str) -> float | None:
    """Return the single number in a text; None if there is none, more than one, or an ambiguous one.

    Thousands may be separated by commas or spaces; the decimal separator is a point. A repeated equal number counts once.
    """
    # The pattern backtracks: without a bound a hostile answer could take any time.
    if len(text) > MAX_TEXT:
        return None
    found: set[float] = set()
    for match in _RUN.finditer(text):
        # Digits that letters and digits follow are part of a name, such as 3D5.
        if match["name"]:
            continue
        values = _values(match["run"].rstrip(".,:/-–"))
        if values is None:
            return None
        negative = match["sign"] in ("-", "−") or bool(match["inner"])
        found.update([-values[0] if negative else values[0], *values[1:]])
    # Two different numbers leave open which one is the answer, so neither counts.
    return found.pop() if len(found) == 1 else None


def _values(run: str) -> list[float] | None:
    """Return the numbers in a run of digits; None if a part of it is not a number, like a date or `1.234,50`."""
    parts = [_SPACE.sub("", run)] if _SPACED.fullmatch(run) else _SPACE.split(run)
    stripped = [part.rstrip(".,:/-–") for part in parts]
    if not all(_PLAIN.fullmatch(part) for part in stripped):
        return None
    values = [float(part.replace(",", "")) for part in stripped]
    return values if all(math.isfinite(value) for value in values) else None
