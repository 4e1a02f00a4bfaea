"""Invented names: words of languages that do not exist, combined so that no two names are easily confused."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from math import prod
from random import Random
from typing import TypeAlias

from simtrain.values.errors import InputError, nearest
from simtrain.values.seeding import derive
from simtrain.worlds.search.facts.real_words import MIN_LETTERS, RealWords, keys_of
from simtrain.worlds.search.spec.schema import Schema
from simtrain.worlds.search.spec.world_file import Flavour

MAX_POOL = 3000
MIN_POOL = 48
_TRIES = 60
_CLOSED_INSIDE = 0.25
_SLOT = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_GLUED = re.compile(r"[^\W_]\{|\}[^\W_]|\}\{")
"""A slot beside a letter, a digit or another slot: the token is longer than the invented word, and may be a real one."""


class InventedWords:
    """The words of all flavours of a world. Any two are at least two edits apart; none is real or in the list to avoid."""

    def __init__(self, flavours: dict[str, Flavour], *, seed: int, avoid: Iterable[str]) -> None:
        self._flavours = flavours
        self._seed = seed
        self._avoid = frozenset(avoid)
        self._near: set[str] = set()
        self._pools: dict[str, list[str]] = {}

    def grow(self, flavour: str, size: int) -> None:
        """Make the pool of a flavour, of about `size` words: fewer if the flavour has no more."""
        spec = self._flavours[flavour]
        random = Random(derive(self._seed, "words", flavour)).random
        low, high = spec.syllables
        pool: list[str] = []
        wanted = min(MAX_POOL, max(MIN_POOL, size))
        for _ in range(wanted * _TRIES):
            count = low + int(random() * (high - low + 1))
            word = _say(spec, count, random)
            if word in self._avoid or len(word) < MIN_LETTERS:
                continue
            # Words within one edit of each other share the word itself or what is left when one letter is taken out.
            near = {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}
            if not self._near.isdisjoint(near) or is_real(word):
                continue
            self._near |= near
            pool.append(word.capitalize())
            if len(pool) == wanted:
                break
        self._pools[flavour] = pool

    def pool(self, flavour: str) -> list[str]:
        """Return the words of a flavour."""
        return self._pools[flavour]


@lru_cache(maxsize=1 << 14)
def is_real(text: str) -> bool:
    """True if a text has real words, or is too short to tell."""
    keys, real = keys_of(text), RealWords.shipped()
    return not keys or any(key in real for key in keys)


def _say(spec: Flavour, syllables: int, draw: Callable[[], float]) -> str:
    parts: list[str] = []
    for place in range(1, syllables + 1):
        parts.append(spec.onsets[int(draw() * len(spec.onsets))])
        parts.append(spec.nuclei[int(draw() * len(spec.nuclei))])
        # Codas inside a word are rare: with one in every syllable it could not be pronounced.
        if place == syllables or draw() < _CLOSED_INSIDE:
            parts.append(spec.codas[int(draw() * len(spec.codas))])
    return "".join(parts)


class Form:
    """A form of names, `{reach} {reach} Station`. Two slots at least: one invented word is too likely to be a real name."""

    def __init__(self, text: str, flavours: Iterable[str]) -> None:
        """Raises InputError for unknown flavours and for fewer than two invented words."""
        known = list(flavours)
        self.text = text if "{" in text else f"{{{text}}} {{{text}}}"
        self.slots = _SLOT.findall(self.text)
        for slot in self.slots:
            if slot not in known:
                raise InputError(f"unknown flavour {slot!r}", remedy=nearest(slot, known))
        if len(self.slots) < 2:
            raise InputError("a name has at least two invented words", remedy="write it like '{reach} {reach} Station'")
        self._literals = _SLOT.split(self.text)[::2]
        # The same words in another order would be taken for the same name.
        self._swaps = len(set(self.slots)) < len(self.slots)
        self._made: set[str] = set()
        self._glued = _GLUED.search(self.text) is not None
        self._plain = {token for token in self.text.split(" ") if "{" not in token}

    def make(self, count: int, words: InventedWords, *, seed: int, taken: set[str]) -> list[str]:
        """Return `count` different names that are not in `taken`, and add them to it. Raises InputError if the flavours give too few."""
        pools = [words.pool(slot) for slot in self.slots]
        room = prod(len(pool) for pool in pools) // (2 if self._swaps else 1)
        few = InputError(
            f"{count} names are wanted, but the flavours give about {room}", remedy="add onsets, nuclei or codas"
        )
        # Names are drawn until they are new: with half of the room free, that stays cheap.
        if room < 2 * count:
            raise few
        random = Random(seed).random
        first, *between, last = self._literals
        found: list[str] = []
        tries = iter(range(_TRIES * (count + 1)))
        while len(found) < count:
            # Other types of the same form may have taken what there is.
            if next(tries, None) is None:
                raise few
            parts = [first]
            chosen: set[str] = set()
            for pool, literal in zip(pools, [*between, last], strict=True):
                word = pool[int(random() * len(pool))]
                chosen.add(word)
                parts += (word, literal)
            name = "".join(parts)
            if len(chosen) < len(pools) or name in taken or (self._glued and self._is_real(name)):
                continue
            if self._swaps:
                key = " ".join(sorted(chosen))
                if key in self._made:
                    continue
                self._made.add(key)
            taken.add(name)
            found.append(name)
        return found

    def _is_real(self, name: str) -> bool:
        return any(is_real(token) for token in name.split(" ") if token not in self._plain)

    def shorten(self, name: str) -> str | None:
        """Return the short form of a name: without its last word, or the first of two words; None if no invented word
        would be left.
        """
        tokens = name.split(" ")
        tokens = tokens[:-1] if len(tokens) > 2 else tokens[:1]
        while tokens and tokens[-1] in self._plain and not tokens[-1][:1].isupper():
            tokens.pop()
        return None if all(token in self._plain for token in tokens) else " ".join(tokens)


Alias: TypeAlias = tuple[str, int, str, str]
"""Type, row, the other name, `former` or `short`."""


def draw_aliases(
    schema: Schema,
    names: Mapping[str, Sequence[str]],
    forms: Mapping[str, Form],
    words: InventedWords,
    *,
    seed: int,
    taken: set[str],
) -> list[Alias]:
    """Return the aliases of all entity types, given their names by row.

    Each belongs to one row: none is in `taken`, and no other name or former name begins with a short one.
    """
    former: list[Alias] = []
    wanted: list[Alias] = []
    for kind, own in names.items():
        shares = schema.spec.entities[kind].aliases
        draw = Random(derive(seed, "facts", kind, "aliases")).random
        if shares.former:
            renamed = [row for row in range(1, len(own) + 1) if draw() < shares.former]
            made = forms[kind].make(len(renamed), words, seed=derive(seed, "former", kind), taken=taken)
            former += [(kind, row, name, "former") for row, name in zip(renamed, made, strict=True)]
        if shares.short:
            shorts = ((row, forms[kind].shorten(name)) for row, name in enumerate(own, 1) if draw() < shares.short)
            wanted += [(kind, row, short, "short") for row, short in shorts if short is not None]
    taken_names = [*(name for own in names.values() for name in own), *(name for _, _, name, _ in former)]
    begun = _beginnings(taken_names, {short for _, _, short, _ in wanted})
    # Once: its own full name begins with it.
    short = [alias for alias in wanted if alias[2] not in taken and begun[alias[2]] == 1]
    return [*former, *short]


def _beginnings(names: Iterable[str], shorts: set[str]) -> Counter[str]:
    """Return how many names begin with each of the short ones."""
    lengths = sorted({short.count(" ") + 1 for short in shorts})
    found: Counter[str] = Counter()
    for name in names:
        tokens = name.split(" ")
        found.update(start for length in lengths if (start := " ".join(tokens[:length])) in shorts)
    return found
