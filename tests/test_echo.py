"""Who looks nothing up and repeats what the question says earns nothing, on any level of the shipped ladder."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from statistics import fmean

import pytest
from echoing import VARIANTS, echo, headings
from question_web import question_source

from simtrain import rollout
from simtrain.agent.function_agent import FunctionAgent
from simtrain.assembly import assemble, paradigm_of
from simtrain.documents import read_document
from simtrain.ladder.rungs import load_ladder
from simtrain.scenario import Episode, ScenarioSpec
from simtrain.trajectory import Trajectory

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


@pytest.fixture(scope="module")
def lookups(tmp_path_factory: pytest.TempPathFactory) -> list[Episode]:
    folder = tmp_path_factory.mktemp("echo")
    (folder / "lookups.yaml").write_text(LOOKUPS)
    document = read_document(folder / "lookups.yaml")
    family = assemble(document, document.parse(ScenarioSpec), "lookups", source=question_source(folder))
    return list(paradigm_of(family).episodes(family, seed=0, attempts=1))


@pytest.mark.parametrize("variant", VARIANTS)
def test_an_echo_earns_nothing_though_the_public_figures_give_it_something(
    lookups: list[Episode], variant: str
) -> None:
    assert read(lookups) > 0.95
    found = played(lookups, variant)
    assert fmean(one.reward or 0.0 for one in found) <= MOST
    assert not any(one.steps for one in found)
    if variant in ("in_order", "left_empty", "repeated"):
        assert fmean(map(public, found)) > 0.05


@pytest.mark.full
def test_an_echo_earns_at_most_two_hundredths_on_every_level_of_the_shipped_ladder() -> None:
    ladder = load_ladder("ladder")
    worlds = {"train": ["kestrel_reach", "ombrecht_archives"]}
    ladder = replace(ladder, spec=ladder.spec.model_copy(update={"worlds": worlds}))
    for number, rungs in enumerate(ladder.rungs("train")):
        episodes = [episode for rung in rungs for episode in islice(rung.episodes, 40)]
        assert read(episodes) > 0.95
        for variant in VARIANTS:
            found = played(episodes, variant)
            assert fmean(one.reward or 0.0 for one in found) <= MOST, (rungs[0].bounds.name, variant)
            if number < 2 and variant == "in_order":
                assert fmean(map(public, found)) > 0.15, "the echo has forgotten how to echo"
