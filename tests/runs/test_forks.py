"""Forks: a recorded episode is restored to a step, and goes on from there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from bakery import scenario, write_files
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool
from langgraph.graph import START, MessagesState, StateGraph

from simtrain import as_agent, grade, rollout
from simtrain.agents.select import build_agent
from simtrain.cli import main
from simtrain.contracts.agent import Agent, Briefing, Loop, Player, Policy, StepFunction
from simtrain.contracts.journal import Journal
from simtrain.contracts.trajectory import Trajectory, to_line
from simtrain.public import episode
from simtrain.runs.forks import ForkOptions, forked
from simtrain.runs.run_folder import read_run
from simtrain.testing import FakeOpenAI, Say, Tool
from simtrain.values.errors import InputError
from simtrain.values.types import Action, JsonObject, Message

pytestmark = pytest.mark.slow

FAULTS = """\
perturbations:
  - {use: transient_error, when: {tools: "*", probability: 0.6, max_times: 4}}
  - {use: latency, when: {tools: "*", probability: 0.5}}
"""


def plain(trajectory: Trajectory) -> JsonObject:
    """What must not change where an episode goes on as it did."""
    line = json.loads(to_line(trajectory))
    return {key: line[key] for key in line if key not in ("timing", "forks", "attempt")}


async def go_on(one: Trajectory, folder: Path, options: ForkOptions, agent: Agent | str, more: str = "") -> Trajectory:
    """The trajectory of the first branch."""
    episodes = forked(episode(scenario(folder, more=more), seed=one.seed), one, options)
    player = build_agent(agent) if isinstance(agent, str) else agent
    return await rollout(episodes[0], player)


@pytest.mark.parametrize("more", ["", FAULTS])
async def test_who_goes_on_as_before_gets_the_same_trajectory_from_every_step(more: str, tmp_path: Path) -> None:
    made = scenario(tmp_path, more=more)
    for seed in range(4):
        one = await rollout(made, "resilient", seed=seed)
        one = replace(one, agent={"name": "Resilient"})
        for step in range(len(one.steps) + 1):
            again = await go_on(one, tmp_path, ForkOptions((step,)), "resilient", more)
            assert plain(again) == plain(one)
            assert [(fork.step, fork.agent) for fork in again.forks] == [(step, "Resilient")]


async def test_the_rest_of_a_turn_is_carried_out_before_another_agent_plays(tmp_path: Path) -> None:
    calls = [Tool("cakes_list", {}, id="a"), Tool("orders_place", {"cake_id": "K001", "amount": 1}, id="b")]
    with FakeOpenAI([Say("Both.", calls=calls), Say("ANSWER: O1")]) as server:
        one = await rollout(scenario(tmp_path), build_agent("chat:fake", {"base_url": server.url}))
    other = await go_on(one, tmp_path, ForkOptions((1,)), "claims_done")
    assert [[step.action.id for step in turn.steps] for turn in other.turns] == [["a", "b"], []]
    assert other.changes == one.changes != {}


async def test_a_chat_model_is_sent_the_messages_that_were_sent_before(tmp_path: Path) -> None:
    spaced = '{"name":  "none such" }'
    script = [
        Say("First.", calls=[Tool("cakes_list", {}, id="a")]),
        Say("Then.", calls=[Tool("cakes_get", spaced, id="a"), Tool("nothing_such", "[1", id="c")]),
        Say("ANSWER: O1"),
    ]
    with FakeOpenAI(script) as server:
        one = await rollout(scenario(tmp_path), build_agent("chat:fake", {"base_url": server.url}))
        sent = [request.body["messages"] for request in server.requests]
    for step, turn in ((1, 1), (3, 2)):
        with FakeOpenAI([Say("ANSWER: other")]) as server:
            other = await go_on(one, tmp_path, ForkOptions((step,)), build_agent("chat:fake", {"base_url": server.url}))
            assert [request.body["messages"] for request in server.requests] == [sent[turn]]
        assert other.answer == "other"


async def test_a_graph_goes_on_from_the_messages_so_far(tmp_path: Path) -> None:
    seen: list[Sequence[BaseMessage]] = []

    async def model(state: MessagesState) -> dict[str, list[BaseMessage]]:
        seen.append(state["messages"])
        return {"messages": [AIMessage("ANSWER: O1")]}

    def graph(tools: list[BaseTool]) -> Any:
        assert all(tool.description for tool in tools)
        built: Any = StateGraph(MessagesState)
        return built.add_node("model", model).add_edge(START, "model").compile()

    one = await rollout(scenario(tmp_path), "resilient")
    other = await go_on(one, tmp_path, ForkOptions((2,)), as_agent(graph))
    assert [message.type for message in seen[0]] == ["system", "human", "ai", "tool", "ai", "tool"]
    assert [message.content for message in seen[0][2:]] == [
        text for turn in one.turns[:2] for text in (turn.text, turn.steps[0].observation.text)
    ]
    assert other.turns[:2] == one.turns[:2]


class Lister(Policy):
    """Lists cakes ten times; decides by the number of turns alone."""

    continues: ClassVar[bool] = True

    def player(self, briefing: Briefing) -> Player:
        return _Lister()


class _Lister:
    async def think(self, journal: Journal) -> Message:
        number = len(journal.turns)
        return Message(calls=(Action(f"c{number}", "cakes.list", {}),)) if number < 10 else Message("ANSWER: done")


def fired(trajectory: Trajectory) -> dict[str, list[int]]:
    """The steps at which each label fired."""
    found: dict[str, list[int]] = {}
    for step in trajectory.steps:
        for event in step.events:
            found.setdefault(event.label, []).append(step.index)
    return found


def write_pack(folder: Path, name: str, perturbation: str) -> str:
    """A pack of one perturbation; its file."""
    file = folder / f"{name}.yaml"
    file.write_text(f"name: {name}\nperturbations: [{perturbation}]\n")
    return str(file)


async def test_a_pack_armed_on_the_way_counts_from_there_and_the_others_go_on_counting(tmp_path: Path) -> None:
    more = 'perturbations: [{use: transient_error, as: own, when: {tools: "*", nth: [2, 7]}}]\n'
    one = await rollout(scenario(tmp_path, more=more), Lister())
    assert fired(one) == {"own": [1, 6]}
    pack = write_pack(tmp_path, "late", '{use: transient_error, as: late, when: {tools: "*", nth: [1, 5]}}')
    other = await go_on(one, tmp_path, ForkOptions((4,), packs=(pack,)), Lister(), more)
    assert fired(other) == {"own": [1, 6], "late": [4, 8]}
    assert other.perturbations == ("own", "late") and other.forks[0].armed == ("late",)
    assert other.scenario_digest != one.scenario_digest and other.solvability == "unproved"
    again = await go_on(other, tmp_path, ForkOptions((6,)), Lister(), more)
    assert fired(again) == fired(other) and [fork.step for fork in again.forks] == [4, 6]
    back = await go_on(other, tmp_path, ForkOptions((3,)), Lister(), more)
    assert fired(back) == fired(one) and plain(replace(back, stop=one.stop)) == plain(one)


async def test_another_seed_draws_from_the_step_on_and_leaves_what_was_before(tmp_path: Path) -> None:
    more = 'perturbations: [{use: transient_error, as: own, when: {tools: "*", probability: 0.5}}]\n'
    one = await rollout(scenario(tmp_path, more=more), Lister())
    options = ForkOptions((5,), branches=6, seed=1)
    dealt = forked(episode(scenario(tmp_path, more=more)), one, options)
    others = [await rollout(branch, Lister()) for branch in dealt]
    again = [await rollout(branch, Lister()) for branch in dealt]
    assert [plain(one) for one in others] == [plain(one) for one in again]
    faults = [fired(other)["own"] for other in others]
    assert len({tuple(fault) for fault in faults}) > 1
    assert all(
        [step for step in fault if step < 5] == [step for step in fired(one)["own"] if step < 5] for fault in faults
    )
    assert len({other.forks[0].seed for other in others}) == 6 and [other.attempt for other in others] == [*range(6)]
    kept = replace(options, same_faults=True)
    for branch in forked(episode(scenario(tmp_path, more=more)), one, kept):
        assert fired(await rollout(branch, Lister())) == fired(one)


class Own(Loop):
    """Brings its own loop."""

    async def run(self, briefing: Briefing, step: StepFunction) -> Message:
        return Message("ANSWER: none")


def test_what_cannot_go_on_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_files(tmp_path)
    run, out = str(tmp_path / "run"), str(tmp_path / "fork")
    write_pack(tmp_path, "far", "{use: outage, when: {tools: far.away}}")
    command(["run", str(file), "-n", "1", "--out", run])
    for options, problem in (
        (["--at", "9"], "has no step 9"),
        (["--at", "1", "--agent", f"{__name__}:Own"], "plays from the first call on"),
        (["--at", "1", "--pack", "crowded_toolbox"], "changes the task or the tools"),
        (["--at", "1", "--pack", str(tmp_path / "far.yaml")], "matches a tool"),
        (["--at", "1", "--agent", "mcp:true"], "plays from the first call on"),
    ):
        capsys.readouterr()
        assert command(["fork", run, "c0000", *options, "--out", out]) == 2
        said = capsys.readouterr().err
        assert problem in said and said.count("\n") == 1, said
        assert not Path(out).exists()


def command(arguments: list[str]) -> int | str | None:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


async def test_a_record_that_the_world_does_not_bear_out_is_refused(tmp_path: Path) -> None:
    one = await rollout(scenario(tmp_path), "resilient")
    steps = one.turns[1].steps
    steps[0] = replace(steps[0], observation=replace(steps[0].observation, text="{}"))
    with pytest.raises(InputError, match=r"step 1 \(.*\), played again, is not what was recorded: another observation"):
        await go_on(one, tmp_path, ForkOptions((3,)), "resilient")


async def test_what_a_chat_model_answered_cannot_be_had_again(tmp_path: Path) -> None:
    more = """world_models: [{tools: cakes.get, use: embedded}, {use: chat, as: model, with: {model: m}}]
