"""Query correction as in search engines: words that no page contains are replaced by what was probably meant.

Joined words and codes are split if their parts are neighbours on some page, plurals lose their ending, and misspelt names are
looked up among the names of the world. A replacement must share a page with the other words of the query, so that an unknown word
does not become an unrelated name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import islice, product
from typing import Final, NamedTuple

from simtrain.worlds.search.engine.ranking import Ranking
from simtrain.worlds.search.engine.tokens import tokens

LEAST: Final = 4
"""Least letters of a word to be corrected; a shorter one could mean anything."""
LONG: Final = 6
"""Least letters of a word that may have two mistakes."""
CHOICES: Final = 6
TRIED: Final = 60
"""Most splits of a word, and most corrections of a whole query, that are tried."""
MOST_PARTS: Final = 6
PHRASES: Final = 12
"""Most splits of a joined word that are looked up on pages."""


class Mended(NamedTuple):
    """A corrected query: its unknown words, their replacement, and the whole corrected query."""

    missing: str
    instead: str
    query: str


class Mending:
    """Corrects queries to one web. `names` returns the names in it; it is called at the first misspelt word."""

    def __init__(self, index: Ranking, names: Callable[[], Iterable[str]]) -> None:
        self._index = index
        self._names = names
        self.mended = lru_cache(maxsize=2_000)(self._mended)
        """The corrected query; None if nothing is wrong or no correction is found."""

    def _mended(self, query: str) -> Mended | None:
        words = _together(tokens(query), self._known)
        missing = [place for place, word in enumerate(words) if not self._known(word)]
        found = {
            place: choices for place in missing[:3] if (choices := list(islice(self._choices(words[place]), CHOICES)))
        }
        if words != tokens(query) and not missing:
            return Mended(" ".join(tokens(query)), " ".join(words), " ".join(words))
        others = [word for place, word in enumerate(words) if place not in missing]
        # Corrections that change least first, and one must be supported by a page: an engine offers nothing that finds nothing.
        for chosen in islice(_nearest_first([*found.values()]), TRIED):
            taken = dict(zip(found, chosen, strict=True))
            if taken and self._stand_together([one.words for one in chosen], others):
                instead = " ".join(" ".join(taken[place].words) for place in found)
                whole = [
                    part
                    for place, word in enumerate(words)
                    for part in (taken[place].words if place in taken else (word,))
                ]
                return Mended(" ".join(words[place] for place in found), instead, " ".join(whole))
        return None

    def _known(self, word: str) -> bool:
        return self._index.pages_with(word) > 0

    def _stand_together(self, chosen: Sequence[tuple[str, ...]], others: Sequence[str]) -> bool:
        """Return True if a page has all chosen words and at least one of the others, if there are any."""
        phrases = [f'"{" ".join(words)}"' for words in chosen]
        if others:
            phrases.append("(" + " OR ".join(f'"{word}"' for word in others) + ")")
        return self._index.has(" AND ".join(phrases))

    # Candidates for a word

    def _choices(self, word: str) -> Iterator[_Choice]:
        """Yield candidates for a word that no page contains, the likeliest first."""
        seen: set[tuple[str, ...]] = set()
        for choice in (*self._singulars(word), *self._parts(word), *self._alike(word), *self._of_names(word)):
            if choice.words not in seen:
                seen.add(choice.words)
                yield choice

    def _singulars(self, word: str) -> Iterator[_Choice]:
        for other in _other_numbers(word):
            if self._known(other):
                yield _Choice((other,), 0)

    def _parts(self, word: str) -> list[_Choice]:
        """Return the likeliest split of the word into parts that are neighbours on some page; the last may lose a plural ending."""
        ways = [parts for whole in (word, *_other_numbers(word)) for parts in _split(whole, self._known)]
        # A few long parts are likelier than many short ones.
        ways.sort(key=lambda parts: (len(parts), -min(map(len, parts))))
        found = (parts for parts in ways[:PHRASES] if self._index.has(f'"{" ".join(parts)}"'))
        return [_Choice(parts, len(parts) - 1) for parts in islice(found, 1)]

    def _alike(self, word: str) -> list[_Choice]:
        """Return words of names that differ by a letter or two."""
        if len(word) < LEAST:
            return []
        most, mask = 2 if len(word) >= LONG else 1, _mask(word)
        # Letter masks reject nearly all words of the lexicon by one XOR: an edit changes at most two letters of the set.
        near = [
            (distance, other[0] != word[0], other)
            for other, letters in self._lexicon.items()
            if abs(len(other) - len(word)) <= most and (letters ^ mask).bit_count() <= 2 * most
            if (distance := differences(word, other, most)) <= most
        ]
        return [_Choice((other,), distance) for distance, _, other in sorted(near) if self._known(other)]

    def _of_names(self, word: str) -> list[_Choice]:
        """Return words of names that begin with the word."""
        if len(word) < LEAST:
            return []
        found = sorted((len(other), other) for other in self._lexicon if other.startswith(word))
        return [_Choice((other,), 2) for _, other in found[: 4 * CHOICES] if self._known(other)]

    @cached_property
    def _lexicon(self) -> dict[str, int]:
        """The words that occur in names, each with the letters that it contains."""
        # Names share most of their words, so pieces are made distinct before they are tokenised.
        pieces = {piece for name in self._names() for piece in name.split()}
        words = {word for piece in pieces for word in tokens(piece)}
        return {word: _mask(word) for word in sorted(words) if len(word) >= LEAST - 1 and not word.isdigit()}


class _Choice(NamedTuple):
    """A candidate for a word, with its edit distance."""

    words: tuple[str, ...]
    distance: int


def _nearest_first(choices: Sequence[Sequence[_Choice]]) -> Iterator[tuple[_Choice, ...]]:
    """Return all ways to choose one of each, in the order of their total edit distance."""
    return iter(sorted(product(*choices), key=lambda chosen: sum(choice.distance for choice in chosen)))


def _together(words: list[str], known: Callable[[str], bool]) -> list[str]:
    """Return the words, with neighbours joined if one is unknown and the joined word is known, as in a code with a dash too many."""
    found: list[str] = []
    for word in words:
        if found and not (known(word) and known(found[-1])) and known(found[-1] + word):
            found[-1] += word
        else:
            found.append(word)
    return found


def _other_numbers(word: str) -> Iterator[str]:
    """Yield the possible singulars of a plural, or the plural of a singular."""
    if len(word) < LEAST:
        return
    if word.endswith("ies"):
        yield f"{word[:-3]}y"
    if word.endswith("es"):
        yield word[:-2]
    if word.endswith("s"):
        yield word[:-1]
    else:
        yield f"{word}s"


def _split(word: str, known: Callable[[str], bool]) -> Iterator[tuple[str, ...]]:
    """Yield the ways to split a word into known ones; a single letter counts only next to digits."""

    def parts(rest: str, most: int) -> Iterator[tuple[str, ...]]:
        for end in range(len(rest), 0, -1):
            head, tail = rest[:end], rest[end:]
            if not _may_stand(head, word) or not known(head):
                continue
            if not tail:
                yield (head,)
            elif most > 1:
                for further in parts(tail, most - 1):
                    yield (head, *further)

    yield from islice((found for found in parts(word, MOST_PARTS) if len(found) > 1), TRIED)


def _may_stand(part: str, word: str) -> bool:
    coded = any(letter.isdigit() for letter in word)
    return len(part) >= 2 or (coded and (part.isdigit() or part.isalpha()))


def _mask(word: str) -> int:
    """Return the set of letters of a word as a bit mask of 64 bits; letters beyond ASCII share bits."""
    bits = 0
    for letter in word:
        bits |= 1 << (ord(letter) & 63)
    return bits


def differences(one: str, other: str, most: int) -> int:
    """Return the edit distance (substitutions, deletions, insertions, transpositions of neighbours), at most `most + 1`."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for place, letter in enumerate(one, 1):
        row = [place]
        for column, compared in enumerate(other, 1):
            cost = min(last[column] + 1, row[-1] + 1, last[column - 1] + (letter != compared))
            if place > 1 and column > 1 and letter == other[column - 2] and one[place - 2] == compared:
                cost = min(cost, before[column - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before, last = last, row
    return min(last[-1], most + 1)
