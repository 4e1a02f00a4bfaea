"""The law of dealing: round-robin over families, then cases, then variants of the world, then new attempts."""

from __future__ import annotations

import os
import tracemalloc
from collections import Counter
from functools import cache
from pathlib import Path

import bakery
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simtrain.contracts.scenario import Episode, Scenario
from simtrain.runs.schedule import Deal
from simtrain.scenarios.load import load_scenario_file
from simtrain.values.errors import InputError

MANY = 1_000_000 if os.environ.get("SIMTRAIN_FULL") else 100_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("families")
    (folder / "bakery.yaml").write_text(bakery.WORLD)
    return folder


@cache
def family(folder: Path, number: int, cases: int, variants: int) -> Scenario:
    """A family with so many cases in so many variants of its world."""
    rows = ", ".join(f"{{cake: cake {case}}}" for case in range(cases))
    seeds = ", ".join(str(seed) for seed in range(variants))
    file = folder / f"family{number}_{cases}_{variants}.yaml"
    file.write_text(
        f"name: family{number}\nworld: bakery.yaml\nprompt: Buy {{{{ cake }}}}.\ncases: [{rows}]\nvary: {{seeds: [{seeds}]}}\n"
        "rubric: [{use: final_state, with: {changes_only: []}}]\n"
    )
    return load_scenario_file(file, file.stem)


def by_the_law(sizes: list[tuple[int, int]], *, total: int | None, attempts: int) -> list[tuple[int, str, int, int]]:
    """(family, case, variant, attempt) in the order that the law asks for, in the plainest way."""

    def endless(number: int):
        cases, variants = sizes[number]
        again = 0
        while again == 0 or total is not None:
            for variant in range(variants):
                for case in range(cases):
                    for attempt in range(attempts):
                        yield number, f"cake {case}", variant, again * attempts + attempt
            again += 1

    queues = [endless(number) for number in range(len(sizes))]
    dealt: list[tuple[int, str, int, int]] = []
    while queues:
        for queue in list(queues):
            if total is not None and len(dealt) == total:
                return dealt
            episode = next(queue, None)
            if episode is None:
                queues.remove(queue)
            else:
                dealt.append(episode)
    return dealt


def seen(episode: Episode) -> tuple[int, str, int, int]:
    number = int(episode.scenario.name.removeprefix("family").partition("_")[0])
    return number, str(episode.case["cake"]), episode.variant.seed or 0, episode.attempt


@given(
    sizes=st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3)), min_size=1, max_size=4),
    total=st.none() | st.integers(1, 60),
    attempts=st.integers(1, 3),
)
def test_episodes_are_dealt_by_the_law(
    folder: Path, sizes: list[tuple[int, int]], total: int | None, attempts: int
) -> None:
    scenarios = [family(folder, number, *size) for number, size in enumerate(sizes)]
    dealt = Deal(scenarios, seed=0, total=total, attempts=attempts)
    expected = by_the_law(sizes, total=total, attempts=attempts)
    assert [seen(episode) for episode in dealt] == expected
    assert len(dealt) == len(expected)
    assert [seen(dealt[place]) for place in range(len(dealt))] == expected
    assert seen(dealt[-1]) == expected[-1]
    assert [seen(episode) for episode in dealt[1:3]] == expected[1:3]
    assert len({episode.key for episode in dealt}) == len(expected)
    assert Counter(seen(episode)[:3] for episode in dealt.cases) == Counter(
        (number, f"cake {case}", variant)
        for number, (cases, variants) in enumerate(sizes)
        for case in range(cases)
        for variant in range(variants)
    )


@given(first=st.integers(1, 40), more=st.integers(0, 40))
def test_a_larger_deal_begins_with_the_smaller_one(folder: Path, first: int, more: int) -> None:
    scenarios = [family(folder, 0, 3, 2), family(folder, 1, 2, 1)]
    small = Deal(scenarios, seed=0, total=first, attempts=1)
    large = Deal(scenarios, seed=0, total=first + more, attempts=1)
    assert [episode.key for episode in small] == [episode.key for episode in large[:first]]


def test_many_episodes_take_no_memory(folder: Path) -> None:
    scenarios = [family(folder, number, 4, 2) for number in range(3)]
    tracemalloc.start()
    try:
        dealt = Deal(scenarios, seed=0, total=MANY, attempts=1)
        assert sum(1 for _ in dealt) == MANY
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_an_episode_beyond_the_deal_is_an_index_error(folder: Path) -> None:
    dealt = Deal([family(folder, 0, 2, 1)], seed=0, total=None, attempts=1)
    assert len(dealt) == 2
    with pytest.raises(IndexError):
        dealt[2]


def test_nothing_to_play_is_said() -> None:
    with pytest.raises(InputError, match="nothing to play"):
        Deal([], seed=0, total=None, attempts=1)
