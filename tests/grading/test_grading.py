"""Many graders make one reward: weights, gates, minimum, failures."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from till import REFUND, episode, finished

from simtrain.contracts.grader import Grader, score
from simtrain.contracts.scenario import Grading, Rubric
from simtrain.contracts.trajectory import Reward, Stop, Trajectory, from_line, to_line
from simtrain.contracts.world import FinishedWorld
from simtrain.grading.graders.answer import Answer
from simtrain.grading.graders.final_state import FinalState
from simtrain.grading.graders.forbidden import Forbidden
from simtrain.grading.reward import grade, total
from simtrain.values.errors import InputError

VALUES = st.floats(0, 1)
REWARDS = st.lists(st.builds(Reward, st.just("g"), VALUES, st.floats(0.01, 100), st.booleans()), min_size=1, max_size=6)


class Fixed(Grader):
    """Always the same value."""

    value: float | None

    async def grade(self, trajectory: Trajectory, world: FinishedWorld) -> Reward:
        return replace(score(0.0), value=self.value)


class Broken(Grader):
    """Raises."""

    async def grade(self, trajectory: Trajectory, world: FinishedWorld) -> Reward:
        raise KeyError("no\nsuch key " + "x" * 1000)


RUBRIC = (
    Grading("state", 1, False, FinalState(expect=["select count(*) = 1 from refunds where order_id = :order"])),
    Grading("amount", 3, False, Answer(**{"sql": "select total from orders where id = :order", "as": "number"})),
    Grading("harm", 1, True, Forbidden(sql=["select count(*) from refunds where order_id <> :order"])),
)
UNDUE = ("update orders set status = 'void' where id = 'O2'",)
HARM = "insert into refunds values ('R9', 'O2', 1, null)"


def rubric(combine: str = "mean", calls: str = "optional") -> Rubric:
    return Rubric.model_validate({"combine": combine, "calls": calls, "graders": [{"use": "final_state"}]})


def run(*graders: Grading, combine: str = "mean", trajectory: Trajectory | None = None) -> Trajectory:
    return asyncio.run(grade(trajectory or episode(), graders, rubric(combine), finished()))


@pytest.mark.parametrize(
    ("statements", "answer", "mean", "minimum"),
    [
        (REFUND, "12.50", 1.0, 1.0),
        (REFUND, "13", 0.25, 0.0),
        ((), "12.50", 0.75, 0.0),
        ((*REFUND, HARM), "12.50", 0.0, 0.0),
        ((), "13", 0.0, 0.0),
    ],
)
def test_a_rubric_is_weighed_and_gated(statements: tuple[str, ...], answer: str, mean: float, minimum: float) -> None:
    world = finished(*statements)
    for combine, expected in (("mean", mean), ("minimum", minimum)):
        graded = asyncio.run(grade(episode(answer), RUBRIC, rubric(combine), world))
        assert graded.reward == expected
        assert [(reward.grader, reward.weight, reward.gate) for reward in graded.rewards] == [
            ("state", 1, False),
            ("amount", 3, False),
            ("harm", 1, True),
        ]
        assert from_line(to_line(graded)) == graded


@pytest.mark.parametrize(
    ("statements", "reward"), [((), 1.0), (REFUND[1:], 1.0), (REFUND, 1.0), ((*REFUND, HARM), 0.0), (UNDUE, 0.0)]
)
def test_declining_what_cannot_be_done_earns_unless_something_was_changed_that_was_not_due(
    statements: tuple[str, ...], reward: float
) -> None:
    due = {"refunds": "select 'O1' as order_id, 12.5 as amount", "orders": "select 'O1' as id, 'refunded' as status"}
    graders = (
        Grading("state", 1, True, FinalState(changes=due, changes_only=["refunds", "orders.status"])),
        *RUBRIC[1:],
    )
    declined = replace(episode(stop="abstained"), solvability="unsolvable", noticeable=0)
    graded = asyncio.run(grade(declined, graders, rubric(), finished(*statements)))
    assert graded.reward == reward
    assert [item.grader for item in graded.rewards] == ["declined", "state", "harm"]
    assert graded.stop.blame == (None if reward else "agent")
    for solvability in ("solvable", "unproved"):
        again = asyncio.run(grade(replace(declined, solvability=solvability), graders, rubric(), finished(*statements)))
        assert again.reward == 0


@pytest.mark.parametrize(
    ("calls", "made", "noticeable", "reward"),
    [
        ("required", True, 0, 1),
        ("required", True, -1, 1),
        ("required", True, None, 0),
        ("required", False, None, 0),
        ("required", False, -1, 0),
        ("optional", False, -1, 1),
        ("optional", False, None, 0),
    ],
)
def test_declining_what_cannot_be_done_earns_only_after_a_call_and_a_sign_of_it(
    calls: str, made: bool, noticeable: int | None, reward: float
) -> None:
    declined = episode(stop="abstained", calls=(("orders.list", True),) if made else ())
    declined = replace(declined, solvability="unsolvable", noticeable=noticeable)
    graded = asyncio.run(grade(declined, RUBRIC[:1], rubric(calls=calls), finished()))
    assert (graded.reward, graded.stop.blame) == (reward, None if reward else "agent")


def test_an_answer_without_a_call_earns_nothing_unless_calls_are_optional() -> None:
    amount = RUBRIC[1]
    for calls, turns, reward in (("required", (), 0), ("optional", (), 1), ("required", (("orders.list", True),), 1)):
        guess = episode("12.50", calls=turns)
        graded = asyncio.run(grade(guess, (amount,), rubric(calls=calls), finished()))
        assert graded.reward == reward
    assert asyncio.run(grade(episode(), (), rubric(calls="required"), finished())).reward is None


def test_gates_alone_are_multiplied() -> None:
    gates = (Grading("a", 5, True, Fixed(value=0.5)), Grading("b", 1, True, Fixed(value=0.5)))
    assert run(*gates).reward == 0.25


@pytest.mark.parametrize("combine", ["mean", "minimum"])
def test_what_weighs_nothing_is_no_part_of_the_reward(combine: Literal["mean", "minimum"]) -> None:
    right, idle = Reward("right", 1.0), Reward("idle", 0.0, weight=0.0)
    assert total([right, idle], combine) == 1.0
    assert total([right, replace(idle, value=None, error="broken")], combine) == 1.0, "nor does its failure cost one"
    assert total([idle], combine) is None and total([], combine) is None
    assert total([Reward("gate", 0.5, weight=0.0, gate=True), right, idle], combine) == 0.5, "a gate needs no weight"


def test_a_grader_that_fails_is_recorded_and_leaves_no_reward() -> None:
    graded = run(Grading("fine", 1, False, Fixed(value=1)), Grading("broken", 2, True, Broken()))
    assert graded.reward is None
    fine, broken = graded.rewards
    assert (fine.value, fine.error) == (1, None)
    assert (broken.grader, broken.value, broken.weight, broken.gate) == ("broken", None, 2, True)
    assert broken.error is not None
    assert broken.error.startswith("KeyError: ")
    assert "\n" not in broken.error
    assert len(broken.error) <= 300


def test_sql_that_breaks_in_the_final_world_is_a_recorded_failure() -> None:
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"
    graded = run(Grading("endless", 1, False, FinalState(expect=[endless])))
    assert graded.reward is None
    assert graded.rewards[0].error == str(InputError("the SQL fails: the query takes too many steps"))


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf"), None])
def test_a_value_outside_0_and_1_is_a_failure(value: float | None) -> None:
    # A knob may not be infinite; what a grader computes can be.
    graded = run(Grading("odd", 1, False, Fixed.model_construct(value=value)))
    assert (graded.reward, graded.rewards[0].value) == (None, None)
    assert graded.rewards[0].error


@pytest.mark.parametrize("blame", ["simulator", None])
def test_an_episode_that_failed_through_no_fault_of_the_agent_is_not_graded(blame: Literal["simulator"] | None) -> None:
    spoilt = replace(episode(), stop=Stop("failed", blame, "no answer from the world model"), reward=1.0)
    graded = run(Grading("fine", 1, False, Fixed(value=1)), trajectory=spoilt)
    assert (graded.reward, graded.rewards) == (None, ())


def test_an_episode_that_the_agent_spoilt_is_graded() -> None:
    spoilt = replace(episode(), stop=Stop("failed", "agent", "KeyError"))
    assert run(Grading("state", 1, False, Fixed(value=0.5)), trajectory=spoilt).reward == 0.5


def test_grading_again_replaces_the_rewards() -> None:
    once = run(Grading("a", 1, False, Fixed(value=1)))
    twice = run(Grading("b", 1, False, Fixed(value=0.5)), trajectory=once)
    assert (twice.reward, [reward.grader for reward in twice.rewards]) == (0.5, ["b"])
    assert replace(twice, reward=None, rewards=()) == episode()


@given(REWARDS, st.sampled_from(["mean", "minimum"]))
def test_the_total_lies_between_0_and_the_lowest_gate(rewards: list[Reward], combine: str) -> None:
    found = total(rewards, combine)
    assert found is not None
    assert 0 <= found <= min([1.0, *(reward.value or 0.0 for reward in rewards if reward.gate)])


@given(REWARDS)
def test_the_minimum_is_never_above_the_mean(rewards: list[Reward]) -> None:
    mean, minimum = total(rewards, "mean"), total(rewards, "minimum")
    assert mean is not None
    assert minimum is not None
    assert minimum <= mean + 1e-12


@given(REWARDS, st.floats(0.1, 10))
def test_the_total_does_not_change_when_all_weights_are_scaled(rewards: list[Reward], factor: float) -> None:
    scaled = [replace(reward, weight=reward.weight * factor) for reward in rewards]
    assert total(scaled, "mean") == pytest.approx(total(rewards, "mean"))


@given(REWARDS, st.integers(0, 5))
def test_one_failure_leaves_no_total(rewards: list[Reward], place: int) -> None:
    rewards.insert(place, Reward("broken", None, error="it broke"))
    assert total(rewards, "mean") is None
    assert total(rewards, "minimum") is None


def test_grading_a_simple_rubric_is_cheap() -> None:
    world, trajectory = finished(*REFUND), episode("12.50")

    async def many() -> None:
        for _ in range(200):
            await grade(trajectory, RUBRIC, rubric(), world)

    asyncio.run(many())
    begun = time.process_time()
    asyncio.run(many())
    assert (time.process_time() - begun) / 200 < 0.001
