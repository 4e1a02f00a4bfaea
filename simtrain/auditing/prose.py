"""The words of an author's own prose: what a world file says outside of the places that facts are put into."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import cast

from simtrain.types import JsonObject, JsonValue
from simtrain.worlds.search.checking.pieces import EDGE, Wording, folded

_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_TOKEN = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|⟦\d+⟧|[^\W\d_][\w'’-]*", re.DOTALL)
_ANYWHERE = frozenset({EDGE, "a", "yes", "no"})
"""What may stand at any place for a fact: articles, and what is said of yes and no."""
_PLACE = "{{", "{%", "⟦"


def prose_of(data: JsonValue, reworded: Iterable[str] = ()) -> Wording:
    """The prose of all texts in a world file, and of pages in other words; of what stands in braces only what is quoted there."""
    words: set[str] = set()
    pairs: set[tuple[str, str]] = set()
    before: set[str] = set()
    after: set[str] = set()
    texts = [*_texts(data), *reworded]
    # Labels that nobody wrote are made of what a thing is called.
    for text in [*texts, *(text.replace("_", " ") for text in texts if "_" in text)]:
        tokens = [EDGE, *_TOKEN.findall(text), EDGE]
        for quoted in (part for token in tokens if token.startswith("{") for part in _QUOTED.findall(token)):
            own = [folded(word) for word in _TOKEN.findall(quoted[0] or quoted[1])]
            words.update(own)
            pairs.update(pairwise(own))
            after.update(own[:1])
            before.update(own[-1:])
        read = [token if _is_place(token) else folded(token) for token in tokens]
        for one, other in pairwise(read):
            if not _is_place(one) and not _is_place(other):
                pairs.add((one, other))
            elif not _is_place(one):
                before.add(one)
            elif not _is_place(other):
                after.add(other)
        words.update(token for token in read if not _is_place(token))
    return Wording(frozenset(words), frozenset(pairs), frozenset(before | _ANYWHERE), frozenset(after | _ANYWHERE))


def _is_place(token: str) -> bool:
    return token == EDGE or token.startswith(_PLACE)


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, part in cast(JsonObject, value).items():
            yield str(name)
            yield from _texts(part)
    elif isinstance(value, list):
        for part in cast(list[JsonValue], value):
            yield from _texts(part)
