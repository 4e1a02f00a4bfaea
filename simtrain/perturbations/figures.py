"""Figures in replies: finds the numbers and dates that state a fact, and makes plausible wrong ones."""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from fnmatch import fnmatchcase

from pydantic import Field

from simtrain.contracts.perturbation import Perturbation
from simtrain.perturbations.reply_edits import Path, leaves, name_at
from simtrain.values.comparing import is_number
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonValue

# Numbers in such fields are keys, places or times: a wrong one would break later calls and give itself away.
_NO_FACT = re.compile(
    r"(?:^|_)(?:id|ids|key|no|number|num|seq|index|position|pos|rank|order|page|pages|per|offset|limit|cursor|version|year|month"
    r"|day|line|row|port|code|status|timestamp|ts|at|on|since|until|lat|lon|lng|latitude|longitude|depth|level|mode|count"
    r"|width|height|start|end)$"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)(T[\d:.]+(?:Z|[+-]\d\d:\d\d)?)?")
_TOKEN = re.compile(
    r"(?<![\w.,:/#-])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w:/-]|[.,]\d)|(?<![\w.,:/#-])\d+(?:\.\d+)?(?![\w:/-]|[.,]\d)"
)
_YEARS = range(1900, 2101)


def figures_in(value: JsonValue, *, fields: tuple[str, ...] = ("*",), dates: bool = False) -> Iterator[Path]:
    """Yield the places of numbers (and dates) that state a fact, in fields that match a glob; no ids, page numbers or parts of dates."""
    for path, leaf in leaves(value):
        name = name_at(path)
        if not any(fnmatchcase(name, glob) for glob in fields):
            continue
        if isinstance(leaf, str):
            states = dates and _DATE.fullmatch(leaf) is not None
        else:
            states = is_number(leaf) and not _NO_FACT.search(_CAMEL.sub("_", name).lower())
        if states:
            yield path


def figures_in_text(text: str) -> list[str]:
    """Return the numbers of a prose text as written, except parts of ids, dates or times, and years."""
    found = (match[0] for match in _TOKEN.finditer(text))
    return [token for token in found if not (token.isdigit() and (int(token) in _YEARS or token.startswith("0")))]


def off(value: JsonValue, share: float) -> JsonValue:
    """Return the figure, off by a share of itself (negative: too small), with the same number of decimals; None if there is none.

    The error is never below 10 % nor above 25 % for shares between these. A date moves by days: 1 for each 5 %.
    """
    if isinstance(value, str):
        return _other_day(value, share)
    decimals = len(repr(value).partition(".")[2]) if isinstance(value, float) else 0
    # No fixed number of decimals: such a float is scaled as it is, and an integer never gets here.
    if "e" in repr(value) or decimals > 6:
        return value * (1 + share) if isinstance(value, float) else None
    # In units of the last decimal, so that rounding cannot lead out of the 10 to 25 %.
    unit = 10.0**-decimals
    units = round(abs(value) / unit)
    least, most = -(-units // 10), units // 4
    # Of 1, 2 and 3 units, no whole number is 10 to 25 % away.
    if units == 0 or least > most:
        return None
    moved = min(max(round(units * abs(share)), least), most)
    wrong = units + (moved if share > 0 else -moved)
    signed = wrong if value > 0 else -wrong
    return round(signed * unit, decimals) if decimals or isinstance(value, float) else signed


def misspelt(token: str, share: float) -> str | None:
    """Return a number in its written form, off by a share of itself; None if none is possible."""
    plain = token.replace(",", "")
    wrong = off(float(plain) if "." in plain else int(plain), share)
    if wrong is None:
        return None
    decimals = len(plain.partition(".")[2])
    return f"{wrong:,.{decimals}f}" if "," in token else f"{wrong:.{decimals}f}"


def spoken(value: JsonValue) -> list[str]:
    """Return the ways to write a figure in prose."""
    if isinstance(value, str):
        return [value]
    return list(dict.fromkeys((f"{value:,.2f}", f"{value:.2f}", f"{value:,}", f"{value}")))


def _other_day(text: str, share: float) -> str | None:
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    try:
        moved = date.fromisoformat(found[1]) + timedelta(days=max(1, round(20 * abs(share))) * (1 if share > 0 else -1))
    except (ValueError, OverflowError):
        return None
    return f"{moved.isoformat()}{found[2] or ''}"


class WrongFigure(Perturbation):
    """Base of perturbations that make figures wrong by a share that is not obvious."""

    off: float | None = Field(
        default=None,
        ge=0.1,
        le=0.25,
        description="Share by which it is off; unset, 0.1 and up to 0.15 more by severity.",
    )
    fields: list[str] = Field(
        default=["*"], min_length=1, description="Globs over the names of fields that may be hit."
    )

    def share(self, rng: Stream) -> float:
        """Return the share, above or below the truth."""
        return (0.1 + 0.15 * self.severity if self.off is None else self.off) * rng.choose((1, -1))
