"""Who looks nothing up and repeats what the question says earns nothing, on any level of the shipped ladder."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest
from echoing import VARIANTS, echo, headings
from question_web import question_source

from simtrain import rollout
from simtrain.agents.function_agent import FunctionAgent
from simtrain.contracts.question import Question
from simtrain.contracts.scenario import Episode, ScenarioSpec
from simtrain.contracts.trajectory import Trajectory
from simtrain.curricula.levels import load_ladder
from simtrain.files.yaml_files import read_document
from simtrain.scenarios.load import assemble, paradigm_of
from tests.worlds.test_shipped_search_worlds import WORLDS

LOOKUPS = """\
name: lookups
paradigm: fiction
world: reach
cases: {questions: {count: 60, hops: [0, 2], rows: [1, 6], compose: [looked_up, joined, linked, filtered]}}
"""
MOST = 0.02
"""Mean reward that an echo may earn."""


def played(episodes: Iterable[Episode], variant: str) -> list[Trajectory]:
    async def agent(prompt: str, tools: object, step: object) -> str:
        return echo(prompt, variant)

    async def play() -> list[Trajectory]:
        return [await rollout(episode, FunctionAgent(function=agent)) for episode in episodes]

    return asyncio.run(play())


def public(trajectory: Trajectory) -> float:
    """The item F1 as WideSearch reckons it, which stands in the grader's detail whatever is rewarded."""
    found = trajectory.rewards[0].detail.get("f1_by_item", 0.0)
    assert isinstance(found, float)
    return found


def read(episodes: Iterable[Episode]) -> float:
    """The share of prompts whose columns the echo finds."""
    asked = [episode for episode in episodes if episode.case["answer"] != "single"]
    found = [headings(str(one.case["query"])) == [column["name"] for column in one.case["columns"]] for one in asked]  # type: ignore[union-attr,index,call-overload]
    return fmean(map(float, found))


def asked(folder: Path, world: str) -> list[Episode]:
    """Questions of look-ups in the test's own world or in a shipped one, in both languages."""
    (folder / "lookups.yaml").write_text(LOOKUPS.replace("world: reach", f"world: {world}"))
    document = read_document(folder / "lookups.yaml")
    source = question_source(folder) if world == "reach" else None
    family = assemble(document, document.parse(ScenarioSpec), "lookups", source=source)
    return list(paradigm_of(family).episodes(family, seed=0, attempts=1))


@pytest.fixture(scope="module")
def lookups(tmp_path_factory: pytest.TempPathFactory) -> list[Episode]:
    return asked(tmp_path_factory.mktemp("echo"), "reach")


def earns_nothing(episodes: list[Episode], variant: str) -> None:
    assert read(episodes) > 0.95
    found = played(episodes, variant)
    assert fmean(one.reward or 0.0 for one in found) <= MOST
    assert not any(one.steps for one in found)
    if variant in ("in_order", "left_empty", "repeated"):
        assert fmean(map(public, found)) > 0.05


@pytest.mark.parametrize("variant", VARIANTS)
def test_an_echo_earns_nothing_though_the_public_figures_give_it_something(
    lookups: list[Episode], variant: str
) -> None:
    earns_nothing(lookups, variant)


@pytest.mark.full
@pytest.mark.parametrize("world", WORLDS)
def test_an_echo_earns_nothing_in_any_shipped_world_in_either_language(world: str, tmp_path: Path) -> None:
    episodes = asked(tmp_path, world)
    for language in ("en", "zh"):
        own = [one for one in episodes if one.case["language"] == language]
        assert len(own) >= 20
        for variant in VARIANTS:
            earns_nothing(own, variant)


@pytest.fixture(scope="module")
def levels() -> list[tuple[str, list[list[Episode]]]]:
    """The levels of the shipped ladder, with fewer questions of each, in one of its worlds."""
    ladder = load_ladder("ladder")
    fewer = [
        level.model_copy(
            update={"questions": level.questions.model_copy(update={"count": min(level.questions.count, 12)})}
        )
        for level in ladder.spec.levels
    ]
    worlds = {"train": ["kestrel_reach"]}
    ladder = replace(ladder, spec=ladder.spec.model_copy(update={"worlds": worlds, "levels": fewer}))
    families = ladder.families("train")
    return [(level[0].bounds.name, [list(family.episodes) for family in level]) for level in families]


@pytest.mark.full
def test_an_echo_earns_at_most_two_hundredths_on_every_level_of_the_shipped_ladder(
    levels: list[tuple[str, list[list[Episode]]]],
) -> None:
    assert len(levels) == 9
    for number, (name, worlds) in enumerate(levels):
        episodes = [episode for found in worlds for episode in found]
        assert read(episodes) > 0.95
        for variant in VARIANTS:
            found = played(episodes, variant)
            assert fmean(one.reward or 0.0 for one in found) <= MOST, (name, variant)
            if number < 2 and variant == "in_order":
                assert fmean(map(public, found)) > 0.15, "the echo has forgotten how to echo"


@pytest.mark.full
def test_every_level_of_the_shipped_ladder_has_questions_without_an_answer(
    levels: list[tuple[str, list[list[Episode]]]],
) -> None:
    for name, worlds in levels:
        for episodes in worlds:
            without = [episode for episode in episodes if episode.case["answer"] == "unanswerable"]
            # The nearest whole number to the share of the few that a level has in one world.
            assert abs(len(without) - 0.08 * len(episodes)) <= 0.6, name


@pytest.mark.full
def test_the_last_levels_are_as_wide_as_widesearch_and_the_oracle_solves_them(
    levels: list[tuple[str, list[list[Episode]]]],
) -> None:
    for name, low, high, columns in (("wide_tables", 30, 90, (4, 7)), ("full_width", 60, 150, (5, 9))):
        episodes = [episode for found in dict(levels)[name] for episode in found]
        tables = [Question.model_validate(one.case) for one in episodes if one.case["answer"] == "table"]
        assert all(low <= one.difficulty.rows <= high for one in tables)
        assert all(columns[0] <= len(one.columns) <= columns[1] for one in tables)
        for episode in episodes[:4]:
            calm = replace(episode, scenario=replace(episode.scenario, perturbations=()))
            assert asyncio.run(rollout(calm, "oracle")).reward == 1.0
    assert 65 <= fmean(one.difficulty.rows for one in tables) <= 115
    assert 5.5 <= fmean(len(one.columns) for one in tables) <= 8
