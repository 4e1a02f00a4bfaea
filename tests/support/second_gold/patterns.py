"""Sentences with gaps, and every way in which a text fits one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import product

_PART = re.compile(r"\{(\w+)\}|\[([^\]]*)\]")


def fits(pattern: str, text: str) -> Iterator[dict[str, str]]:
    """What stands in the gaps `{so}` of a pattern, for each way in which the text fits; `[a|b]` is either of two wordings."""
    for parts in _variants(pattern):
        yield from _filled(parts, text)


@cache
def _variants(pattern: str) -> tuple[tuple[tuple[str, str], ...], ...]:
    """The pattern without alternatives: (gap, words that follow it) one after the other, the first gap nameless and empty."""
    pieces = _PART.split(pattern)
    choices: list[list[tuple[str, str]]] = [[("words", pieces[0])]]
    for gap, either, words in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
        choices.append([("gap", gap)] if gap else [("words", one) for one in either.split("|")])
        choices.append([("words", words)])
    found: list[tuple[tuple[str, str], ...]] = []
    for picked in product(*choices):
        parts: list[tuple[str, str]] = [("", "")]
        for kind, value in picked:
            if kind == "gap":
                parts.append((value, ""))
            else:
                parts[-1] = (parts[-1][0], parts[-1][1] + value)
        found.append(tuple(parts))
    return tuple(found)


def _filled(parts: tuple[tuple[str, str], ...], text: str) -> Iterator[dict[str, str]]:
    (gap, words), *rest = parts
    if not gap:
        if text.startswith(words):
            if rest:
                yield from _filled(tuple(rest), text[len(words) :])
            elif text == words:
                yield {}
        return
    if not rest:
        if text.endswith(words) and len(text) > len(words):
            yield {gap: text[: len(text) - len(words)]}
        return
    place = text.find(words, 1)
    while place > 0:
        for filled in _filled(tuple(rest), text[place + len(words) :]):
            yield {gap: text[:place], **filled}
        place = text.find(words, place + 1)
