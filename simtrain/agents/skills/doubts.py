"""Detect replies that should be asked for again: unreadable, cut, behind a paywall, empty, incomplete, or about another record."""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum

from simtrain.agents.plan import NEXT_CURSOR
from simtrain.agents.skills.naming import form_of, meaning
from simtrain.files.json_schemas import properties_of
from simtrain.values.json_walk import texts_in
from simtrain.values.types import JsonObject, JsonValue, Observation, as_object, is_list, is_object

_CUT = re.compile(r"(?:\[?\(?truncated\)?\]?|\.{3}|…|\[cut\]|\[\.\.\.\])\s*$", re.IGNORECASE)
_WALL = re.compile(
    r"\b(?:subscribe|log in|sign in|register) to (?:read|continue|view)|\bfree preview\b|\bpaywall|\bfor subscribers\b",
    re.IGNORECASE,
)
_PAGE = re.compile(r"\s*(?:<!doctype html|<html\b)", re.IGNORECASE)
_SEARCHING = meaning("query")
_COUNTS = frozenset(
    {"total", "count", "total_count", "totalcount", "total_results", "totalresults", "total_items", "num_results"}
)
_PAGING = frozenset({"cursor", "limit", "page", "offset", "per_page", "page_size"})


class Doubt(StrEnum):
    """Why a reply should not be trusted."""

    unreadable = "unreadable"
    cut = "cut"
    walled = "walled"
    empty = "empty"
    lacking = "lacking"
    short = "short"
    foreign = "foreign"


def doubt_about(
    observation: Observation, content: JsonObject | None, arguments: Mapping[str, JsonValue], *,
    expected: JsonValue, needed: frozenset[str], wary: bool = True
) -> Doubt | None:  # fmt: skip
    """Return the most serious doubt about a reply that is not an error; None if there is none.

    `expected` is the output schema of the tool, `needed` the fields that matter. Only with `wary` is there doubt about what may
    well be true: an empty list, a null value, search results that lack the words searched for.
    """
    if is_walled(observation):
        return Doubt.walled
    if content is None:
        # A tool that promises structured content sends prose only when something is broken.
        if _PAGE.match(observation.text) or "\ufffd" in observation.text or expected is not None:
            return Doubt.unreadable
        return Doubt.cut if _CUT.search(observation.text) else None
    if _CUT.search(observation.text):
        return Doubt.cut
    if says_nothing(content) and (wary or not _may_be_empty(content)):
        return Doubt.empty
    if is_foreign(content, arguments) or (wary and is_off_topic(content, arguments)):
        return Doubt.foreign
    lacks = any(lacking(content, expected, needed)) if wary else is_certain(content, expected, needed)
    return Doubt.lacking if lacks else None


def _may_be_empty(content: JsonObject) -> bool:
    """True if a reply without values is an empty list, which may be true."""
    return any(is_list(value) for value in content.values()) and all(
        value is None or is_list(value) for value in content.values()
    )


def is_certain(content: JsonObject, expected: JsonValue, needed: frozenset[str]) -> bool:
    """True if a record lacks the key of a needed field that its schema documents."""
    return any(name not in record for record, name in lacking(content, expected, needed))


def is_short(content: JsonObject, arguments: Mapping[str, JsonValue]) -> bool:
    """True if a reply is a complete list on one page, but has fewer items than its count says."""
    if content.get(NEXT_CURSOR) is not None or arguments.keys() & _PAGING:
        return False
    items, count = counted(content) or (0, 0)
    return items < count


def counted(content: JsonObject) -> tuple[int, int] | None:
    """Return the number of items on a page and the list's stated count; None for other replies."""
    members = {name: value for name, value in content.items() if name != NEXT_CURSOR}
    counts = [value for name, value in members.items() if name.lower() in _COUNTS and type(value) is int]
    lists = [len(value) for value in members.values() if is_list(value)]
    # Only where list and count are all there is: beside other members a count may count something else.
    return (lists[0], counts[0]) if len(members) == 2 and len(counts) == len(lists) == 1 else None


def page_size(content: JsonObject) -> int | None:
    """Return the number of items on a page that has a successor; None for other replies."""
    lists = [len(value) for value in content.values() if is_list(value)]
    return lists[0] if content.get(NEXT_CURSOR) is not None and len(lists) == 1 else None


def is_walled(observation: Observation) -> bool:
    """True if a page ends with a notice that the rest is for subscribers."""
    endings = (text.rstrip().rpartition("\n")[2] for text in (observation.text, *texts_in(observation.content)))
    return any(_WALL.search(ending) for ending in endings)


def says_nothing(content: JsonObject) -> bool:
    """True if no member has a value."""
    return all(value in (None, "", [], {}) for value in content.values())


def lacking(value: JsonValue, schema: JsonValue, needed: frozenset[str]) -> Iterator[tuple[JsonObject, str]]:
    """Yield records with the name of each needed, documented field that is missing or has no value."""
    shape = as_object(schema)
    if is_list(value):
        for item in value:
            yield from lacking(item, shape.get("items"), needed)
    elif is_object(value):
        documented = properties_of(shape)
        for name in documented:
            if name in needed and name != NEXT_CURSOR and value.get(name) is None:
                yield value, name
        for name, item in value.items():
            yield from lacking(item, documented.get(name), needed)


def is_foreign(content: JsonObject, arguments: Mapping[str, JsonValue]) -> bool:
    """True if the reply is about other records than the ones asked for: none has the value of an argument, or its id."""
    return any(isinstance(value, str) and _misses(content, name, value) for name, value in arguments.items())


def _misses(content: JsonObject, name: str, value: str) -> bool:
    values = [item.lower() for item in _under(name, content) if isinstance(item, str)]
    if values:
        return not any(value.lower() in item or _same_page(value.lower(), item) for item in values)
    kind = name.removesuffix("_id")
    named: JsonValue = content.get(kind, content)
    own = named.get("id") if is_object(named) else None
    # Only ids of the same form can be compared: a service may answer a name with the id of what it found.
    return isinstance(own, str) and own != value and form_of(own) == form_of(value)


def _same_page(url: str, other: str) -> bool:
    """True if two URLs end alike: one page, moved within its site."""
    (scheme, _, place), (_, _, other_place) = url.partition("://"), other.partition("://")
    (host, _, path), (site, _, found) = place.partition("/"), other_place.partition("/")
    return (
        scheme != url and host == site and path != "" and (path.endswith(found) or found.endswith(path)) and found != ""
    )


def is_off_topic(content: JsonObject, arguments: Mapping[str, JsonValue]) -> bool:
    """True if no search result contains any of the words searched for."""
    text = "\n".join(text.lower() for text in texts_in(content))
    asked = [value for name, value in arguments.items() if isinstance(value, str) and meaning(name) & _SEARCHING]
    return bool(text) and any(not any(word in text for word in value.lower().split()) for value in asked)


def _under(name: str, value: JsonValue) -> Iterator[JsonValue]:
    if is_object(value):
        for key, item in value.items():
            if key == name:
                yield item
            else:
                yield from _under(name, item)
    elif is_list(value):
        for item in value:
            yield from _under(name, item)
