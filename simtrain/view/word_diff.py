"""What differs between two texts, word by word."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

MOST_WORDS = 3_000
"""Words of a text that are compared; of longer ones the time would be noticed."""

LEAST_SHARED = 1 / 3
"""Of the words of the shorter text; with fewer in common, each text is read better whole."""

_WORD = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Stretch:
    """Words that two texts share, or that only one of them has."""

    kind: Literal["same", "gone", "new"]
    text: str


def word_diff(before: str, after: str) -> Sequence[Stretch] | None:
    """Return the stretches of which two texts consist; None if they are too long to compare."""
    one, other = _WORD.findall(before), _WORD.findall(after)
    if max(len(one), len(other)) > MOST_WORDS:
        return None
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    shared = sum(word.isalnum() for at, _, size in matcher.get_matching_blocks() for word in one[at : at + size])
    if shared < LEAST_SHARED * min(sum(word.isalnum() for word in words) for words in (one, other)):
        return [Stretch("gone", before + "\n"), Stretch("new", after)]
    found = list[Stretch]()
    for kind, begin, end, start, stop in matcher.get_opcodes():
        if kind == "equal":
            found.append(Stretch("same", "".join(one[begin:end])))
            continue
        if end > begin:
            found.append(Stretch("gone", "".join(one[begin:end])))
        if stop > start:
            found.append(Stretch("new", "".join(other[start:stop])))
    return found
