"""Classes of characters in glob patterns: `[abc]`, `[a-z]`, `[!0-9]`, `[[:alpha:]]`."""

import unicodedata
from collections.abc import Callable, Mapping
from typing import TypeAlias

Character: TypeAlias = Callable[[str], bool]
"""True if an item stands for the character."""


def _category(*prefixes: str) -> Character:
    return lambda character: unicodedata.category(character).startswith(prefixes)


_NAMED: Mapping[str, Character] = {
    "[:alnum:]": _category("L", "Nl", "Nd"),
    "[:alpha:]": _category("L", "Nl"),
    "[:ascii:]": lambda character: character <= "\x7f",
    "[:blank:]": lambda character: character == "\t" or unicodedata.category(character) == "Zs",
    "[:cntrl:]": _category("Cc"),
    "[:digit:]": _category("Nd"),
    "[:graph:]": lambda character: not unicodedata.category(character).startswith(("Z", "C")),
    "[:lower:]": _category("Ll"),
    "[:print:]": lambda character: not unicodedata.category(character).startswith("C"),
    "[:punct:]": _category("P"),
    "[:space:]": lambda character: character in "\t\r\n\v\f" or unicodedata.category(character).startswith("Z"),
    "[:upper:]": _category("Lu"),
    "[:word:]": _category("L", "Nl", "Nd", "Pc"),
    "[:xdigit:]": lambda character: character in "0123456789abcdefABCDEF",
}


def read_class(text: str, start: int) -> tuple[Character, int] | None:
    """Return the class that begins at `start`, and the position after it; None if no bracket closes it."""
    position = start + 1
    negated = text[position : position + 1] in ("!", "^")
    position += negated
    members: list[Character] = []
    first = position
    low: str | None = None
    while position < len(text):
        character = text[position]
        # In first place a bracket is a member: `[]a]`.
        if character == "]" and position > first:
            return _any_of(members, negated), position + 1
        if character == "[":
            name = next((name for name in _NAMED if text.startswith(name, position)), None)
            if name is not None:
                members.append(_NAMED[name])
                position += len(name)
                continue
        if character == "\\" and position + 1 < len(text):
            position += 1
            character = text[position]
        position += 1
        if low is not None:
            members.append(_between(low, character))
            low = None
        # In last place a hyphen is a member: `[a-]`.
        elif text.startswith("-]", position):
            members += [_between(character, character), _between("-", "-")]
            position += 1
        elif text.startswith("-", position):
            low = character
            position += 1
        else:
            members.append(_between(character, character))
    return None


def _between(low: str, high: str) -> Character:
    return lambda character: low <= character <= high


def _any_of(members: list[Character], negated: bool) -> Character:
    return lambda character: any(member(character) for member in members) is not negated
