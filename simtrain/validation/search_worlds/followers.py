"""Which tokens of a text may be neighbours, where the text has alternatives in brackets: `[by day|by [dead|] night]`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

OPEN, BAR, CLOSE = "[", "¦", "]"
"""The signs of alternatives among the tokens. A bar within brackets is not the one that parts the cells of a table."""
NOTHING: Final = frozenset[str]()


@dataclass(frozen=True, slots=True)
class TokenRun:
    """What a stretch of tokens may begin and end with, which pairs are in it, and whether it may be left out."""

    first: frozenset[str] = NOTHING
    last: frozenset[str] = NOTHING
    pairs: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    empty: bool = True

    def then(self, other: TokenRun) -> TokenRun:
        """Return this stretch followed by the other one, whose pairs are taken over, not copied."""
        self.pairs.update(other.pairs, ((one, two) for one in self.last for two in other.first))
        return TokenRun(
            self.first | other.first if self.empty else self.first,
            other.last | self.last if other.empty else other.last,
            self.pairs,
            self.empty and other.empty,
        )

    def either(self, other: TokenRun) -> TokenRun:
        """Return a stretch that is this one or the other."""
        return TokenRun(
            self.first | other.first, self.last | other.last, self.pairs | other.pairs, self.empty or other.empty
        )


def followers(tokens: Sequence[str]) -> set[tuple[str, str]]:
    """Return the pairs of tokens that may be neighbours. Brackets that do not match are left alone."""
    # One list of alternatives for each open bracket, the last of them still growing.
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
