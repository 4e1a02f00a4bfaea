"""Merge several replies to the same call: lists are joined, and the most frequent of differing values wins."""

from collections import Counter
from collections.abc import Sequence

from simtrain.values.types import JsonObject, JsonValue, canonical, is_list, is_object

_IDS = ("id", "uuid", "key", "sku", "code", "login", "handle", "number", "name", "title")


def agreed(replies: Sequence[JsonValue]) -> JsonValue:
    """Return one reply from several; the majority decides, and on a tie the latest.

    Objects are merged by member, lists of records by record: every record of any reply is kept, in order.
    """
    # An empty value has no vote where another reply has one: gaps are more frequent than invented values.
    filled = [reply for reply in replies if reply not in (None, "", [], {})] or list(replies)
    if all(is_object(reply) for reply in filled):
        names = dict.fromkeys(name for record in filled for name in record)
        return {name: agreed([record[name] for record in filled if name in record]) for name in names}
    if all(is_list(reply) for reply in filled):
        return _joined(filled)
    return _most(filled)


def _most(values: Sequence[JsonValue]) -> JsonValue:
    votes = Counter(canonical(value) for value in values)
    # Reversed, since max keeps the first of equals and the latest reply is to win.
    return max(reversed(values), key=lambda value: votes[canonical(value)])


def same_subject(one: JsonObject, other: JsonObject) -> bool:
    """True if two replies are about the same thing: they share an id or a record, or one of them has neither."""
    ours, theirs = _records_of(one), _records_of(other)
    return not ours or not theirs or bool(ours & theirs)


def _records_of(content: JsonObject) -> set[bytes]:
    """Return the identities of the records in a reply: its own, that of a nested record, and those of its lists."""
    lists = [value for value in content.values() if is_list(value)]
    members = [value for value in content.values() if is_object(value)]
    records = members or [content]
    own = [canonical([name, record[name]]) for record in records for name in [_name(record)] if name]
    return set(own) or {key for items in lists for key in _keys(items)}


def _joined(lists: Sequence[list[JsonValue]]) -> list[JsonValue]:
    """Return all items of some lists; each new item follows the one that precedes it in its own list."""
    order: list[bytes] = []
    versions: dict[bytes, list[JsonValue]] = {}
    for items in lists:
        place = 0
        for key, item in zip(_keys(items), items, strict=True):
            if key not in versions:
                # A list that lost items keeps the order of those that it has, so gaps are filled in where they were.
                order.insert(place, key)
            versions.setdefault(key, []).append(item)
            place = order.index(key) + 1
    return [agreed(versions[key]) for key in order]


def _keys(items: list[JsonValue]) -> list[bytes]:
    """Return a key for each item of a list: an id if it differs between all items, else the whole item."""
    records = [item for item in items if is_object(item)]
    for name in _IDS + tuple(key for key in (records[0] if records else ()) if key.endswith("_id")):
        keys = [canonical([name, record[name]]) for record in records if isinstance(record.get(name), str | int)]
        if len(keys) == len(items) and len(set(keys)) == len(keys):
            return keys
    return [canonical(item) for item in items]


def _name(record: JsonObject) -> str | None:
    """Return the name of the field that identifies a record."""
    return next((name for name in ("id", *record) if name in record and (name == "id" or name.endswith("_id"))), None)
