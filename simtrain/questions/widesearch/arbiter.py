"""Settles what rules cannot: which heading is which column, which name is which entity, and whether two cells agree."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from simtrain.contracts.question import Column
from simtrain.questions.widesearch.words import folded

_SPACE = re.compile(r"\s+")


class Arbiter(Protocol):
    """Settles alignments and judgements for one question. Raises ModelFault if a model's reply cannot be read."""

    async def align_columns(self, given: Sequence[str], wanted: Sequence[str]) -> Mapping[str, str]:
        """Return given -> wanted for (normalised) column names that mean the same; others are left out."""
        ...

    async def align_keys(self, column: Column, given: Sequence[str], wanted: Sequence[str]) -> Mapping[str, str]:
        """Return given -> wanted for cells of a key column that name the same thing; others are left out."""
        ...

    async def judge(self, column: Column, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        """Return, for each (given, gold) pair of cells, 1.0 if they agree by the column's criterion, else 0.0."""
        ...


@dataclass(frozen=True)
class Known:
    """Settles by prior knowledge only, without a model.

    `columns` and `aliases` map what an answer may write to what is required. `accepted` holds (given, gold) pairs that count as right
    in addition to equal ones, ignoring case and white space. With `exact`, aliases must be written exactly so, as compatible scoring
    requires; otherwise case, white space and markup are ignored.
    """

    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    accepted: frozenset[tuple[str, str]] = frozenset()
    exact: bool = False

    def __post_init__(self) -> None:
        # Prepared once; past __setattr__, as the class is frozen.
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
    # Compatible scoring judges cells after removing capitals, spaces and stars, but pairs are written as in tables.
    return _squeezed(text).replace("*", "")
