"""Check by its pages whether a thing meets a condition."""

import re
from collections.abc import Mapping
from typing import Final

from simtrain.agents.searching.asked import Condition
from simtrain.agents.searching.knowing import Knowing, Thing
from simtrain.agents.searching.pages import Likeness, plain_value
from simtrain.agents.searching.reader import Reading
from simtrain.values.passages import read_amount

_YEAR: Final = re.compile(r"\b(\d{4})\b")
_YEARS: Final = frozenset({"since_year", "until_year", "years", "year", "decade", "later", "earlier"})
_AMOUNTS: Final = frozenset({"at_least", "at_most", "range", "larger", "smaller"})
_MENTIONED: Final = {"exists": True, "exists_now": True, "exists_ever": True, "never": False, "never_ever": False}
_AFFIRMED: Final = {"yes": frozenset({"yes", "true"}), "no": frozenset({"no", "false"})}


def meets(thing: Thing, condition: Condition, knowing: Knowing) -> Reading[bool]:
    """Return whether the condition holds. Without a stated value it does not, unless the page mentions the name or word."""
    kind, slots = condition.kind, condition.slots
    if kind in _MENTIONED:
        page = yield from knowing.page(thing)
        value = slots.get("value", "")
        return page is not None and (not value or page.mentions(value) is _MENTIONED[kind])
    if not condition.path:
        return True
    like: Likeness = "date" if kind in _YEARS else "number" if kind in _AMOUNTS else "text"
    statement = yield from knowing.value(thing, condition.path, like)
    if kind in ("later", "earlier", "larger", "smaller"):
        other = yield from knowing.value(thing, condition.other, like)
        if statement is None or other is None:
            return False
        first, second = plain_value(statement.text, like), plain_value(other.text, like)
        return _compared(kind, first, second)
    if like != "text":
        return statement is not None and (_in_years if like == "date" else in_range)(kind, statement.text, slots)
    if kind in _AFFIRMED:
        return statement is not None and statement.text.casefold() in _AFFIRMED[kind]
    if statement is not None and statement.text.casefold() in allowed(slots):
        return kind != "differs"
    # Prose may state the value without the label's words, so the page itself is searched for it.
    page = yield from knowing.page(thing)
    mentioned = page is not None and len(condition.path) == 1 and any(map(page.mentions, allowed(slots)))
    return mentioned is (kind != "differs")


def allowed(slots: Mapping[str, str]) -> list[str]:
    """Return the words that meet a condition."""
    return [word.casefold() for name in ("value", "other") if name in slots for word in slots[name].split("|")]


def _compared(kind: str, first: str, second: str) -> bool:
    if kind in ("later", "earlier"):
        return first > second if kind == "later" else first < second
    left, right = read_amount(first), read_amount(second)
    if left is None or right is None:
        return False
    return left > right if kind == "larger" else left < right


def _in_years(kind: str, text: str, slots: Mapping[str, str]) -> bool:
    found = _YEAR.search(text)
    if found is None:
        return False
    # "until 1990" has no first year, "since 1990" no last one.
    first = slots.get("first", "0")
    ends = {"year": first, "decade": f"{first[:3]}9", "since_year": "9999"}
    last = slots["last"] if "last" in slots else ends[kind]
    return int(first) <= int(found[1]) <= int(last)


def in_range(kind: str, text: str, slots: Mapping[str, str]) -> bool:
    """True if the number in a text is within the bounds of a condition."""
    number = read_amount(text)
    least = read_amount(slots["low" if kind == "range" else "value"]) if kind != "at_most" else None
    most = read_amount(slots["high" if kind == "range" else "value"]) if kind != "at_least" else None
    return number is not None and (least is None or number >= least) and (most is None or number <= most)
