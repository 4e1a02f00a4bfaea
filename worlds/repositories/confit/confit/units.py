"""Numbers with units."""

from confit.errors import ConfitError

SIZES = {
    "B": 1,
    "k": 1_000,
    "M": 1_000_000,
    "G": 1_000_000_000,
    "KiB": 1_024,
    "MiB": 1_048_576,
    "GiB": 1_073_741_824,
}
SPANS = {"ms": 0.001, "s": 1, "m": 60, "h": 3_600, "d": 86_400}


def quantity(text: str) -> int | float:
    """Return the number of a text like `512MiB`, `1h30m`, `75%` or `1_000`."""
    total, rest, last = 0.0, text, float("inf")
    if not text[:1].isdigit():
        raise ConfitError(f"{text!r} is no number")
    while rest:
        digits, rest = _split(rest, lambda letter: letter.isdigit() or letter in "._")
        unit, rest = _split(rest, lambda letter: not letter.isdigit())
        number = _number(digits, text)
        if unit == "":
            if total:
                raise ConfitError(f"{text!r} lacks a unit at its end")
            return number
        if unit == "%":
            return _alone(number / 100, text, rest, last)
        if unit in SIZES:
            return _alone(number * SIZES[unit], text, rest, last)
        if unit not in SPANS:
            raise ConfitError(f"{unit!r} is no unit, in {text!r}")
        if SPANS[unit] >= last:
            raise ConfitError(f"{text!r} has its units in the wrong order")
        last = SPANS[unit]
        total += number * last
    return _whole(total)


def _split(text: str, belongs) -> tuple[str, str]:
    end = 0
    while end < len(text) and belongs(text[end]):
        end += 1
    return text[:end], text[end:]


def _number(digits: str, text: str) -> int | float:
    try:
        return float(digits) if "." in digits else int(digits)
    except ValueError:
        raise ConfitError(f"{digits!r} is no number, in {text!r}") from None


def _alone(number: float, text: str, rest: str, last: float) -> int | float:
    if rest or last != float("inf"):
        raise ConfitError(f"{text!r} mixes units that do not go together")
    return _whole(number)


def _whole(number: float) -> int | float:
    return int(number) if number == int(number) else number


def format_size(count: int) -> str:
    """Return bytes in the largest binary unit of which it has at least one, to one decimal."""
    for unit in ("GiB", "MiB", "KiB"):
        if count >= SIZES[unit]:
            return f"{round(count / SIZES[unit], 1):g}{unit}"
    return f"{count}B"
