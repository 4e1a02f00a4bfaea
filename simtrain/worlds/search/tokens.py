"""Words as the index of a search world sees them: those of SQLite's `unicode61 remove_diacritics 2`."""

from __future__ import annotations

import re
import unicodedata

_ASCII = re.compile(r"[a-z0-9]+")
_ONE_FORM = str.maketrans("µſ", "μs")
_OTHER = re.compile(r"[^\W_]+")


def tokens(text: str) -> list[str]:
    """The words of a text, folded, in order."""
    if text.isascii():
        return _ASCII.findall(text.lower())
    return _OTHER.findall(_folded(text))


def _folded(text: str) -> str:
    """Lower case without diacritics. Marks are dropped and not words of their own, so that split and whole letters are alike."""
    split = unicodedata.normalize("NFD", text.lower().translate(_ONE_FORM))
    bare = "".join(letter for letter in split if unicodedata.category(letter) != "Mn")
    return unicodedata.normalize("NFC", bare)
