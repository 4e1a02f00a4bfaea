"""The list of a run's episodes: rows of its index, their totals, and the columns that are shown."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from simtrain.contracts.trajectory import SUCCESS
from simtrain.runs.notes import EpisodeNote, EpisodePlace, read_notes
from simtrain.runs.run_index import source
from simtrain.values.errors import InputError
from simtrain.view.chosen import Chosen
from simtrain.view.filters import Filter, field_of, order
from simtrain.view.shelf import ShelvedRun

A_PAGE = 100

MOST_KEPT = 256
"""Totals that are kept at most."""

TEXT_COLUMNS = (("episode", "episode"), ("scenario", "scenario"), ("arm", "arm"), ("stop", "end"))
NUMBER_COLUMNS = (
    ("reward", "reward"), ("attempt", "attempt"), ("turns", "turns"), ("steps", "calls"), ("errors", "errors"),
    ("perturbed", "perturbed"), ("tokens", "tokens"), ("seconds", "seconds"),
)  # fmt: skip
SHOWN = (*TEXT_COLUMNS, *NUMBER_COLUMNS)
RECORDED = tuple(name for name, _ in SHOWN)
"""Columns of a list, and their headings. What a filter names beside them becomes a column too."""


@dataclass(frozen=True)
class Totals:
    """What the chosen episodes add up to."""

    episodes: int
    graded: int
    solved: int
    steps: int
    tokens: int
    cost: float

    @property
    def success(self) -> float | None:
        """Return the share of solved episodes among those that were graded."""
        return self.solved / self.graded if self.graded else None


@dataclass(frozen=True)
class EpisodeList:
    """What a page of the list shows."""

    totals: Totals
    rows: Sequence[Any]
    columns: Sequence[tuple[str, str]]
    numbers: frozenset[str]
    notes: Mapping[EpisodePlace, EpisodeNote]
    q: str
    sort: str
    offset: int

    def here(self, **changed: object) -> str:
        """Return the address of this list with some of its parameters changed."""
        told = {"q": self.q, "sort": self.sort, "offset": self.offset, **changed}
        return "?" + urlencode({name: value for name, value in told.items() if value})


def list_page(run: ShelvedRun, chosen: Chosen, totals: Totals, *, q: str, sort: str, offset: int) -> EpisodeList:
    """Return a page of the episodes that a filter chose."""
    more = _further((*chosen.filter.fields, sort.removeprefix("-")))
    fields = [field_of(name, f"c{number}") for number, name in enumerate(more)]
    sorting, sorted_by = order(sort)
    condition = chosen.filter.condition
    # Numbers first: what is sorted is then short.
    numbers = run.index.select(
        f"select id from {source(condition, sorting)} where {condition} order by {sorting} limit {A_PAGE} offset {offset}",
        {**chosen.filter.values, **sorted_by},
    )
    listed = ", ".join(("id", *RECORDED, *(f'{field.sql} as "x{number}"' for number, field in enumerate(fields))))
    found = run.index.select(
        # Numbers of our own, so that they may stand in the query.
        f"select {listed} from {source(listed)} where id in ({', '.join(str(number) for (number,) in numbers)})",
        {key: one for field in fields for key, one in field.values.items()},
    )
    rows = {row["id"]: {**dict(row), **{name: row[f"x{place}"] for place, name in enumerate(more)}} for row in found}
    shown = [rows[number] for (number,) in numbers]
    return EpisodeList(
        totals,
        shown,
        (*SHOWN, *((name, name) for name in more)),
        frozenset(name for name, _ in NUMBER_COLUMNS),
        read_notes(run.path),
        q,
        sort,
        offset,
    )


class RunTotals:
    """What episodes add up to, kept until their run has others."""

    def __init__(self) -> None:
        self._kept: dict[object, Totals] = {}

    def of(self, run: ShelvedRun, chosen: Filter) -> Totals:
        """Return the totals of the episodes that a filter keeps."""
        key = (run.path, run.index.stamp(), chosen.condition, tuple(chosen.values.items()))
        if key not in self._kept:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[key] = _totals(run, chosen)
        return self._kept[key]


def _totals(run: ShelvedRun, chosen: Filter) -> Totals:
    (row,) = run.index.select(
        f"select count(*) as episodes, count(reward) as graded, coalesce(sum(reward >= {SUCCESS}), 0) as solved,"
        " coalesce(sum(steps), 0) as steps, coalesce(sum(tokens), 0) as tokens, coalesce(sum(cost), 0.0) as cost"
        f" from {source(chosen.condition)} where {chosen.condition}",
        chosen.values,
    )
    return Totals(*row)


def _further(names: Sequence[str]) -> list[str]:
    """Return those of the fields that become columns since lists do not show them by themselves."""
    found = list[str]()
    for name in dict.fromkeys(names):
        # A sort by something that is no field is no sort.
        with suppress(InputError):
            field_of(name, "")
            if name not in dict(SHOWN):
                found.append(name)
    return found
