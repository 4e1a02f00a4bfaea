"""The order of names in a listing: the root collation of Unicode, which JavaScript's localeCompare uses, as far as file names need it."""

import unicodedata
from collections.abc import Mapping
from typing import Final, TypeAlias

Key: TypeAlias = tuple[list[tuple[int, str]], list[str], list[int]]

_SYMBOLS: Final = "\t\n\v\f\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~"
_BEHIND_SYMBOLS: Final = "$0123456789"
_LETTERS: Mapping[str, tuple[str, str]] = {
    "ß": ("ss", "\u0337"), "æ": ("ae", "\u0337"), "œ": ("oe", "\u0337"), "ø": ("o", "\u0338"), "đ": ("d", "\u0335"),
    "ł": ("l", "\u0335"), "ı": ("i", "\uffff"),
}  # fmt: skip
"""Letters that NFKD does not decompose, as a base and a mark."""


def collation_key(name: str) -> Key:
    """Return the sort key of a name: by letters first, then accents, then small before capital."""
    letters: list[tuple[int, str]] = []
    accents: list[str] = []
    capitals: list[int] = []
    for character in unicodedata.normalize("NFKD", name):
        if unicodedata.combining(character):
            if accents:
                accents[-1] += character
            continue
        if unicodedata.category(character) == "Cc" and character not in _SYMBOLS:
            continue
        small = character.lower()
        base, mark = _LETTERS.get(small, (small, ""))
        for one in base:
            letters.append(_weight(one))
            accents.append(mark)
            capitals.append(int(character != small))
    return letters, accents, capitals


def _weight(character: str) -> tuple[int, str]:
    """Return the sort key of a character: symbols first, then other symbols, digits, letters."""
    if character in _SYMBOLS:
        return (0, chr(_SYMBOLS.index(character)))
    if character in _BEHIND_SYMBOLS:
        return (2, character)
    return (3 if character.isalnum() else 1, character)
