"""What the page of an episode shows beside its record: its neighbours in a list, its case in other runs, reference and forks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from simtrain.contracts.trajectory import Trajectory
from simtrain.view.addresses import PLACE, key_of, row_address
from simtrain.view.filters import Filter, order
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
    sorting, sorted_by = order(sort)
    values = {**chosen.values, **sorted_by}
    query = f"select id from episodes where {chosen.condition} order by {sorting}"
    numbers = [row["id"] for row in run.index.select(query, values)]
    place = numbers.index(number) if number in numbers else None
    if place is None:
        return None, None
    before = numbers[place - 1] if place else None
    after = numbers[place + 1] if place + 1 < len(numbers) else None
    return _address(run, before, q, sort), _address(run, after, q, sort)


def _address(run: ShelvedRun, number: int | None, q: str, sort: str) -> str | None:
    if number is None:
        return None
    (row,) = run.index.select(f"select {', '.join(PLACE)} from episodes where id = :id", {"id": number})
    return row_address(run, row, q, sort)


def same_case(
    runs: Iterable[ShelvedRun], run: ShelvedRun, number: int, trajectory: Trajectory
) -> list[tuple[ShelvedRun, Any]]:
    """Return the other episodes of the same case in all runs, as rows of their indexes."""
    return [
        (other, row)
        for other in runs
        for row in other.index.select(
            f"select id, agent, reward, {', '.join(PLACE)} from episodes where scenario = :scenario and episode = :episode",
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
