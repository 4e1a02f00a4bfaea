"""Make replies of two servers comparable: translate roots, and pair ids and times one to one through a whole sequence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from copy import copy

from simtrain.values.types import JsonValue, is_list, is_object

_WITHIN = re.compile(r"[\w.~-]/*$")
"""Characters before a slash that make it the middle of a path: `/srv` is not a root in `../srv`, but in `//srv` and `file:///srv`."""


class Pairing:
    """The one-to-one maps of one sequence, which translate between the real server's texts and the stand-in's."""

    def __init__(self, roots: Mapping[str, str], tokens: Mapping[str, re.Pattern[str]]) -> None:
        """`roots`: path of the stand-in -> real path. `tokens`: kind -> pattern of tokens that may be paired."""
        self._roots = _longest_first(roots.items())
        self._real_roots = _longest_first((real, own) for own, real in roots.items())
        self._kinds = tuple(tokens)
        # One pattern for all kinds; the first kind that matches wins, and groups inside a kind's own pattern are ignored.
        named = "|".join(f"(?P<k{index}>{pattern.pattern})" for index, pattern in enumerate(tokens.values()))
        self._token = re.compile(named) if tokens else None
        self._own: dict[tuple[str, str], str] = {}
        self._real: dict[tuple[str, str], str] = {}

    def copy(self) -> Pairing:
        """Return an independent copy in its current state."""
        other = copy(self)
        other._own, other._real = dict(self._own), dict(self._real)
        return other

    def for_real(self, value: JsonValue) -> JsonValue:
        """Return arguments in the stand-in's terms, translated for the real server."""
        return rewritten(value, lambda text: self._replaced(_placed(text, self._roots), self._real))

    def from_real(self, value: JsonValue) -> JsonValue:
        """Return a reply of the real server in the stand-in's terms, as far as its tokens have been paired."""
        return rewritten(value, lambda text: self._replaced(_swapped(text, self._real_roots), self._own))

    def unpaired(self, value: JsonValue) -> JsonValue:
        """Return a reply of the real server with only its roots translated."""
        return rewritten(value, lambda text: _swapped(text, self._real_roots))

    def same_text(self, real: str, own: str) -> bool:
        """True if two texts agree. Pairs the tokens in the same places, unless that would break the one-to-one map."""
        real = _swapped(real, self._real_roots)
        real_rest, real_tokens = self._split(real)
        own_rest, own_tokens = self._split(own)
        if real_rest != own_rest or len(real_tokens) != len(own_tokens):
            return False
        return all(self._paired(one, other) for one, other in zip(real_tokens, own_tokens, strict=True))

    def _paired(self, real: tuple[str, str], own: tuple[str, str]) -> bool:
        if real[0] != own[0]:
            return False
        # Paired only if both are new: an id that stood for another one before is a real difference.
        if real not in self._own and own not in self._real:
            self._own[real], self._real[own] = own[1], real[1]
        return self._own.get(real) == own[1] and self._real.get(own) == real[1]

    def _split(self, text: str) -> tuple[list[str], list[tuple[str, str]]]:
        """Return the text between the tokens, and the tokens with their kinds."""
        if self._token is None:
            return [text], []
        rest: list[str] = []
        tokens: list[tuple[str, str]] = []
        end = 0
        for found in self._token.finditer(text):
            rest.append(text[end : found.start()])
            tokens.append((self._kind(found), found[0]))
            end = found.end()
        return [*rest, text[end:]], tokens

    def _replaced(self, text: str, partners: Mapping[tuple[str, str], str]) -> str:
        if self._token is None or not partners:
            return text
        return self._token.sub(lambda found: partners.get((self._kind(found), found[0]), found[0]), text)

    def _kind(self, found: re.Match[str]) -> str:
        return next(kind for index, kind in enumerate(self._kinds) if found[f"k{index}"] is not None)


def rewritten(value: JsonValue, change: Callable[[str], str]) -> JsonValue:
    """Return a JSON value with `change` applied to every text in it, keys included."""
    if isinstance(value, str):
        return change(value)
    if is_list(value):
        return [rewritten(item, change) for item in value]
    if is_object(value):
        return {change(key): rewritten(item, change) for key, item in value.items()}
    return value


def _longest_first(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    # Longest first: one root may be the beginning of another.
    return sorted(pairs, key=lambda pair: -len(pair[0]))


def _placed(text: str, roots: list[tuple[str, str]]) -> str:
    """Return a text of the stand-in with its roots replaced where a path begins with them."""
    if not roots:
        return text
    real = dict(roots)
    pattern = re.compile("|".join(re.escape(own) for own, _ in roots))
    # All at once, so that a replaced root is not replaced again by a shorter one.
    return pattern.sub(lambda found: found[0] if _WITHIN.search(text[: found.start()]) else real[found[0]], text)


def _swapped(text: str, pairs: list[tuple[str, str]]) -> str:
    """Return a text of the real server with its roots replaced: they are long and random, so every occurrence counts."""
    for old, new in pairs:
        text = text.replace(old, new)
    return text
