"""The order of names with version numbers in them, as `ls -v` and `sort -V` have it."""

import re

_PARTS = re.compile(r"(\D*)(\d*)")


def compare_versions(one: str, other: str) -> int:
    """Return whether one name goes before (-1), with (0) or after (1) another: digits are compared as numbers."""
    left, right = _parts(one), _parts(other)
    return (left > right) - (left < right)


def _parts(name: str) -> list[tuple[str, int]]:
    return [(text, int(digits or 0)) for text, digits in _PARTS.findall(name) if text or digits]
