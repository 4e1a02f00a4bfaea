"""Who settles what rules cannot: which heading is which column, which name is which entity, whether two cells mean the same."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from simtrain.contracts.question import Column
from simtrain.questions.widesearch.words import folded

_SPACE = re.compile(r"\s+")


class Arbiter(Protocol):
    """Settles alignments and judgements of one question. Raises ModelFault where a model was asked and cannot be read."""

    async def align_columns(self, given: Sequence[str], wanted: Sequence[str]) -> Mapping[str, str]:
        """Return which of the given (normalised) column names mean which of the wanted ones; others are left out."""
        ...

    async def align_keys(self, column: Column, given: Sequence[str], wanted: Sequence[str]) -> Mapping[str, str]:
        """Return which of the given cells of a key column name the same thing as which of the wanted ones; others are left out."""
        ...

    async def judge(self, column: Column, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        """Return for each (given, gold) pair of cells 1.0 if they agree by the column's criterion, else 0.0."""
        ...


@dataclass(frozen=True)
class Known:
    """Settles with prior knowledge alone, and asks nobody.

    `columns` and `aliases` map what may be written to what is due; `accepted` are (given, gold) pairs that count as
    right beside those that are equal, both without regard to case and white space. `exact` takes aliases only as they
    are written, as compatible scoring must; else case, white space and markup do not count.
    """

    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    accepted: frozenset[tuple[str, str]] = frozenset()
    exact: bool = False

    def __post_init__(self) -> None:
        by_fold = {} if self.exact else {folded(alias): name for alias, name in self.aliases.items()}
        object.__setattr__(self, "_folded", by_fold)
        object.__setattr__(self, "_taken", {(_bare(one), _bare(other)) for one, other in self.accepted})

    async def align_columns(self, given: Sequence[str], wanted: Sequence[str]) -> Mapping[str, str]:
        return {name: self.columns[name] for name in given if name not in wanted and name in self.columns}

    async def align_keys(self, column: Column, given: Sequence[str], wanted: Sequence[str]) -> Mapping[str, str]:
        by_fold: Mapping[str, str] = vars(self)["_folded"]
        left = (cell for cell in given if cell not in wanted)
        found = ((cell, self.aliases.get(cell) or by_fold.get(folded(cell))) for cell in left)
        return {cell: name for cell, name in found if name is not None}

    async def judge(self, column: Column, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        taken: set[tuple[str, str]] = vars(self)["_taken"]
        return [
            float(_squeezed(one) == _squeezed(other) or (_bare(one), _bare(other)) in taken) for one, other in pairs
        ]


def _squeezed(text: str) -> str:
    return _SPACE.sub("", text.lower())


def _bare(text: str) -> str:
    # Compatible scoring judges cells that have lost capitals, spaces and stars by then; pairs are written as tables have them.
    return _squeezed(text).replace("*", "")
