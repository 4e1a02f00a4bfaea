"""Records in replies: JSON objects that have an id, where they stand, and of what kind they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, cast

from simtrain.entities import kind_under
from simtrain.serving.draft.forms import plain
from simtrain.types import JsonObject, JsonValue

Path: TypeAlias = tuple[str, ...]
"""Where something stands in a reply: keys, and EACH for the items of a list."""

EACH = "*"
DEEPEST = 12

_SURE = ("id", "uuid", "_id")
_WEAK = ("key", "slug", "number", "name", "path", "uri", "title")
_OTHER_ID = re.compile(r"(.+?)(?:_id|Id|ID|_uuid)")
_ROLES = frozenset({"parent", "owner", "user", "author", "created", "next", "previous", "last", "first"})
"""First words of keys that tell of another row, not of the object that has them: `next_task_id`."""
_ENVELOPE = frozenset({"success", "ok", "message", "status", "error", "count", "total"})
"""Words of a reply about itself: no columns where the object that has them also holds records."""


@dataclass(frozen=True, eq=False)
class Found:
    """A record in a reply. `fields` are all of the object but the records in it; `parent` is the record that it stands in."""

    kind: str
    id_field: str
    id: str | int
    fields: JsonObject
    path: Path
    parent: Found | None = None


@dataclass(frozen=True)
class Finder:
    """Finds records. `weak` are fields that tools ask for as if they were ids, such as the name of a contact."""

    weak: frozenset[str]

    def records(self, body: JsonValue, *, kind: str) -> list[Found]:
        """The records of a reply, in order; `kind` is what those are that nothing else names."""
        return list(self._walk(body, kind, (), None))

    def _walk(self, value: JsonValue, kind: str, path: Path, parent: Found | None) -> Iterator[Found]:
        if len(path) > DEEPEST:
            return
        if isinstance(value, list):
            for item in cast("list[JsonValue]", value):
                yield from self._walk(item, kind, (*path, EACH), parent)
        elif isinstance(value, dict):
            held = cast(JsonObject, value)
            inner = {name: item for name, item in held.items() if self._holds_records(item, name, kind)}
            found = self._record(held, inner, kind, path, parent)
            if found is not None:
                yield found
            for name, item in inner.items():
                yield from self._walk(item, kind_under(name) or kind, (*path, name), found or parent)

    def _record(self, held: JsonObject, inner: JsonObject, kind: str, path: Path, parent: Found | None) -> Found | None:
        identity = self.identity(held, kind)
        if identity is None:
            return None
        field, kind = identity
        envelope = _ENVELOPE if inner and not path else frozenset[str]()
        fields = {
            name: item
            for name, item in held.items()
            if name not in inner and name not in envelope and _is_column(name, held)
        }
        for name, item in inner.items():
            # An object that is a record stands for a reference; the key `author` tells of an `author_id`.
            other = self.identity(cast(JsonObject, item), kind_under(name) or kind) if isinstance(item, dict) else None
            if other is not None and f"{name}_id" not in held:
                fields[f"{name}_id"] = cast(JsonObject, item)[other[0]]
        return Found(kind, field, held[field], fields, path, parent)

    def identity(self, held: JsonObject, kind: str) -> tuple[str, str] | None:
        """The field by which an object is known, and its kind; None where it is no record."""
        # Of two names that are one but for case, the first counts.
        by_form = {plain(name): name for name in reversed(held) if _is_id(held[name])}
        for form in (f"{plain(kind)}id", f"{plain(kind)}uuid", *map(plain, _SURE)):
            if form in by_form:
                return by_form[form], kind
        for name in held:
            match = _OTHER_ID.fullmatch(name)
            if match and _is_id(held[name]) and _snake(match[1]).partition("_")[0] not in _ROLES:
                return name, _snake(match[1])
        for name in _WEAK:
            if name in self.weak and name in by_form and len(held) > 1:
                return by_form[name], kind
        return None

    def _holds_records(self, value: JsonValue, name: str, kind: str) -> bool:
        """Whether a field is records of their own: a list of them, or an object that is one, or that holds some."""
        inner = kind_under(name) or kind
        if isinstance(value, list):
            items = cast("list[JsonValue]", value)
            return bool(items) and all(
                isinstance(item, dict) and self.identity(cast(JsonObject, item), inner) is not None for item in items
            )
        if not isinstance(value, dict):
            return False
        held = cast(JsonObject, value)
        return self.identity(held, inner) is not None or any(
            self._holds_records(item, key, inner) for key, item in held.items()
        )


def reference_to(kind: str, id_field: str) -> str:
    """What a column is called that refers to rows of a kind: `issue_id`, `issue_key`, or as the id itself where it names the kind."""
    field = _snake(id_field)
    return field if plain(kind) in plain(field) else f"{kind}_{field}"


def is_reference(name: str, kind: str, id_field: str) -> bool:
    """Whether a column or an argument refers to rows of a kind."""
    return plain(name) in (f"{plain(kind)}id", plain(reference_to(kind, id_field)))


def _is_id(value: JsonValue) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def _is_column(name: str, held: JsonObject) -> bool:
    """Whether a key can be a column: it can be written on a line, and differs from those before it by more than case."""
    first = next(other for other in held if other.lower() == name.lower())
    return name == first and name.isprintable() and 0 < len(name) <= 100


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
