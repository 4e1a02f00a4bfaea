"""Read a reply in any notation: broken JSON, numbers and dates as text, names in capitals, renamed fields."""

import json
import re
from collections.abc import Iterator, Mapping

from simtrain.agents.skills.naming import likeness
from simtrain.files.json_schemas import properties_of
from simtrain.values.months import MONTHS
from simtrain.values.python_source import python_literal
from simtrain.values.types import JsonObject, JsonValue, Observation, as_object, encode, is_list, is_object

_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d{1,2})?")
_DATE = re.compile(rf"(\d{{1,2}}) ({'|'.join(MONTHS)}) (\d{{4}})(?:, (\d\d:\d\d)(:\d\d)? ?(\S+)?)?")
_OPENING = {"{": "}", "[": "]"}
SAME = 0.5
"""Minimum similarity at which an unexpected field is taken for an expected one."""


def content_of(observation: Observation) -> JsonObject | None:
    """Return the structured content of a reply, or what can be recovered from a text that was meant to be a JSON object."""
    content = observation.content
    if content is not None or not observation.text.lstrip().startswith("{"):
        return content
    text = observation.text.strip()
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        read = _literal(text)
        return read if read is not None else _closed(text)
    # A text inside well-formed JSON was meant to be a text.
    return None


def _literal(text: str) -> JsonObject | None:
    """Return an object written as Python literals."""
    try:
        value = python_literal(text)
        # Literals may hold sets, bytes or tuples as keys, which are no JSON.
        json.dumps(value)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    return value if is_object(value) else None


def _closed(text: str) -> JsonObject | None:
    """Return an object from a text whose closing brackets are missing; None if more is missing."""
    open_brackets: list[str] = []
    quoted = escaped = False
    for sign in text:
        if escaped:
            escaped = False
        elif quoted:
            escaped = sign == "\\"
            quoted = sign != '"'
        elif sign == '"':
            quoted = True
        elif sign in _OPENING:
            open_brackets.append(_OPENING[sign])
        elif sign in "}]" and open_brackets:
            open_brackets.pop()
    try:
        value = json.loads(text + '"' * quoted + "".join(reversed(open_brackets)))
    except (ValueError, RecursionError):
        return None
    return value if is_object(value) else None


def text_in(text: str, heard: Mapping[str, str], texts: frozenset[str]) -> str:
    """Return a text with dates and names in their usual form. `heard` maps upper-case texts to their known spelling; `texts` are kept."""
    if text in texts:
        return text
    if text.isupper() and " " in text:
        return heard.get(text, text)
    date = _DATE.fullmatch(text)
    return _iso(date) if date else text


def number_in(text: str) -> int | float | None:
    """Return a text as a number; None for other texts, and for those that would not survive the conversion unchanged."""
    found = _number(text) if _NUMBER.fullmatch(text) else text
    return None if isinstance(found, str) else found


def _number(text: str) -> int | float | str:
    digits = text.replace(",", "")
    number = int(digits) if re.fullmatch(r"-?\d+", digits) else float(digits)
    money = re.fullmatch(r"-?\d+\.\d\d", digits)
    # "007" and "1e5" would not survive, and are ids or texts; 12.50 loses a zero but no value.
    return number if money or "," in text or encode(number) == digits or repr(number) == digits else text


def _iso(date: re.Match[str]) -> str:
    day, month, year, clock, seconds, zone = date.groups()
    written = f"{year}-{MONTHS.index(month) + 1:02}-{int(day):02}"
    if clock is None:
        return written
    return f"{written}T{clock}{seconds or ':00'}{'Z' if zone in ('UTC', None) else zone}"


def named(value: JsonValue, schema: JsonValue, needed: frozenset[str]) -> JsonValue:
    """Return the value with needed fields renamed to their documented names, if they came under names that mean the same."""
    if is_list(value):
        inner = schema.get("items") if is_object(schema) else None
        return [named(item, inner, needed) for item in value]
    if not is_object(value):
        return value
    record, shape = value, as_object(schema)
    documented = properties_of(shape)
    found = dict(_renamed(record, documented, frozenset(shape.get("required") or ()), needed))
    inner = {name: named(item, documented.get(name), needed) for name, item in record.items()}
    return {**inner, **{name: inner[other] for name, other in found.items()}}


def _renamed(
    record: JsonObject, documented: JsonObject, required: frozenset[str], needed: frozenset[str]
) -> Iterator[tuple[str, str]]:
    """Yield pairs of a documented name and the undocumented field sent in its place."""
    # A field that the plan reads, or the schema requires, has its own meaning and replaces no other.
    spare = [name for name in record if name not in needed and name not in required]
    for name in documented:
        if name in record or name not in needed:
            continue
        other = max(spare, key=lambda other: likeness(name, other), default=None)
        if other is not None and likeness(name, other) >= (SAME if required else 1):
            yield name, other
