"""What the page of an episode shows beside its record: its neighbours in a list, its case in other runs, reference and forks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from simtrain.contracts.trajectory import Trajectory
from simtrain.runs.run_index import source
from simtrain.view.addresses import PLACE, key_of, row_address
from simtrain.view.filters import Filter, sort_keys
from simtrain.view.shelf import ShelvedRun

MOST_OTHERS = 60
"""Other episodes of a case that are listed."""


@dataclass(frozen=True)
class OtherEpisode:
    """Another episode of the same case: in words, its reward, what names it, and its address."""

    words: str
    reward: float | None
    key: str
    address: str


def neighbours(run: ShelvedRun, number: int, chosen: Filter, q: str, sort: str) -> tuple[str | None, str | None]:
    """Return the addresses of the episodes before and after one in the list that it was opened from."""
    return _near(run, number, chosen, q, sort, before=True), _near(run, number, chosen, q, sort, before=False)


def _near(run: ShelvedRun, number: int, chosen: Filter, q: str, sort: str, *, before: bool) -> str | None:
    keys, sorted_by, descending = sort_keys(sort)
    backwards = before != descending
    place = f"({', '.join(keys)})"
    table = source(chosen.condition, *keys)
    found = run.index.select(
        f"select id from {table} where {chosen.condition}"
        # An episode that the filter drops, as one that is opened by its address, has no neighbours in the list.
        f" and exists (select 1 from {table} where id = :here and {chosen.condition})"
        f" and {place} {'<' if backwards else '>'} (select {', '.join(keys)} from {table} where id = :here)"
        f" order by {', '.join(f'{key} desc' if backwards else key for key in keys)} limit 1",
        {**chosen.values, **sorted_by, "here": number},
    )
    if not found:
        return None
    (row,) = run.index.select(f"select {', '.join(PLACE)} from records where id = :id", {"id": found[0]["id"]})
    return row_address(run, row, q, sort)


def same_case(
    runs: Iterable[ShelvedRun], run: ShelvedRun, number: int, trajectory: Trajectory
) -> list[tuple[ShelvedRun, Any]]:
    """Return the other episodes of the same case in all runs, as rows of their indexes."""
    return [
        (other, row)
        for other in runs
        for row in other.index.select(
            f"select id, agent, reward, {', '.join(PLACE)} from records where scenario = :scenario and episode = :episode",
            {"scenario": trajectory.scenario, "episode": trajectory.episode},
        )
        if other is not run or row["id"] != number
    ]


def listed(others: Sequence[tuple[ShelvedRun, Any]]) -> list[OtherEpisode]:
    """Return the first of them as a page lists them."""
    return [_other(run, row) for run, row in others[:MOST_OTHERS]]


def _other(run: ShelvedRun, row: Any) -> OtherEpisode:
    agent = row["agent"] if row["agent"] != run.name else ""
    attempt = f"attempt {row['attempt']}" if row["attempt"] else ""
    words = " · ".join(word for word in (run.name, agent, row["arm"], attempt) if word)
    return OtherEpisode(words, row["reward"], key_of(run, row), row_address(run, row, "", ""))
