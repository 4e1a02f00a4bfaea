"""Values that differ from one run to the next and mean the same: uuids, digests, instants; and folders that moved."""

import re
from collections.abc import Mapping

from simtrain.values.json_walk import each_text
from simtrain.values.types import JsonValue

_PATTERNS = {
    "uuid": r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
    "instant": r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?",
    "digest": r"(?:[0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{32})",
}

_VOLATILE = re.compile(
    r"(?<![0-9A-Za-z])(?:" + "|".join(f"(?P<{k}>{p})" for k, p in _PATTERNS.items()) + r")(?![0-9A-Za-z])"
)


def taken_out(value: JsonValue, found: list[str]) -> JsonValue:
    """Return a JSON value with a placeholder for each volatile one; those are added to `found`, in order."""

    def take(match: re.Match[str]) -> str:
        found.append(match[0])
        return f"<{match.lastgroup}>"

    return each_text(value, lambda text: _VOLATILE.sub(take, text))


def put_in(value: JsonValue, replacements: Mapping[str, str]) -> JsonValue:
    """Return a JSON value with volatile ones replaced by others."""
    return each_text(value, lambda text: _VOLATILE.sub(lambda match: replacements.get(match[0], match[0]), text))


def moved(value: JsonValue, folders: Mapping[str, str]) -> JsonValue:
    """Return a JSON value with paths (and file URIs) moved from the folders on the left to those on the right; the
    longest match wins.
    """
    if not folders:
        return value
    known = sorted((old.rstrip("/") for old in folders), key=len, reverse=True)
    targets = {old.rstrip("/"): new.rstrip("/") for old, new in folders.items()}
    pattern = re.compile(r"(?<![\w.~-])(?:" + "|".join(re.escape(old) for old in known) + r")(?=$|[/\s\"',;:)\]}>])")
    return each_text(value, lambda text: pattern.sub(lambda match: targets[match[0]], text))
