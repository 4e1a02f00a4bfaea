"""Read values as their documented type, else as the type seen before under the same name."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from simtrain.agents.skills.naming import words
from simtrain.agents.skills.reading import number_in, text_in
from simtrain.files.json_schemas import properties_of
from simtrain.values.json_walk import objects_in
from simtrain.values.types import JsonObject, JsonValue, as_object, is_list, is_object

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?Z")
_TRUTH: dict[JsonValue, bool] = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_NOTHING = ("null", "none", "")
_EPOCH = range(10**8, 10**10)
"""Integers that may be Unix times in seconds: the years 1973 to 2286."""
_MOMENTS = frozenset(
    {
        "at",
        "time",
        "until",
        "since",
        "timestamp",
        "deadline",
        "expire",
        "expiry",
        "start",
        "end",
        "due",
        "created",
        "updated",
    }
)


class Kind(StrEnum):
    """The kinds of JSON values in replies."""

    truth = "truth"
    number = "number"
    nothing = "nothing"
    instant = "instant"
    text = "text"
    list = "list"
    record = "record"


Kinds = Mapping[str, frozenset[Kind]]
"""The kinds of a field's values so far, by field name."""

_DOCUMENTED = {
    "boolean": Kind.truth, "integer": Kind.number, "number": Kind.number, "string": Kind.text, "array": Kind.list, "object": Kind.record,
}  # fmt: skip


def kind_of(value: JsonValue) -> Kind:
    """Return the kind of a value."""
    if value is None:
        return Kind.nothing
    if isinstance(value, bool):
        return Kind.truth
    if isinstance(value, int | float):
        return Kind.number
    if isinstance(value, str):
        return Kind.instant if INSTANT.fullmatch(value) else Kind.text
    return Kind.list if is_list(value) else Kind.record


def kinds_in(value: JsonValue) -> Iterator[tuple[str, Kind]]:
    """Yield the names of all fields in a value, at any depth, with the kind of each."""
    for held in objects_in(value):
        for name, item in held.items():
            yield name, kind_of(item)


@dataclass(frozen=True, slots=True)
class TypedReader:
    """Reads replies. `heard` maps texts in capitals to their usual form; `texts` are values and field names that are texts even if
    they look like numbers; `kinds` are the kinds seen so far under each name.
    """

    heard: Mapping[str, str]
    texts: frozenset[str]
    kinds: Kinds

    def read(self, value: JsonValue, schema: JsonValue, name: str = "") -> JsonValue:
        """Return a value, with everything in it, converted to its type; values that already fit stay unchanged."""
        shape = documented(schema)
        kind, may_lack = _kind(shape)
        items = value if is_list(value) else self._as_item(value, kind, may_lack, name)
        if items is not None and kind is Kind.record and len(items) == 1:
            return self.read(items[0], shape, name)
        if items is not None:
            return [self.read(item, shape.get("items")) for item in items]
        if is_object(value):
            inner = properties_of(shape)
            return {key: self.read(item, inner.get(key), key) for key, item in value.items()}
        return self._scalar(value, kind, may_lack, name)

    def _as_item(self, value: JsonValue, kind: Kind | None, may_lack: bool, name: str) -> list[JsonValue] | None:
        """Return a list of one item if a single value was sent in place of a list. (A count may have the name of its list.)"""
        if kind is None:
            alone = isinstance(value, str | dict) and self._was(name, Kind.list) and not _lacks(value, may_lack=True)
        else:
            alone = kind is Kind.list and not _lacks(value, may_lack)
        return [value] if alone else None

    def _scalar(self, value: JsonValue, kind: Kind | None, may_lack: bool, name: str) -> JsonValue:
        if isinstance(value, str) and self._is_nothing(value, kind, may_lack, name):
            return None
        if kind is Kind.truth or (kind is None and isinstance(value, str) and self._was(name, Kind.truth)):
            return _TRUTH.get(str(value).lower(), value)
        if isinstance(value, int) and not isinstance(value, bool) and self._is_instant(value, kind, name):
            return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        if not isinstance(value, str):
            return value
        is_text = kind is Kind.text or value in self.texts or (name in self.texts and kind is not Kind.number)
        if not is_text and value.lower() in ("true", "false"):
            return value.lower() == "true"
        # Ids and phone numbers look like numbers; what is documented or was given as a text stays one.
        number = None if is_text else number_in(value)
        return text_in(value, self.heard, self.texts) if number is None else number

    def _is_nothing(self, text: str, kind: Kind | None, may_lack: bool, name: str) -> bool:
        """True if a text means null: it is no value of the type, in a field that may be null."""
        if text.lower() not in _NOTHING:
            return False
        if kind is not None:
            return may_lack and (text != "" or kind is not Kind.text or not self._was(name, Kind.text))
        others = self.kinds.get(name, frozenset()) - {Kind.text}
        return text == "null" or bool(others) or name.endswith(("_id", "_at"))

    def _is_instant(self, value: int, kind: Kind | None, name: str) -> bool:
        """True if an integer is a Unix time: its field is documented as text, held a time before, or is named like one."""
        # Smaller integers are counts and ids.
        if value not in _EPOCH or kind not in (None, Kind.text):
            return False
        return self._was(name, Kind.instant) or not _MOMENTS.isdisjoint(words(name))

    def _was(self, name: str, kind: Kind) -> bool:
        return kind in self.kinds.get(name, ())


def documented(schema: JsonValue) -> JsonObject:
    """Return a schema with its alternatives resolved: of one that allows a value or a list of such values, the first
    alternative.
    """
    shape = as_object(schema)
    named: JsonValue = shape.get("anyOf")
    ways = named if is_list(named) else []
    if len(ways) == 2 and is_object(ways[0]) and is_object(ways[1]):
        first, second = (way for way in ways)
        if second == first.get("items") or second.get("items") == first:
            return documented(first)
    return shape


def _kind(shape: JsonObject) -> tuple[Kind | None, bool]:
    """Return the kind that a schema gives a value, by the first type that it lists, and whether it may be null."""
    named: JsonValue = shape.get("type", [])
    types = [named] if isinstance(named, str) else named
    kind = next((_DOCUMENTED[name] for name in types if name in _DOCUMENTED), None)
    return kind, "null" in types


def _lacks(value: JsonValue, may_lack: bool) -> bool:
    """True if null, or a text that means null, was sent in place of a list."""
    return value is None or (may_lack and isinstance(value, str) and value.lower() in _NOTHING)
