"""Training rows from drills: recoveries with weights, contrastive pairs, hard negatives, from episodes that were really played."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import bakery
import pytest
from openai.types.chat import ChatCompletionMessageParam
from pydantic import TypeAdapter

from simtrain import rollout
from simtrain.agents.select import build_agent
from simtrain.cli import main
from simtrain.contracts.scenario import Scenario
from simtrain.contracts.trajectory import Trajectory
from simtrain.public import export, run
from simtrain.runs.export import build_exporter
from simtrain.runs.exporters.phases import labelled
from simtrain.runs.run_folder import read_run
from simtrain.values.types import JsonObject

pytestmark = pytest.mark.slow

UNCHECKED = build_agent("resilient", {"checks": 0})
"""Parts from a careless agent at the fault, since it asks nothing out of caution."""
LOST = "perturbations: [{use: timeout_before, when: {tools: orders.place, nth: 1}}]\n"
DOWN = "perturbations: [{use: transient_error, with: {times: 2}, when: {tools: cakes.get, nth: [1, 2]}}]\n"
CLOSED = "perturbations: [{use: outage, with: {standby: false}, when: {tools: orders.list, nth: 1}}]\n"
CROWDED = "perturbations: [{use: distractor_tools}]\n"
SLOW = "perturbations: [{use: latency, with: {seconds: 30}}]\n"
UNTRUE = "perturbations: [{use: false_success, when: {tools: orders.place, nth: 1}}]\n"
REFUSED = "perturbations: [{use: impossible_task}]\n"


def rows_of(name: str, trajectories: list[Trajectory], **knobs: object) -> list[JsonObject]:
    return json.loads(json.dumps(list(build_exporter(name, knobs).over(trajectories))))


def phases(trajectory: Trajectory) -> list[str]:
    return [item.phase for item in labelled(trajectory)]


@pytest.fixture
def lost(tmp_path: Path) -> Scenario:
    """The first order never arrives; who looks finds that out."""
    return bakery.scenario(tmp_path, more=LOST)


async def test_a_recovery_is_labelled_fault_diagnosis_recovery(lost: Scenario) -> None:
    trajectory = await rollout(lost, UNCHECKED)
    assert trajectory.reward == 1
    assert phases(trajectory) == ["before", "fault", "diagnosis", "diagnosis", "recovery", "after", "after"]


async def test_a_retry_cycle_is_kept_and_labelled(tmp_path: Path) -> None:
    trajectory = await rollout(bakery.scenario(tmp_path, more=DOWN), UNCHECKED)
    assert phases(trajectory)[:3] == ["fault", "retry", "recovery"]
    (row,) = rows_of("recovery", [trajectory])
    assert [message["content"] for message in row["messages"] if message["role"] == "tool"] == [
        step.observation.text for step in trajectory.steps
    ]


async def test_a_switch_to_another_tool_closes_a_fault_and_so_does_the_last_word(lost: Scenario) -> None:
    trajectory = await rollout(lost, UNCHECKED)
    fault, look = trajectory.turns[1], trajectory.turns[2]
    assert look.steps[0].action.tool != fault.steps[0].action.tool
    switched = replace(trajectory, turns=[*trajectory.turns[:3], trajectory.turns[-1]])
    assert phases(switched) == ["before", "fault", "recovery", "after"]
    ended = replace(trajectory, turns=[*trajectory.turns[:2], trajectory.turns[-1]])
    assert phases(ended) == ["before", "fault", "recovery"]


async def test_who_did_not_recover_has_no_recovery(lost: Scenario) -> None:
    trajectory = await failing(lost)
    assert phases(trajectory) == ["before", "fault", "diagnosis", "after"]
    assert [item.mistake for item in labelled(trajectory)] == [False, False, False, True]


async def test_turns_before_the_fault_and_mistakes_weigh_nothing_unless_asked(lost: Scenario) -> None:
    trajectory = await rollout(lost, UNCHECKED)
    (row,) = rows_of("recovery", [trajectory])
    assert [mark["weight"] for mark in row["turns"]] == [0, 0, 1, 1, 1, 0, 0]
    (row,) = rows_of("recovery", [trajectory], after=0.25)
    assert [mark["weight"] for mark in row["turns"]] == [0, 0, 1, 1, 1, 0.25, 0.25]
    (row,) = rows_of("recovery", [trajectory], before=0.5)
    assert [mark["weight"] for mark in row["turns"]] == [0.5, 0.5, 1, 1, 1, 0, 0]
    assert [row["messages"][mark["message"]]["weight"] for mark in row["turns"]] == [0.5, 0.5, 1, 1, 1, 0, 0]


async def test_a_call_that_no_tool_can_carry_out_is_a_mistake_and_a_retry_is_none(lost: Scenario) -> None:
    trajectory = await rollout(lost, UNCHECKED)
    first = trajectory.turns[0]
    assert not any(item.mistake for item in labelled(trajectory))
    step = first.steps[0]
    proxy = replace(step.observation, is_error=True, provenance=replace(step.observation.provenance, source="proxy"))
    bad = replace(first, steps=[replace(step, observation=proxy)])
    assert [item.mistake for item in labelled(replace(trajectory, turns=[bad, *trajectory.turns]))][:2] == [True, False]


async def test_what_a_model_reads_holds_no_label_and_passes_the_types_of_openai(lost: Scenario) -> None:
    (row,) = rows_of("recovery", [await rollout(lost, UNCHECKED)], labels=True)
    assert row["turns"][1]["events"] == [{"label": "timeout_before", "use": "timeout_before", "layer": "P"}]
    assert "timeout_before" not in json.dumps(row["messages"]) + json.dumps(row["tools"])
    TypeAdapter(list[ChatCompletionMessageParam]).validate_python(row["messages"])
    (row,) = rows_of("recovery", [await rollout(lost, UNCHECKED)])
    assert "timeout_before" not in json.dumps(row)


async def test_no_row_where_nothing_went_wrong_or_nobody_recovered(tmp_path: Path, lost: Scenario) -> None:
    clean = await rollout(bakery.scenario(tmp_path), UNCHECKED)
    failed = replace(await rollout(lost, UNCHECKED), reward=0.0)
    assert rows_of("recovery", [clean, failed]) == []
    (row,) = rows_of("recovery", [clean, failed], outcome="all")
    assert row["turns"][-1]["mistake"]


async def test_good_and_bad_recovery_of_one_episode_are_a_pair_from_where_they_part(lost: Scenario) -> None:
    good, bad = await rollout(lost, UNCHECKED), await failing(lost)
    (row,) = rows_of("preference", [bad, good])
    assert row["kind"] == "recovery"
    assert row["rewards"] == {"chosen": 1.0, "rejected": bad.reward}
    # Both placed the order and read of the timeout: that is shared, and what they did then is not.
    assert [message["role"] for message in row["prompt"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
    ]
    assert "504" in row["prompt"][-1]["content"]
    assert row["chosen"][0] != row["rejected"][0]
    assert row["chosen"][-1]["content"] == good.turns[-1].text
    for part in ("prompt", "chosen", "rejected"):
        TypeAdapter(list[ChatCompletionMessageParam]).validate_python(row[part])


async def test_a_step_pair_holds_one_message_on_each_side(lost: Scenario) -> None:
    (row,) = rows_of("preference", [await rollout(lost, UNCHECKED), await failing(lost)], kinds=["step"])
    assert len(row["chosen"]) == len(row["rejected"]) == 1
    assert row["chosen"][0]["role"] == "assistant"


async def test_a_step_pair_needs_a_fault_that_both_have_met(tmp_path: Path) -> None:
    scenario = bakery.scenario(tmp_path, more=LOST)
    good, bad = await rollout(scenario, UNCHECKED), await failing(scenario)
    (first,) = bad.turns[0].steps
    otherwise = replace(first, action=replace(first.action, arguments={"name": "another cake"}))
    apart = replace(bad, turns=[replace(bad.turns[0], steps=[otherwise]), *bad.turns[1:]])
    assert rows_of("preference", [good, apart], kinds=["step"]) == []
    assert len(rows_of("preference", [good, apart], kinds=["recovery"])) == 1


async def test_the_clean_and_the_perturbed_twin_of_a_case_are_a_pair(tmp_path: Path, lost: Scenario) -> None:
    clean = await rollout(bakery.scenario(tmp_path), UNCHECKED)
    other = await rollout(bakery.scenario(tmp_path), UNCHECKED, case=1)
    bad = await failing(lost)
    (row,) = rows_of("preference", [bad, clean, other], kinds=["twin"])
    assert row["prompt"][-1] == {"role": "user", "content": clean.prompt}
    assert row["chosen"][-1]["content"] == clean.turns[-1].text
    assert row["rejected"][-1]["content"] == bad.turns[-1].text
    assert rows_of("preference", [bad, other], kinds=["twin"]) == []


async def test_pairs_do_not_depend_on_the_order_of_the_files_and_want_a_margin(lost: Scenario) -> None:
    good, bad = await rollout(lost, UNCHECKED), await failing(lost)
    later = replace(good, attempt=1)
    assert rows_of("preference", [good, later, bad]) == rows_of("preference", [bad, later, good])
    assert rows_of("preference", [good, replace(bad, reward=0.9)]) == []
    assert rows_of("preference", [replace(good, reward=None), bad]) == []


async def test_arguments_may_be_objects_as_chat_templates_read_them(lost: Scenario) -> None:
    (row,) = rows_of("preference", [await rollout(lost, UNCHECKED), await failing(lost)], arguments="object")
    calls = [call for message in row["prompt"] for call in message.get("tool_calls", [])]
    assert calls and all(isinstance(call["function"]["arguments"], dict) for call in calls)


async def test_a_hard_negative_claims_success_under_a_fault_and_fails(tmp_path: Path, lost: Scenario) -> None:
    bad, good = await failing(lost), await rollout(lost, UNCHECKED)
    clean_failure = replace(await rollout(bakery.scenario(tmp_path), UNCHECKED), reward=0.0)
    (row,) = rows_of("hard_negatives", [bad, good, clean_failure])
    assert (row["label"], row["why"], row["reward"]) == (False, "claimed", bad.reward)
    assert row["completion"][-1]["content"] == bad.turns[-1].text
    assert 0 <= row["passed"] < 1
    labels = [row["label"] for row in rows_of("hard_negatives", [bad, good, clean_failure], positives=True)]
    assert labels == [False, True]


async def test_declining_what_cannot_be_done_is_neither_a_negative_nor_the_rejected_one(tmp_path: Path) -> None:
    scenario = bakery.scenario(tmp_path, more=REFUSED)
    honest, claimed = await rollout(scenario, UNCHECKED), await rollout(scenario, "naive")
    assert (honest.stop.reason, honest.solvability, honest.reward) == ("abstained", "unsolvable", 1)
    assert [row["why"] for row in rows_of("hard_negatives", [honest, claimed])] == ["claimed"]
    assert [row["label"] for row in rows_of("hard_negatives", [honest, claimed], positives=True)] == [True, False]
    (pair,) = rows_of("preference", [honest, claimed])
    assert (pair["rewards"]["chosen"], pair["rewards"]["rejected"]) == (1, 0)
    assert honest.answer is not None and honest.answer in pair["chosen"][-1]["content"]
    (row,) = rows_of("recovery", [honest, claimed])
    assert not any(mark["mistake"] for mark in row["turns"])
    unknown = replace(honest, solvability="unproved", reward=0.0)
    better = replace(claimed, reward=1.0)
    assert rows_of("hard_negatives", [unknown]) == [] and rows_of("preference", [unknown, better]) == []
    (row,) = rows_of("recovery", [unknown], outcome="all")
    assert not any(mark["mistake"] for mark in row["turns"])


async def test_what_nobody_could_notice_gives_no_row_and_a_silent_loss_counts_from_the_read_that_shows_it(
    tmp_path: Path,
) -> None:
    silent = await rollout(bakery.scenario(tmp_path, more=SLOW), UNCHECKED)
    assert any(step.events for step in silent.steps) and silent.noticeable is None
    assert rows_of("recovery", [silent]) == []
    crowded = await rollout(bakery.scenario(tmp_path, more=CROWDED), UNCHECKED)
    assert crowded.noticeable == -1 and len(rows_of("recovery", [crowded], after=1)) == 1
    # There was nothing to recover from: no turn would be trained on.
    assert rows_of("recovery", [crowded]) == [] and len(rows_of("recovery", [crowded], outcome="all")) == 1
    lost = await rollout(bakery.scenario(tmp_path, more=UNTRUE), build_agent("resilient", {"checks": 2}))
    met = next(step.index for step in lost.steps if step.events)
    assert lost.noticeable is not None and lost.noticeable >= met


async def test_giving_up_is_a_hard_negative_only_where_it_is_wrong(tmp_path: Path) -> None:
    scenario = bakery.scenario(tmp_path, more=CLOSED)
    gave_up = replace(await rollout(scenario, UNCHECKED), reward=0.5)
    assert gave_up.stop.reason == "abstained"
    (row,) = rows_of("hard_negatives", [gave_up])
    assert row["why"] == "gave_up"
    assert rows_of("hard_negatives", [replace(gave_up, reward=1.0)]) == []
    assert rows_of("hard_negatives", [gave_up], why=["claimed"]) == []


def test_several_runs_of_one_scenario_give_pairs_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = bakery.scenario(tmp_path, more=LOST)
    monkeypatch.chdir(tmp_path)
    for agent in ("resilient", "naive"):
        run([scenario], agent, out=tmp_path / agent, episodes=4)
    with pytest.raises(SystemExit) as ended:
        main(["export", "resilient", "naive", "-f", "preference", "-o", "pairs.jsonl", "--json"])
    assert not ended.value.code
    told = json.loads(capsys.readouterr().out)
    assert told["runs"] == ["resilient", "naive"]
    assert told["read"] == 8
    rewards = {t.episode: t.reward for t in read_run(tmp_path / "naive")}
    worse = sum(reward is not None and reward < 1 for reward in rewards.values())
    assert worse and told["rows"] == worse == len((tmp_path / "pairs.jsonl").read_text().splitlines())


@pytest.mark.parametrize("name", ["recovery", "preference", "hard_negatives"])
def test_what_is_written_is_the_same_from_any_number_of_workers(name: str, tmp_path: Path) -> None:
    scenario = bakery.scenario(tmp_path, more=LOST)
    written = [_exported(scenario, name, tmp_path / str(count), concurrency=count) for count in (1, 8)]
    assert written[0] == written[1]


def _exported(scenario: Scenario, name: str, folder: Path, *, concurrency: int) -> set[bytes]:
    for agent in ("resilient", "naive"):
        run([scenario], agent, out=folder / agent, concurrency=concurrency)
    both = [*read_run(folder / "resilient"), *read_run(folder / "naive")]
    export(both, name, out=folder / "rows.jsonl")
    lines = set((folder / "rows.jsonl").read_bytes().splitlines())
    assert lines
    return lines


async def failing(scenario: Scenario) -> Trajectory:
    """The naive agent, which does not look whether its order was placed."""
    trajectory = await rollout(scenario, "naive")
    assert trajectory.reward is not None and trajectory.reward < 1
    return trajectory


@pytest.mark.parametrize(
    ("name", "more", "agent", "why"),
    [
        ("recovery", "", "oracle", "12 in which the agent could notice no perturbation"),
        ("recovery", LOST, "claims_done", "12 in which the agent could notice no perturbation"),
        ("recovery", CROWDED, "claims_done", "12 without full reward"),
        ("recovery", CROWDED, "oracle", "12 in which no turn has a weight"),
        (
            "hard_negatives",
            REFUSED,
            "abstain",
            "12 in which the agent could notice no perturbation",
        ),
        ("steps", "", "claims_done", "12 without a call"),
        ("preference", "", "oracle", "12 without another end of the case that is better or worse by enough"),
    ],
)
def test_an_export_without_rows_says_why(
    name: str, more: str, agent: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run([bakery.scenario(tmp_path, more=more)], agent, out=tmp_path / "run")
    with pytest.raises(SystemExit) as ended:
        main(["export", str(tmp_path / "run"), "--format", name, "--out", str(tmp_path / "rows")])
    assert not ended.value.code
    assert f"no rows: 12 episodes: {why}" in capsys.readouterr().out
