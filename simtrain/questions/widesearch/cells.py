"""Decides if a cell agrees with the gold cell by the column's rule, strictly: no credit for anything missing."""

import re
from decimal import Decimal
from typing import Final
from urllib.parse import urlsplit

from simtrain.contracts.question import Column, Metric
from simtrain.questions.widesearch import dates, quantities
from simtrain.questions.widesearch.words import folded, is_missing, plain

DAYS: Final = 31
"""Most days between two dates for `date_near`."""
MAX_CELL: Final = 10_000
"""Characters. The rest of a longer cell is ignored."""

_PLAIN_NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d{0,30}|[1-9]\d{0,2}(?:,\d{3}){1,9})(?:\.\d{1,30})?")
_URL = re.compile(r"https?://[^\s|<>()\[\]\"']+")
_HOST = re.compile(r"(?<![\w.@-])((?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61})(?![\w.-]*@)")


def agree(gold: str, given: str, *, column: Column, unit: str = "") -> float | None:
    """Return 1.0 or 0.0; None if only a judge can decide.

    `unit` is the unit in the response's heading. A missing fact agrees only with other ways to say that it is missing. If there are
    several metrics, all must hold.
    """
    gold, given = gold[:MAX_CELL], given[:MAX_CELL]
    if is_missing(gold):
        return float(is_missing(given))
    if is_missing(given):
        return 0.0
    verdicts = [_holds(metric, gold, given, column, unit) for metric in column.metric or ("exact_match",)]
    # One metric that fails decides; no judge is asked then.
    if False in verdicts:
        return 0.0
    return None if None in verdicts else 1.0


def _holds(metric: Metric, gold: str, given: str, column: Column, unit: str) -> bool | None:
    match metric:
        case "exact_match":
            return _exact(gold, given, column, unit)
        case "in_match":
            return _within(gold, given)
        case "url_match":
            return same_hosts(gold, given)
        case "number_near":
            return _number_near(gold, given, column, unit)
        case "date_near":
            return _date_near(gold, given)
        case "llm_judge":
            return True if _exact(gold, given, column, unit) else None


def _exact(gold: str, given: str, column: Column, unit: str) -> bool:
    if "norm_date" in column.preprocess:
        wanted, found = dates.read_dates(gold), dates.read_dates(given)
        if wanted:
            return any(dates.same(one, other) for one in wanted for other in found)
    if "extract_number" in column.preprocess and quantities.read_quantity(gold) is not None:
        return _number_near(gold, given, column.model_copy(update={"criterion": 0.0}), unit)
    return same_text(gold, given) or same_text(gold, column.words.get(given.strip(), given))


def same_text(gold: str, given: str) -> bool:
    """Return True if two cells are the same, ignoring markup, case and white space; 5 is 5.0 and 1,000 is 1000, but 007 is not 7."""
    if folded(gold) == folded(given):
        return True
    one, other = plain_number(gold), plain_number(given)
    return one is not None and one == other


def plain_number(text: str) -> Decimal | None:
    """Return the number if a cell is nothing but a number without leading zeros; else None."""
    bare = plain(text)
    return Decimal(bare.replace(",", "")).normalize() if _PLAIN_NUMBER.fullmatch(bare) else None


def _within(gold: str, given: str) -> bool:
    """Return True if the response is a part of the gold cell made of whole words; in scripts without spaces, any part."""
    part, whole = " ".join(plain(given).casefold().split()), " ".join(plain(gold).casefold().split())
    if not part:
        return False
    before, after = (r"(?<!\w)" if part[0].isascii() else ""), (r"(?!\w)" if part[-1].isascii() else "")
    return re.search(before + re.escape(part) + after, whole) is not None


def same_hosts(gold: str, given: str) -> bool:
    """Return True if two cells link to the same hosts; cells without links must be the same."""
    wanted, found = _hosts(gold), _hosts(given)
    return wanted == found if wanted else folded(gold) == folded(given)


def _hosts(text: str) -> frozenset[str]:
    """Return the hosts of all links in a text, including those without a scheme."""
    found: set[str] = set()
    bare = text.casefold()
    for url in (*_URL.findall(bare), *(f"http://{host}" for host in _HOST.findall(_URL.sub(" ", bare)))):
        try:
            host = urlsplit(url).hostname
        except ValueError:
            continue
        if host:
            found.add(host.rstrip(".,;:").removeprefix("www."))
    return frozenset(found)


def _number_near(gold: str, given: str, column: Column, unit: str) -> bool:
    wanted, found = quantities.read_quantity(gold), quantities.read_quantity(given)
    if wanted is None:
        return same_text(gold, given)
    if found is None:
        return False
    tolerance = column.criterion if isinstance(column.criterion, int | float) else 0.0
    if not found.dimension and unit:
        found = quantities.Quantity(found.value, *quantities.unit_of(unit))
    if not wanted.dimension:
        # The gold's unit is in its heading: `Mirror (m)`.
        named = column.name.partition("(")[2].rstrip(")")
        wanted = quantities.Quantity(wanted.value, *quantities.unit_of(named))
    return quantities.near(wanted, found, tolerance=tolerance)


def _date_near(gold: str, given: str) -> bool:
    wanted, found = dates.read_dates(gold), dates.read_dates(given)
    if not wanted:
        return folded(gold) == folded(given)
    return any(dates.near(one, other, days=DAYS) for one in wanted for other in found)
