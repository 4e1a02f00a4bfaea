"""Rollouts: limits, what an agent is told, variants of the world, and how names of files are found."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakery import SCENARIO, WORLD, scenario, write_files

from simtrain import load_scenario, load_scenarios, open_episode, rollout, run
from simtrain.contracts.agent import Briefing, Loop, Player, Policy, StepFunction
from simtrain.contracts.journal import Journal
from simtrain.scenarios.briefing import brief
from simtrain.scenarios.load import paradigm_of
from simtrain.values.errors import InputError
from simtrain.values.types import Action, Message, Usage


class Endless(Policy):
    """Lists cakes for ever, some calls a turn."""

    calls: int = 1
    tokens: int = 0

    def player(self, briefing: Briefing) -> Player:
        return _EndlessPlayer(self.calls, self.tokens)


class _EndlessPlayer:
    def __init__(self, calls: int, tokens: int) -> None:
        self.calls, self.tokens, self.count = calls, tokens, 0

    async def think(self, journal: Journal) -> Message:
        self.count += self.calls
        calls = tuple(Action(f"c{self.count + index}", "cakes.list", {}) for index in range(self.calls))
        return Message(calls=calls, usage=Usage(prompt_tokens=self.tokens))


@pytest.mark.parametrize(
    ("limits", "agent", "reason", "steps"),
    [
        ("{turns: 4}", Endless(), "max_turns", 4),
        ("{calls: 5}", Endless(), "budget", 5),
        ("{calls: 5}", Endless(calls=3), "budget", 5),
        ("{tokens: 250}", Endless(tokens=100), "budget", 2),
        ("{wall: 0.000001}", Endless(), "wall_time", 1),
    ],
)
async def test_each_limit_ends_the_episode(
    limits: str, agent: Endless, reason: str, steps: int, tmp_path: Path
) -> None:
    trajectory = await rollout(scenario(tmp_path, more=f"limits: {limits}\n"), agent)
    assert (trajectory.stop.reason, len(trajectory.steps), trajectory.answer, trajectory.reward) == (
        reason,
        steps,
        None,
        0.0,
    )


async def test_parallel_calls_are_one_turn_carried_out_in_order(tmp_path: Path) -> None:
    trajectory = await rollout(scenario(tmp_path, more="limits: {turns: 2}\n"), Endless(calls=3))
    assert [[step.action.id for step in turn.steps] for turn in trajectory.turns] == [
        ["c3", "c4", "c5"],
        ["c6", "c7", "c8"],
    ]


class Stubborn(Loop):
    """Calls on although the episode is over."""

    async def run(self, briefing: Briefing, step: StepFunction) -> Message:
        while True:
            await step("cakes.list", {})


async def test_an_agent_with_its_own_loop_is_ended_by_the_limits_too(tmp_path: Path) -> None:
    trajectory = await rollout(scenario(tmp_path, more="limits: {calls: 7}\n"), Stubborn())
    assert (trajectory.stop.reason, len(trajectory.steps)) == ("budget", 7)


class Broken(Policy):
    """Breaks down."""

    def player(self, briefing: Briefing) -> Player:
        raise RuntimeError("out of flour")


async def test_an_exception_of_an_agent_is_its_failure(tmp_path: Path) -> None:
    trajectory = await rollout(scenario(tmp_path), Broken())
    assert (trajectory.stop.reason, trajectory.stop.blame, trajectory.stop.detail) == (
        "failed",
        "agent",
        "RuntimeError: out of flour",
    )
    assert trajectory.reward == 0.0


def test_a_briefing_holds_what_the_prompt_states_and_nothing_else_of_the_case(tmp_path: Path) -> None:
    write_files(tmp_path)
    file = tmp_path / "birthday.yaml"
    file.write_text(
        file.read_text().replace("select name as cake from", "select name as cake, id as hidden, price as secret from")
    )
    built = load_scenario(file)
    episode = next(iter(paradigm_of(built).episodes(built, seed=0, attempts=1)))
    briefing = brief(episode, open_episode(built))
    assert set(briefing.stated) == {"cake"}
    assert str(episode.case["hidden"]) not in briefing.prompt + briefing.system


def test_a_plan_that_hands_over_a_hidden_parameter_is_refused(tmp_path: Path) -> None:
    write_files(tmp_path)
    file = tmp_path / "birthday.yaml"
    file.write_text(
        file.read_text()
        .replace("select name as cake from", "select name as cake, id as hidden from")
        .replace('"{{ found.id }}", amount: 2}, as: order', '"{{ hidden }}", amount: 2}, as: order')
    )
    with pytest.raises(
        InputError, match="uses the case parameter 'hidden', which the prompt does not state"
    ) as refused:
        load_scenario(file)
    assert refused.value.line == 8 and refused.value.place == "reference.steps[1].with.cake_id"


def test_variants_of_the_world_multiply_the_cases(tmp_path: Path) -> None:
    built = scenario(tmp_path, more="vary: {seeds: [1, 2], rows: [{cakes: 20}, {cakes: 40}]}\n")
    episodes = list(paradigm_of(built).episodes(built, seed=0, attempts=2))
    assert len(episodes) == 12 * 4 * 2
    assert [episode.id for episode in episodes[:2]] == ["c0000v0", "c0001v0"]
    assert {episode.variant.seed for episode in episodes} == {1, 2}


async def test_every_variant_is_played_and_recorded(tmp_path: Path) -> None:
    built = scenario(tmp_path, more="vary: {seeds: [1, 2], rows: [{cakes: 20}, {cakes: 40}]}\n")
    trajectory = await rollout(built, "oracle", case=13)
    assert trajectory.reward == 1.0
    assert (trajectory.world.seed, trajectory.world.rows, trajectory.episode) == (1, {"cakes": 40}, "c0001v1")


def test_a_sample_depends_on_the_seed_alone(tmp_path: Path) -> None:
    built = scenario(tmp_path)
    first, again, other = (
        [dict(episode.case) for episode in paradigm_of(built).episodes(built, seed=seed, attempts=1)]
        for seed in (0, 0, 1)
    )
    assert first == again and first != other


def test_literal_cases_need_no_world(tmp_path: Path) -> None:
    write_files(tmp_path)
    file = tmp_path / "birthday.yaml"
    file.write_text(
        file.read_text().replace(
            'cases: {sql: "select name as cake from cakes where stock > 2", sample: 12}',
            "cases: [{cake: a}, {cake: b}]",
        )
    )
    built = load_scenario(file)
    assert [dict(episode.case) for episode in paradigm_of(built).episodes(built, seed=0, attempts=1)] == [
        {"cake": "a"},
        {"cake": "b"},
    ]


def test_the_digest_follows_what_is_said_and_not_how(tmp_path: Path) -> None:
    before = scenario(tmp_path).digest
    (tmp_path / "birthday.yaml").write_text("# a comment\n" + (tmp_path / "birthday.yaml").read_text())
    assert load_scenario(tmp_path / "birthday.yaml").digest == before
    assert scenario(tmp_path, more="limits: {turns: 9}\n").digest != before
    assert scenario(tmp_path, world_text=WORLD.replace("seed: 3", "seed: 4")).digest != before


def test_names_are_looked_up_in_the_working_folder_then_on_the_path_then_in_what_ships(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, path = tmp_path / "here", tmp_path / "path"
    for root, prompt in ((here, "HERE"), (path, "PATH")):
        (root / "scenarios/helpdesk").mkdir(parents=True)
        (root / "worlds").mkdir()
        (root / "worlds/bakery.yaml").write_text(WORLD)
        text = SCENARIO.format(world="bakery", more="").replace("Order two", f"{prompt}: order two")
        (root / "scenarios/helpdesk/refund.yaml").write_text(text)
        (root / f"scenarios/helpdesk/only_{prompt.lower()}.yaml").write_text(text)
    monkeypatch.chdir(here)
    monkeypatch.setenv("SIMTRAIN_PATH", str(path))
    assert load_scenario("helpdesk/refund").spec.prompt.startswith("HERE")
    assert load_scenario("helpdesk/only_path").spec.prompt.startswith("PATH")
    suite = [built.name for built in load_scenarios("helpdesk")]
    assert {"helpdesk/only_here", "helpdesk/only_path", "helpdesk/refund_not_due"} <= set(suite) and len(suite) == len(
        set(suite)
    )


def test_the_public_face_plays_and_grades(tmp_path: Path) -> None:
    result = run([scenario(tmp_path)], "oracle", out=tmp_path / "out", episodes=30, concurrency=4)
    assert result.summary["total"]["success"] == 1.0 and result.played == 30
