"""Words as the index of a search world sees them: those of SQLite's `unicode61 remove_diacritics 2`."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_ASCII = re.compile(r"[a-z0-9]+")
_OTHER = re.compile(r"\w+")
_BEYOND = re.compile(r"[^\x00-\x7f]")
_ONE_FORM = {"µ": "μ", "ſ": "s"}


def tokens(text: str) -> list[str]:
    """The words of a text, folded, in order."""
    return words_of(folded(text))


def words_of(plain: str) -> list[str]:
    """The words of a text that is folded, in order."""
    return _ASCII.findall(plain) if plain.isascii() else _OTHER.findall(plain.replace("_", " "))


def folded(text: str) -> str:
    """Lower case without diacritics; signs beyond ASCII that belong to no word are spaces."""
    lowered = text.lower()
    return lowered if lowered.isascii() else _BEYOND.sub(_fold, lowered)


def _fold(found: re.Match[str]) -> str:
    return _letter(found[0])


@lru_cache(maxsize=4096)
def _letter(letter: str) -> str:
    """A letter without its marks. A mark by itself is dropped, so that split and whole letters are alike."""
    split = unicodedata.normalize("NFD", _ONE_FORM.get(letter, letter))
    bare = "".join(part for part in split if unicodedata.category(part) != "Mn")
    whole = unicodedata.normalize("NFC", bare)
    return whole if not whole or whole.isalnum() else " "
