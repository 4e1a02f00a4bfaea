"""What differs between two texts, word by word."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

MOST_WORDS = 3_000
"""Words of a text that are compared; of longer ones the time would be noticed."""

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
    found = list[Stretch]()
    for kind, begin, end, start, stop in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if kind == "equal":
            found.append(Stretch("same", "".join(one[begin:end])))
            continue
        if end > begin:
            found.append(Stretch("gone", "".join(one[begin:end])))
        if stop > start:
            found.append(Stretch("new", "".join(other[start:stop])))
    return found