"""
    one = await rollout(scenario(tmp_path), "resilient")
    made = episode(scenario(tmp_path, more=more))
    assert len(forked(made, one, ForkOptions((0, 1)))) == 2
    with pytest.raises(
        InputError, match=r"step 1 .*'model', which may answer differently the next time; fork at step 1 or"
    ):
        forked(made, one, ForkOptions((2,)))


def test_a_fork_is_kept_in_a_run_folder_that_is_graded_replayed_and_resumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_files(tmp_path, more=FAULTS)
    run, out = tmp_path / "run", tmp_path / "fork"
    assert command(["run", str(file), "-n", "2", "--out", str(run)]) in (0, None)
    pack = write_pack(tmp_path, "late", '{use: prompt_injection, as: late, when: {tools: "*", probability: 0.5}}')
    asked = ["fork", str(run), "c0001", "--at", "1", "--at", "2", "-k", "3", "--pack", pack, "--out", str(out)]
    assert command([*asked, "--show"]) in (0, None)
    lines = {part.name: part.read_bytes() for part in out.glob("trajectories-*")}
    trajectories = list(read_run(out))
    assert sorted(one.attempt for one in trajectories) == [*range(6)]
    facts = json.loads((out / "run.json").read_text())["forks"]
    assert (facts["run"], facts["episode"], facts["at"], facts["branches"]) == (str(run), "c0001", [1, 2], 3)
    assert all("attack" in {reward.grader for reward in one.rewards} for one in trajectories)
    grade(out)
    assert {part.name: part.read_bytes() for part in out.glob("trajectories-*")} == lines
    capsys.readouterr()
    for attempt in range(6):
        assert command(["replay", str(out), "c0001", "--attempt", str(attempt)]) in (0, None)
        assert "As in the run, to the byte." in capsys.readouterr().out
    assert command([*asked, "--resume", "--json"]) in (0, None)
    assert json.loads(capsys.readouterr().out)["skipped"] == 6
    asked[4] = "0"
    assert command([*asked, "--resume"]) == 2
    assert "forked from another step" in capsys.readouterr().err
