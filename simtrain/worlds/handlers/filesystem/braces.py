"""Braces in glob patterns: `{a,b}`, `{1..3}`, `{a..e..2}`, nested, expanded as by npm's brace-expansion."""

import re
from collections.abc import Iterator

MOST = 1024
"""Patterns that one pattern may expand to; the rest is left out. Twenty pairs in a row would make a million."""

_NUMBERS = re.compile(r"(-?\d{1,15})\.\.(-?\d{1,15})(?:\.\.(-?\d{1,15}))?")
_LETTERS = re.compile(r"([a-zA-Z])\.\.([a-zA-Z])(?:\.\.(-?\d{1,15}))?")
_PADDED = re.compile(r"-?0\d")
_LATER_LIST = re.compile(r",(?!,).*\}", re.DOTALL)


def expand(pattern: str) -> list[str]:
    """Return the patterns that a pattern with braces expands to; a pattern without braces expands to itself."""
    # As in bash, `{}` at the very start is literal, even where braces follow in it.
    start = 2 if pattern.startswith("{}") else 0
    return [pattern[:start] + rest for rest in _expand(pattern[start:], whole=start == 0)]


def _expand(text: str, *, whole: bool = False) -> list[str]:
    pair = _pair(text)
    if pair is None:
        return [text]
    before, body, after = text[: pair[0]], text[pair[0] + 1 : pair[1]], text[pair[1] + 1 :]
    # `${name}` is a parameter in bash, not a list.
    if before.endswith("$"):
        return [f"{before}{{{body}}}{rest}" for rest in _expand(after)]
    sequence = _sequence(body)
    if sequence is None and "," not in body:
        # `{a},b}`: the first brace that closes is literal, and a later one ends the list.
        if _LATER_LIST.search(after):
            return _expand(f"{before}{{{body}\\}}{after}")
        return [text]
    if sequence is not None:
        choices = sequence
    else:
        parts = _split(body)
        choices = [choice for part in parts for choice in _expand(part)]
        # A list of one keeps its braces: `x{{a,b}}y` gives x{a}y and x{b}y.
        if len(parts) == 1:
            choices = [f"{{{choice}}}" for choice in choices]
    found = _products(before, choices, _expand(after))
    return [one for one in found if one] if whole and sequence is None else list(found)


def _products(before: str, choices: list[str], rests: list[str]) -> Iterator[str]:
    made = 0
    for choice in choices:
        for rest in rests:
            if made == MOST:
                return
            made += 1
            yield f"{before}{choice}{rest}"


def _pair(text: str) -> tuple[int, int] | None:
    """Return the positions of the first brace that is closed, and of what closes it."""
    opened: list[int] = []
    pairs: list[tuple[int, int]] = []
    position = 0
    while position < len(text):
        character = text[position]
        if character == "\\":
            position += 1
        elif character == "{":
            opened.append(position)
        elif character == "}" and opened:
            pairs.append((opened.pop(), position))
        position += 1
    return min(pairs, default=None)


def _split(body: str) -> list[str]:
    """Split at the commas that are not inside inner braces."""
    parts, depth, start, position = list[str](), 0, 0, 0
    while position < len(body):
        character = body[position]
        if character == "\\":
            position += 1
        elif character == "{":
            depth += 1
        elif character == "}":
            depth = max(0, depth - 1)
        elif character == "," and depth == 0:
            parts.append(body[start:position])
            start = position + 1
        position += 1
    return [*parts, body[start:]]


def _sequence(body: str) -> list[str] | None:
    """Return the values of `1..3` or `a..e`; None for a body that is not a sequence."""
    found = _NUMBERS.fullmatch(body)
    if found:
        first, last = int(found[1]), int(found[2])
        width = max(len(found[1]), len(found[2])) if any(_PADDED.match(part) for part in found.groups("")) else 0
        return [_padded(value, width) for value in _range(first, last, found[3])]
    found = _LETTERS.fullmatch(body)
    if found:
        values = (chr(value) for value in _range(ord(found[1]), ord(found[2]), found[3]))
        return ["" if value == "\\" else value for value in values]
    return None


def _range(first: int, last: int, step: str | None) -> range:
    stride = max(abs(int(step)), 1) if step else 1
    values = range(first, last + 1, stride) if first <= last else range(first, last - 1, -stride)
    return values[:MOST]


def _padded(value: int, width: int) -> str:
    return f"-{abs(value):0{max(width - 1, 0)}}" if value < 0 else f"{value:0{width}}"
