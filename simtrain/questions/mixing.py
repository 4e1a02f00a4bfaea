"""Decides which question is drawn next: families and hops take turns, so that each gets its share if the schema allows."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from simtrain.questions.families import FAMILIES

FRUITLESS: Final = 1 / 12
"""Weight of a draw without a question, relative to one with: so rare kinds do not block the others."""

MOST_FRUITLESS: Final = 36
"""After this many draws without any question, a family gets no more turns with that number of hops."""


@dataclass(frozen=True, slots=True)
class FamilyTurn:
    """A family, and how many hops its next question spans."""

    family: str
    hops: int


class TurnMix:
    """Gives turns: to the number of hops that had the fewest, then to the family with the fewest among those."""

    def __init__(self, families: Sequence[str], hops: tuple[int, int]) -> None:
        self._turns = [
            FamilyTurn(name, count)
            for count in range(hops[0], hops[1] + 1)
            for name in families
            if FAMILIES[name].fewest <= count <= FAMILIES[name].most
        ]
        self._levels: defaultdict[int, float] = defaultdict(float)
        self._had: defaultdict[FamilyTurn, float] = defaultdict(float)
        self._barren = Counter(dict.fromkeys(self._turns, 0))
        """Fruitless draws of each turn that has made no question yet."""

    def next(self) -> FamilyTurn | None:
        """Return the next turn; None if none is left."""
        return min(self._turns, key=lambda turn: (self._levels[turn.hops], turn.hops, self._had[turn]), default=None)

    def tell(self, turn: FamilyTurn, *, made: bool) -> None:
        """Note whether the turn made a question."""
        weight = 1.0 if made else FRUITLESS
        self._levels[turn.hops] += weight
        self._had[turn] += weight
        if made:
            del self._barren[turn]
        elif turn in self._barren:
            self._barren[turn] += 1
            if self._barren[turn] == MOST_FRUITLESS:
                self._turns.remove(turn)
