"""Values that differ between runs and mean the same: uuids, digests, instants; and folders that moved."""

import re
from collections.abc import Mapping

from simtrain.values.json_walk import each_text
from simtrain.values.types import JsonValue

_PATTERNS = {
    "uuid": r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
    "instant": r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?",
    # SHA-256, SHA-1 and MD5 in hexadecimal.
    "digest": r"(?:[0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{32})",
}

_VOLATILE = re.compile(
    r"(?<![0-9A-Za-z])(?:" + "|".join(f"(?P<{k}>{p})" for k, p in _PATTERNS.items()) + r")(?![0-9A-Za-z])"
)


def taken_out(value: JsonValue, found: list[str]) -> JsonValue:
    """Return a JSON value with a placeholder for each volatile one, which are appended to `found` in order."""

    def take(match: re.Match[str]) -> str:
        found.append(match[0])
        return f"<{match.lastgroup}>"

    return each_text(value, lambda text: _VOLATILE.sub(take, text))


def put_in(value: JsonValue, replacements: Mapping[str, str]) -> JsonValue:
    """Return a JSON value with volatile ones replaced by others."""
    return each_text(value, lambda text: _VOLATILE.sub(lambda match: replacements.get(match[0], match[0]), text))


def moved(value: JsonValue, folders: Mapping[str, str]) -> JsonValue:
    """Return a JSON value with paths (and file URIs) moved from each folder to its target; the longest match wins."""
    if not folders:
        return value
    known = sorted((old.rstrip("/") for old in folders), key=len, reverse=True)
    targets = {old.rstrip("/"): new.rstrip("/") for old, new in folders.items()}
    # Whole folders only: `/srv/data` is not the beginning of `/srv/database`.
    pattern = re.compile(r"(?<![\w.~-])(?:" + "|".join(re.escape(old) for old in known) + r")(?=$|[/\s\"',;:)\]}>])")
    return each_text(value, lambda text: pattern.sub(lambda match: targets[match[0]], text))
