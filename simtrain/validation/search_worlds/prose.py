"""The words of an author's own prose, outside the places for facts in a world file, and which of them may be neighbours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from simtrain.values.types import JsonObject, JsonValue, is_list, is_object
from simtrain.worlds.search.checking.pieces import AuthorProse, folded

_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_TOKEN = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|⟦\d+⟧|[\n|\[\]]|[^\W\d_][\w'’-]*", re.DOTALL)
_PHRASE = re.compile(r"\{\{\s*voice\.(\w+)\s*\}\}")
_ANYWHERE = frozenset({"a", "yes", "no"})
"""Words allowed beside any fact: an article, and the values of flags."""
_LABELS = ("label", "plural")
_NAVIGATION = "{{}} Page {{}} of {{}} Previous page {{}} Next page {{}}"
"""The prose between the pages of a list, the same in every world."""
_VALUES = ("category", "text", "words", "says")
"""Keys of a world file with values, words for questions, and phrases: these are no prose on their own."""

OPEN, BAR, CLOSE = "[", "¦", "]"
"""The tokens of alternatives. A bar within brackets gets a sign of its own, since `|` also separates the cells of a table."""
NOTHING: Final = frozenset[str]()


def prose_of(data: JsonValue, reworded: Iterable[str] = ()) -> AuthorProse:
    """Return the prose of all texts in a world file, and of reworded pages; within braces, only what is quoted."""
    found = _Found(_phrases(data))
    for text in [*_texts(data, but=_VALUES), *reworded, _NAVIGATION]:
        found.text(text)
    for text in [*_names(data), *_texts(data, under=("category", "text", "words"))]:
        # Without a label of its own, an attribute is called by its key, on pages with spaces.
        found.words(text.replace("_", " "))
        found.words(text)
    for text in [*_texts(data, under=_LABELS), *_navigated(data)]:
        found.label(text)
    return found.wording()


class _Found:
    def __init__(self, phrases: Mapping[str, str]) -> None:
        self._phrases = phrases
        self._words: set[str] = set()
        self._pairs: set[tuple[str, str]] = set()
        self._before, self._after, self._first = set[str](), set[str](), set[str]()

    def wording(self) -> AuthorProse:
        words, pairs = frozenset(self._words), frozenset(self._pairs)
        return AuthorProse(
            words, pairs, _ANYWHERE.union(self._before), _ANYWHERE.union(self._after), _ANYWHERE.union(self._first)
        )

    def words(self, text: str) -> list[str]:
        """Add the words of a text and their pairs of neighbours, and return the words."""
        words = [folded(word) for word in _TOKEN.findall(text)]
        self._words.update(words)
        self._pairs.update(pairwise(words))
        return words

    def label(self, text: str) -> None:
        """Add a label, which is used as a whole before or after a value."""
        words = self.words(text)
        self._after.update(words[:1])
        self._before.update(words[-1:])

    def text(self, text: str) -> None:
        """Add prose with places for facts."""
        spoken = _PHRASE.sub(lambda match: self._phrases.get(match[1], ""), text)
        tokens = ["\n", *_signed(_TOKEN.findall(spoken)), "\n"]
        for quoted in (part for token in tokens if token.startswith("{{") for part in _QUOTED.findall(token)):
            self.label(quoted[0] or quoted[1])
        for one, other in followers(tokens):
            if _is_word(one) and _is_word(other):
                self._pairs.add((folded(one), folded(other)))
            elif _is_word(other):
                (self._first if one in "\n|" else self._after).add(folded(other))
            elif _is_word(one):
                self._before.add(folded(one))
        self._words.update(folded(token) for token in tokens if _is_word(token))


def _is_word(token: str) -> bool:
    return not token.startswith(("{", "⟦", "\n", "|", OPEN, BAR, CLOSE))


def _signed(tokens: Iterable[str]) -> Iterator[str]:
    """Yield the tokens, with bars within brackets distinguished from those of tables."""
    depth = 0
    for token in tokens:
        depth += (token == OPEN) - (token == CLOSE)
        yield BAR if token == "|" and depth else token


def _phrases(data: JsonValue) -> dict[str, str]:
    """Return the phrases of all voices of all sites by name, as alternatives."""
    found: dict[str, list[str]] = {}
    for site in _parts(data, "sites"):
        for voice in _parts(site, "voices"):
            for name, phrases in _object(voice, "says").items():
                found.setdefault(name, []).extend(map(str, phrases))
    return {name: f"{OPEN}{'|'.join(phrases)}{CLOSE}" for name, phrases in found.items()}


def _navigated(data: JsonValue) -> Iterator[str]:
    """Yield the texts of links in sites' navigation."""
    for site in _parts(data, "sites"):
        yield from _object(site, "navigation")


def _parts(value: JsonValue, key: str) -> Iterator[JsonObject]:
    """Yield the objects under a key."""
    if is_object(value):
        yield from list(_object(value, key).values())


def _object(value: JsonObject, key: str) -> JsonObject:
    return value.get(key, {})


def _texts(value: JsonValue, *, under: tuple[str, ...] = (), but: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield all texts; with `under`, only those below such a key; with `but`, only those that are not."""
    if isinstance(value, str):
        if not under:
            yield value
    elif is_object(value):
        for name, part in value.items():
            if name not in but:
                yield from _texts(part, under=() if name in under else under, but=but)
    elif is_list(value):
        for part in value:
            yield from _texts(part, under=under, but=but)


def _names(value: JsonValue) -> Iterator[str]:
    """Yield all keys, which name types and attributes."""
    if is_object(value):
        for name, part in value.items():
            yield str(name)
            yield from _names(part)
    elif is_list(value):
        for part in value:
            yield from _names(part)


@dataclass(frozen=True, slots=True)
class TokenRun:
    """The tokens that a stretch may begin and end with, the pairs in it, and whether it may be empty."""

    first: frozenset[str] = NOTHING
    last: frozenset[str] = NOTHING
    pairs: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    empty: bool = True

    def then(self, other: TokenRun) -> TokenRun:
        """Return this stretch followed by the other one. The set of pairs is reused: copying it at every token takes quadratic time."""
        self.pairs.update(other.pairs, ((one, two) for one in self.last for two in other.first))
        return TokenRun(
            self.first | other.first if self.empty else self.first,
            other.last | self.last if other.empty else other.last,
            self.pairs,
            self.empty and other.empty,
        )

    def either(self, other: TokenRun) -> TokenRun:
        """Return the stretch that is either this one or the other."""
        return TokenRun(
            self.first | other.first, self.last | other.last, self.pairs | other.pairs, self.empty or other.empty
        )


def followers(tokens: Sequence[str]) -> set[tuple[str, str]]:
    """Return the pairs of tokens that may be neighbours. Unmatched brackets are ignored."""
    # One list of alternatives for each open bracket; the last alternative is still growing.
    waiting: list[list[TokenRun]] = [[TokenRun()]]
    for token in tokens:
        if token == OPEN:
            waiting.append([TokenRun()])
        elif token == BAR and len(waiting) > 1:
            waiting[-1].append(TokenRun())
        elif token == CLOSE and len(waiting) > 1:
            options = waiting.pop()
            found = options[0]
            for option in options[1:]:
                found = found.either(option)
            waiting[-1][-1] = waiting[-1][-1].then(found)
        else:
            one = frozenset((token,))
            waiting[-1][-1] = waiting[-1][-1].then(TokenRun(one, one, empty=False))
    return waiting[0][0].pairs
