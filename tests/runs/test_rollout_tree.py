"""Trees: branches of an episode, the mean return of every turn, and their export."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any, ClassVar

import pytest
from bakery import scenario, write_files

from simtrain import export, load_scenario, rollout, rollout_tree, run
from simtrain.contracts.agent import Briefing, Player, Policy
from simtrain.contracts.journal import Journal
from simtrain.contracts.trajectory import Trajectory
from simtrain.runs.run_folder import read_run
from simtrain.values.errors import InputError
from simtrain.values.seeding import draw
from simtrain.values.types import Action, Message

pytestmark = pytest.mark.slow


class Chancer(Policy):
    """Looks, orders the right number of cakes in half of all episodes, and ends: all by the episode's seed."""

    continues: ClassVar[bool] = True

    def player(self, briefing: Briefing) -> Player:
        return _Chancer(briefing)


class _Chancer:
    def __init__(self, briefing: Briefing) -> None:
        self.cake = briefing.prompt.split('"')[1]
        self.seed = briefing.seed

    async def think(self, journal: Journal) -> Message:
        number = len(journal.turns)
        if number == 0:
            return Message(calls=(Action("a", "cakes.get", {"name": self.cake}),))
        if number == 1:
            found = journal.turns[0].steps[0].observation.content or {}
            amount = 2 if draw(self.seed, "amount") < 0.5 else 1
            return Message(calls=(Action("b", "orders.place", {"cake_id": found.get("id"), "amount": amount}),))
        return Message("ANSWER: done")


def lines(folder: Path) -> set[str]:
    """The lines of a run folder without their timing."""
    rows = [json.loads(line) for part in folder.glob("trajectories-*") for line in part.read_text().splitlines()]
    return {json.dumps({key: row[key] for key in row if key != "timing"}, sort_keys=True) for row in rows}


def returns(leaves: Sequence[Trajectory]) -> dict[tuple[str, str], list[float]]:
    """By what was said and heard so far, and what was said then, the rewards of all trajectories in which it was."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for leaf in leaves:
        said: list[Any] = []
        for turn in leaf.turns:
            message = [turn.text, [(step.action.tool, step.action.arguments) for step in turn.steps]]
            assert leaf.reward is not None
            found[json.dumps(said), json.dumps(message)].append(leaf.reward)
            said += [message, [step.observation.text for step in turn.steps]]
    return found


async def test_each_turn_has_the_mean_return_of_all_leaves_below_it(tmp_path: Path) -> None:
    tree = await rollout_tree(scenario(tmp_path), Chancer(), branches=5, seed=1, out=tmp_path / "tree")
    leaves = list(read_run(tmp_path / "tree"))
    assert len(leaves) == len(tree.leaves) == 1 + 2 * 5
    expected = returns(leaves)
    found = [(choice.mean_return, len(choice.leaves)) for place in tree.walk() for choice in place.choices]
    assert sorted(found) == sorted((mean(rewards), len(rewards)) for rewards in expected.values())
    second = next(place for place in tree.walk() if len(place.choices) == 2)
    assert second.depth == 1 and {choice.mean_return for choice in second.choices} == {0.0, 1.0}
    assert {fork.step for leaf in leaves for fork in leaf.forks} == {0, 1}


async def test_a_tree_is_drawn_by_its_seed(tmp_path: Path) -> None:
    made = scenario(tmp_path)
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        await rollout_tree(made, Chancer(), branches=4, at=1, seed=seed, out=tmp_path / name, concurrency=1 + seed)
    assert lines(tmp_path / "a") == lines(tmp_path / "b") != lines(tmp_path / "c")


async def test_rows_hold_the_messages_up_to_a_turn_its_return_and_its_siblings(tmp_path: Path) -> None:
    tree = await rollout_tree(scenario(tmp_path), Chancer(), branches=6, at=[1], out=tmp_path / "tree")
    out = tmp_path / "rows.jsonl"
    export(tmp_path / "tree", "turn_returns", out=out, knobs={"only": "siblings"})
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) == 2
    for row in rows:
        assert [message["role"] for message in row["prompt"]] == ["system", "user", "assistant", "tool"]
        amount = json.loads(row["completion"][0]["tool_calls"][0]["function"]["arguments"])["amount"]
        assert row["return"] == float(amount == 2)
        assert row["advantage"] == pytest.approx(row["return"] - (tree.mean_return or 0))
        assert [1 - other["return"] for other in row["siblings"]] == [row["return"]]
        assert row["leaves"] + row["siblings"][0]["leaves"] == 7
    both = tmp_path / "all.jsonl"
    assert export(tmp_path / "tree", "turn_returns", out=both).rows > 2


def test_a_recorded_trajectory_is_gone_on_from_by_its_run_folder(tmp_path: Path) -> None:
    run([load_scenario(write_files(tmp_path))], "resilient", out=tmp_path / "run", episodes=1)
    one = next(read_run(tmp_path / "run"))
    tree = asyncio.run(rollout_tree(one, "naive", at=[1, 3], branches=2, run=tmp_path / "run"))
    assert len(tree.leaves) == 4
    assert all(leaf.turns[0] == one.turns[0] for leaf in tree.leaves)
    assert {leaf.forks[0].agent for leaf in tree.leaves} == {"resilient"}
    with pytest.raises(InputError):
        asyncio.run(rollout_tree(one, "naive", at=1))


async def test_branches_without_a_step_to_go_on_from_are_the_trunk_alone(tmp_path: Path) -> None:
    tree = await rollout_tree(scenario(tmp_path), "nop")
    assert len(tree.leaves) == 1 and (await rollout(scenario(tmp_path), "nop")).answer == tree.leaves[0].answer
