"""Layers of configuration, and what differs between two."""

from dataclasses import dataclass

from confit.paths import leaves

_ABSENT = object()


def merged(*layers: dict) -> dict:
    """Return one table: later layers win, tables are merged, a later none removes the key."""
    found: dict = {}
    for layer in layers:
        for key, value in layer.items():
            if value is None:
                found.pop(key, None)
            elif isinstance(value, dict):
                before = found.get(key)
                found[key] = merged(before if isinstance(before, dict) else {}, value)
            else:
                found[key] = list(value) if isinstance(value, list) else value
    return found


@dataclass(frozen=True)
class Change:
    """One difference. `kind` is added, removed or changed."""

    kind: str
    path: str
    before: object = None
    after: object = None

    def __str__(self) -> str:
        if self.kind == "added":
            return f"+ {self.path} = {self.after!r}"
        if self.kind == "removed":
            return f"- {self.path} = {self.before!r}"
        return f"~ {self.path}: {self.before!r} -> {self.after!r}"


def changes(before: dict, after: dict) -> list[Change]:
    """Return what differs, sorted by path."""
    old, new = dict(leaves(before)), dict(leaves(after))
    found = []
    for path in sorted(set(old) | set(new)):
        if path == "":
            continue
        left, right = old.get(path, _ABSENT), new.get(path, _ABSENT)
        if left is _ABSENT:
            found.append(Change("added", path, after=right))
        elif right is _ABSENT:
            found.append(Change("removed", path, before=left))
        elif left != right or type(left) is not type(right):
            found.append(Change("changed", path, left, right))
    return found
