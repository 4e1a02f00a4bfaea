"""Models in whole rollouts: the chat policy, the language world model and the judge, each behind the fake server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from simtrain import load_scenario, rollout, run
from simtrain.agents.select import build_agent
from simtrain.contracts.agent import Agent
from simtrain.contracts.trajectory import Trajectory
from simtrain.llm.tool_names import wire_names
from simtrain.testing import Disconnect, FakeOpenAI, Refuse, Reply, Say, Tool, by_turn
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, encode

pytestmark = pytest.mark.slow

FAMILY = "helpdesk/refund"

SCENARIO = """\
name: told
world: helpdesk
prompt: Look up the customer C0001 and tell me the name.
tools: ["customers.*", "billing.*"]
world_models:
  - {{tools: "customers.*", use: embedded}}
  - {{tools: "*", use: chat, with: {{model: fake, base_url: "{url}", backoff: 0}}}}
rubric:
  - use: judge
    with: {{model: fake, base_url: "{url}", backoff: 0, criteria: Is the name told?, scale: [0, 1]}}
"""


@pytest.fixture(scope="module")
def oracle() -> Trajectory:
    return asyncio.run(rollout(load_scenario(FAMILY), "oracle"))


def native(trajectory: Trajectory) -> list[Reply]:
    """The replies of a model that does what was done in a trajectory."""
    names = wire_names(tool.name for tool in trajectory.tools)
    said: list[Reply] = [
        Say(calls=[Tool(names[step.action.tool], step.action.arguments) for step in turn.steps])
        for turn in trajectory.turns
        if turn.steps
    ]
    return [*said, Say(f"That was it.\nANSWER: {trajectory.answer}")]


def written(trajectory: Trajectory) -> list[Reply]:
    """The same in the text protocol."""
    calls = ({"name": step.action.tool, "arguments": step.action.arguments} for step in trajectory.steps)
    said: list[Reply] = [Say(f"```tool_call\n{encode(call)}\n```") for call in calls]
    return [*said, Say(f"ANSWER: {trajectory.answer}")]


def chat(server: FakeOpenAI, **knobs: object) -> Agent:
    return build_agent("chat:fake", {"base_url": server.url, "backoff": 0, **knobs})


@pytest.mark.parametrize(("protocol", "replies"), [("native", native), ("text", written)])
def test_a_model_that_does_the_right_thing_earns_the_whole_reward(protocol, replies, oracle: Trajectory) -> None:
    with FakeOpenAI(by_turn(replies(oracle))) as server:
        played = asyncio.run(rollout(load_scenario(FAMILY), chat(server, protocol=protocol, prompt_price=1.0)))
    assert (played.reward, played.answer, played.stop.reason) == (1.0, oracle.answer, "answered")
    assert [(step.action.tool, step.action.arguments) for step in played.steps] == [
        (step.action.tool, step.action.arguments) for step in oracle.steps
    ]
    assert played.changes == oracle.changes
    assert played.usage is not None and played.usage.tokens == 110 * len(played.turns)
    assert played.usage.cost == pytest.approx(100 * len(played.turns) / 1e6)
    assert played.agent["model"] == "fake"


def test_a_bad_line_to_the_model_costs_attempts_and_not_the_episode(oracle: Trajectory) -> None:
    good = iter(native(oracle))
    trouble: list[Reply] = [Refuse(429), Disconnect(), Refuse(503)]
    with FakeOpenAI(lambda body: trouble.pop() if trouble else next(good)) as server:
        played = asyncio.run(rollout(load_scenario(FAMILY), chat(server)))
    assert played.reward == 1.0


def test_a_model_that_goes_away_is_nobody_s_fault() -> None:
    with FakeOpenAI([Refuse(500)] * 2) as server:
        played = asyncio.run(rollout(load_scenario(FAMILY), chat(server, attempts=2)))
    assert (played.stop.reason, played.stop.blame, played.reward) == ("failed", None, None)


def test_an_abstaining_model_is_recorded_as_such() -> None:
    with FakeOpenAI([Say("CANNOT: there is no second charge")]) as server:
        played = asyncio.run(rollout(load_scenario(FAMILY), chat(server)))
    assert (played.stop.reason, played.answer) == ("abstained", "there is no second charge")
    assert played.reward is not None and played.reward < 1


def test_a_wrong_model_is_said_before_anything_is_played(tmp_path: Path) -> None:
    with FakeOpenAI(models=["qwen3"]) as server, pytest.raises(InputError, match="did you mean 'qwen3'"):
        run([load_scenario(FAMILY)], chat(server).model_copy(update={"model": "qwen2"}), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def roles(agent_says: list[Reply], world_says: list[Reply], judge_says: list[Reply]):
    """One server for the three of them, told apart by how they are asked."""
    queues = {"agent": iter(agent_says), "world": iter(world_says), "judge": iter(judge_says)}

    def choose(body: JsonObject) -> Reply:
        system = body["messages"][0]["content"]
        role = "world" if "You are the environment" in system else "judge" if "You rate how" in system else "agent"
        return next(queues[role])

    return choose


CALLS = [
    Say(
        calls=[Tool("customers_get", {"customer_id": "C0001"}), Tool("billing_list_charges", {"customer_id": "C0001"})]
    ),
    Say("ANSWER: somebody"),
]
RATED = Say('{"ratings": [{"criterion": 1, "rating": 1, "reason": "it is"}]}')


def told(tmp_path: Path, world_says: list[Reply], judge_says: list[Reply]) -> Trajectory:
    with FakeOpenAI(roles(CALLS, world_says, judge_says)) as server:
        path = tmp_path / "told.yaml"
        path.write_text(SCENARIO.format(url=server.url))
        return asyncio.run(rollout(load_scenario(path), chat(server)))


def test_world_models_answer_side_by_side_and_every_step_says_who_answered(tmp_path: Path) -> None:
    played = told(tmp_path, [Say("Error: The billing service is closed today.")], [RATED])
    first, second = played.steps
    assert first.observation.provenance is not None and first.observation.provenance.source == "embedded"
    assert second.observation.provenance is not None
    assert (second.observation.provenance.source, second.observation.provenance.model) == ("chat", "fake")
    assert second.observation.provenance.usage is not None
    assert (second.observation.text, second.observation.is_error) == ("The billing service is closed today.", True)
    assert played.reward == 1.0


def test_a_world_model_that_says_nothing_of_use_is_the_simulator_s_fault(tmp_path: Path) -> None:
    played = told(tmp_path, [Say(""), Say("")], [RATED])
    assert (played.stop.reason, played.stop.blame, played.reward) == ("failed", "simulator", None)


def test_a_judge_that_cannot_be_read_is_a_recorded_failure_and_no_zero(tmp_path: Path) -> None:
    played = told(tmp_path, [Say("Error: closed")], [Say("great"), Say("great")])
    (reward,) = played.rewards
    assert (reward.value, played.reward) == (None, None)
    assert reward.error is not None and "no rating that can be read" in reward.error


def strict(script: Callable[[JsonObject], Reply]) -> Callable[[JsonObject], Reply]:
    """A server that reads the arguments in its history as JSON objects, and breaks down where they are none."""

    def choose(body: JsonObject) -> Reply:
        for message in body["messages"]:
            for call in message.get("tool_calls") or ():
                try:
                    assert isinstance(json.loads(call["function"]["arguments"]), dict)
                except (ValueError, AssertionError):
                    return Refuse(500, "Failed to parse tool call arguments as JSON")
        return script(body)

    return choose


@pytest.mark.parametrize("written", ['{"customer_id": "C00', "C0001", '["C0001"]'])
def test_malformed_arguments_lose_no_episode_and_the_mistake_is_the_agent_s(written: str, oracle: Trajectory) -> None:
    broken: Reply = Say(calls=[Tool("customers_get", written)])
    with FakeOpenAI(strict(by_turn([broken, *native(oracle)]))) as server:
        played = asyncio.run(rollout(load_scenario(FAMILY), chat(server, attempts=1)))
    first = played.steps[0]
    assert (first.action.malformed, first.observation.is_error) == (written, True)
    assert first.observation.text.endswith("not JSON" if written != '["C0001"]' else "not a JSON object")
    assert (played.reward, played.stop.reason) == (1.0, "answered")


@pytest.mark.parametrize(
    ("block", "says"),
    [
        ('{"name": "customers.get", "argu', "Invalid arguments for tool customers.get: the arguments are not JSON"),
        ('{"name": "customers.g', "Invalid tool call: not JSON with the name of a tool"),
        ('{"tool": "customers.get"}', "Invalid tool call: not a JSON object with the name of a tool"),
        ('{"name": "customers.get", "q": 1}', "the arguments are not a JSON object"),
        ('{"name": "customers.burn"}', "customers.burn"),
    ],
)
def test_a_block_that_was_cut_off_is_told_that_it_is_no_json(block: str, says: str) -> None:
    said = Say(f"```tool_call\n{block}", finish_reason="length")
    with FakeOpenAI(by_turn([said, Say("CANNOT: no")])) as server:
        played = asyncio.run(rollout(load_scenario(FAMILY), chat(server, protocol="text")))
    (step,) = played.steps
    assert step.observation.is_error and says in step.observation.text
    assert ("nknown" in step.observation.text or "not found" in step.observation.text) == ("burn" in block)
    assert played.turns[0].finish_reason == "length"


def test_an_answer_that_was_cut_off_is_graded_as_none(oracle: Trajectory) -> None:
    *calls, _ = native(oracle)
    cut = Say(f"ANSWER: {oracle.answer}", finish_reason="length")
    with FakeOpenAI(by_turn([*calls, cut])) as server:
        played = asyncio.run(rollout(load_scenario(FAMILY), chat(server)))
    assert (played.answer, played.stop.reason, played.stop.blame) == (None, "failed", "agent")
    assert played.reward is not None and played.reward < 1


@pytest.mark.parametrize("command", ["run", "show", "grade"])
def test_why_a_judge_gave_nothing_is_said_in_the_table(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from simtrain.cli import main

    def typed(*words: str) -> str:
        with pytest.raises(SystemExit) as ending:
            main([*words])
        assert ending.value.code in (0, None)
        return " ".join(capsys.readouterr().out.split())

    with FakeOpenAI(lambda _: Say("great")) as server:
        path, folder = tmp_path / "told.yaml", str(tmp_path / "run")
        written = SCENARIO.format(url=server.url).replace('  - {tools: "*", use: chat, with', "  #")
        path.write_text(written.replace('{tools: "customers.*", use: embedded}', "{use: embedded}"))
        said = typed("run", str(path), "--agent", "nop", "--out", folder)
        if command != "run":
            said = typed(command, folder)
    assert "told: 1 without a reward: 1 x judge: the judge fake gave no rating that can be read: it is not JSON" in said


def test_a_drill_says_why_a_judge_gave_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from simtrain.cli import main

    with FakeOpenAI(lambda _: Say("great")) as server:
        path = tmp_path / "told.yaml"
        written = SCENARIO.format(url=server.url).replace('  - {tools: "*", use: chat, with', "  #")
        path.write_text(written.replace('{tools: "customers.*", use: embedded}', "{use: embedded}"))
        words = [
            "drill",
            str(path),
            "--pack",
            "flaky_network",
            "-n",
            "1",
            "--agent",
            "nop",
            "--out",
            str(tmp_path / "run"),
        ]
        with pytest.raises(SystemExit):
            main([*words, "--allow-unfired"])
    said = " ".join(capsys.readouterr().out.split())
    assert "nop: told: 6 without a reward: 6 x judge: the judge fake gave no rating that can be read" in said


def test_a_drill_with_a_template_that_ignores_tools_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from simtrain.cli import main

    with FakeOpenAI(lambda _: Say("ANSWER: 1"), sees_tools=False) as server:
        words = [
            "drill",
            FAMILY,
            "--pack",
            "flaky_network",
            "-n",
            "1",
            "--agent",
            "chat:fake",
            "--with",
            f"base_url={server.url}",
        ]
        with pytest.raises(SystemExit) as ending:
            main([*words, "--out", str(tmp_path / "run")])
    assert ending.value.code == 2 and "does not show fake its tools" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
