"""The real words that invented names avoid: people, places, firms and plain language, shipped as a small filter.

The filter is made from the lists of `simtrain.validation.search_worlds.names` by `make words`; NOTICE names their
sources. It comes with the package, so that the same world file gives the same names whatever else is installed.
 It tells no words, only whether one is among them: every real one
is, and of others about one in two hundred.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from math import ceil
from pathlib import Path
from typing import Final

MIN_LETTERS: Final = 4
"""Shorter runs of letters are not looked up: such syllables are in every list."""
_FILE = "real_words.bin"
_HEAD: Final = 4
"""Bytes at the beginning of the file: the number of words, big-endian."""
# With 11 bits a word and 8 hashes, a Bloom filter holds (1 - e**(-8/11))**8 = 0.5 % of other words for real ones.
_BITS_A_WORD: Final = 11
_HASHES: Final = 8
_ACCENTS = re.compile("[\u0300-\u036f]")
_LETTERS = re.compile(r"[^\W\d_]+")


def folded(text: str) -> str:
    """Return the text without case and accents, as names are compared."""
    # NFD turns an accented letter into the letter and a combining accent.
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", text.casefold()))
    return unicodedata.normalize("NFC", bare)


def keys_of(text: str) -> set[str]:
    """Return the keys of a text in the filter: its longer words, folded, with and without the signs in them (o'brien: brien, obrien)."""
    if text.isascii() and text.isalpha():
        return {text.lower()} if len(text) >= MIN_LETTERS else set()
    runs = [_LETTERS.findall(token) for token in folded(text).split()]
    found = {run for token in runs for run in token} | {"".join(token) for token in runs}
    return {key for key in found if len(key) >= MIN_LETTERS}


class RealWords:
    """A Bloom filter over folded words: `word in words` is true for each word in it, and for 0.5 % of others."""

    def __init__(self, bits: bytes, count: int) -> None:
        self._bits = bits
        self.count = count

    @classmethod
    def of(cls, words: Iterable[str]) -> RealWords:
        """Return the filter of some words, in any order."""
        all_words = set(words)
        bits = bytearray(ceil(len(all_words) * _BITS_A_WORD / 8))
        for word in all_words:
            for place in _places(word, 8 * len(bits)):
                bits[place >> 3] |= 1 << (place & 7)
        return cls(bytes(bits), len(all_words))

    @classmethod
    @cache
    def shipped(cls) -> RealWords:
        """Return the filter that comes with the package."""
        data = files("simtrain.worlds.search.facts").joinpath(_FILE).read_bytes()
        return cls(data[_HEAD:], int.from_bytes(data[:_HEAD], "big"))

    def write(self, path: Path | None = None) -> Path:
        """Write the filter where the package has its own, or into another file."""
        path = path or Path(__file__).with_name(_FILE)
        path.write_bytes(self.count.to_bytes(_HEAD, "big") + self._bits)
        return path

    def __contains__(self, word: str) -> bool:
        bits = self._bits
        return all(bits[place >> 3] >> (place & 7) & 1 for place in _places(word, 8 * len(bits)))


def _places(word: str, room: int) -> Iterable[int]:
    # Two hashes give all eight (Kirsch and Mitzenmacher, 2006). Not `hash()`, which is salted anew in every process.
    digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    first, step = int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:], "big")
    return ((first + turn * step) % room for turn in range(_HASHES))
