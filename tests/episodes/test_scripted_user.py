"""The scripted user: says what it knows when asked, and nothing else; a question is a step like any other."""

from __future__ import annotations

from pathlib import Path

import bakery
import pytest

from simtrain import load_scenario, rollout
from simtrain.contracts.trajectory import to_line
from simtrain.contracts.user import ASK, ScriptedUser, UserFact, UserSpec
from simtrain.public import open_episode
from simtrain.values.errors import InputError
from simtrain.values.types import Action, Observation

KNOWS = 'user: {facts: [{about: [colour, "how many candles"], says: "Ten, and blue, on the {{ cake }}."}]}\n'
ALL_DOWN = "perturbations: [{use: outage}, {use: auth_expired}, {use: dropped_tool, with: {tools: [cakes.list]}}]\n"


def user(**knows: object) -> ScriptedUser:
    return ScriptedUser(
        UserSpec.model_validate(knows), {"cake": "Nut 3", "tin_size": 24, "secret": "R9"}, stated=["cake", "tin_size"]
    )


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        ("Which CAKE do you mean?", "Nut 3"),
        ("What is the tin_size?", "24"),
        ("What is the tin size, please?", "24"),
        ("How large is the tin?", "I don't know."),
        ("What is the secret?", "I don't know."),
        ("Pancakes or cakes?", "I don't know."),
        ("Where to: the door, or the gate?", "R9 Street."),
        ("Which door, for which cake?", "R9 Street. Nut 3"),
        ("", "I don't know."),
    ],
)  # fmt: skip
def test_a_user_says_what_a_question_mentions_and_nothing_else(question: str, reply: str) -> None:
    assert user(facts=[{"about": ["door", "gate"], "says": "{{ secret }} Street."}]).reply(question) == reply


def test_a_fact_is_said_once_and_phrases_count_as_a_whole() -> None:
    spec = UserSpec(facts=[UserFact(about=["how many", "number"], says="Two."), UserFact(about=["many"], says="Two.")])
    asked = ScriptedUser(spec, {}, stated=[])
    assert asked.reply("How many? What number?") == "Two."
    assert asked.reply("How are you?") == "I don't know."


async def ask(environment_question: str, folder: Path, more: str) -> Observation:
    async with open_episode(bakery.scenario(folder, more=more)) as environment:
        observation = await environment.step(Action("c1", ASK, {"question": environment_question}))
        assert environment.steps[0].observation == observation
        return observation


async def test_a_question_is_a_step_of_the_tool_ask(tmp_path: Path) -> None:
    observation = await ask("How many candles?", tmp_path, KNOWS)
    assert observation.text.startswith("Ten, and blue, on the ")
    assert not observation.is_error
    assert observation.provenance and observation.provenance.source == "user"


async def test_without_a_user_there_is_nobody_to_ask(tmp_path: Path) -> None:
    async with open_episode(bakery.scenario(tmp_path)) as environment:
        assert ASK not in [tool.name for tool in environment.tools]
        assert (await environment.step(Action("c1", ASK, {"question": "Who?"}))).is_error


async def test_arguments_of_a_question_are_checked(tmp_path: Path) -> None:
    async with open_episode(bakery.scenario(tmp_path, more=KNOWS)) as environment:
        assert (await environment.step(Action("c1", ASK, {}))).is_error
        assert (await environment.step(Action("c2", ASK, {"question": 7}))).is_error


async def test_faults_of_servers_do_not_meet_the_user(tmp_path: Path) -> None:
    async with open_episode(bakery.scenario(tmp_path, more=KNOWS + ALL_DOWN)) as environment:
        assert [tool.name for tool in environment.tools].count(ASK) == 1
        assert "refresh_session" not in [tool.name for tool in environment.tools]
        await environment.step(Action("c1", "cakes.get", {"name": "x"}))
        assert environment.steps[0].events
        observation = await environment.step(Action("c2", ASK, {"question": "Which colour?"}))
        assert not observation.is_error and environment.steps[1].events == ()


async def test_what_a_noisy_request_lacks_the_user_says_when_asked(tmp_path: Path) -> None:
    noisy = "user: {}\nperturbations: [{use: noisy_request, with: {needed: drop}}]\n"
    scenario = bakery.scenario(tmp_path, more=noisy)
    trajectory = await rollout(scenario, "resilient")
    cake = str(trajectory.case["cake"])
    assert cake not in trajectory.prompt and trajectory.bent
    assert (await ask("Which cake would you like?", tmp_path, noisy)).text == cake


async def test_a_fork_can_ask_too(tmp_path: Path) -> None:
    async with open_episode(bakery.scenario(tmp_path, more=KNOWS)) as environment, await environment.fork() as other:
        assert (await other.step(Action("c1", ASK, {"question": "colour?"}))).text.startswith("Ten")
        assert environment.steps == []


async def test_only_who_asks_credits_the_right_namesake() -> None:
    scenario = load_scenario("helpdesk/namesake_credit")
    asking = [await rollout(scenario, "oracle", case=case) for case in range(4)]
    guessing = [await rollout(scenario, "wrong", case=case) for case in range(4)]
    assert [trajectory.reward for trajectory in asking] == [1.0] * 4
    assert any(trajectory.reward == 0 for trajectory in guessing)
    assert all(trajectory.steps[0].action.tool == ASK for trajectory in asking)
    again = await rollout(scenario, "oracle")
    assert to_line(again).split(b'"timing"')[0] == to_line(asking[0]).split(b'"timing"')[0]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('user: {facts: [{about: [x], says: "{{ caek }}"}]}', "which no case has; did you mean 'cake'?"),
        ('user: {facts: [{about: [x], says: "{{ cake"}]}', "does not parse"),
        ("user: {facts: [{about: [], says: x}]}", "user.facts[0].about"),
        ("user: {knows: []}", "unknown key 'knows'"),
    ],
)
def test_a_mistake_in_the_user_is_named_with_its_line(more: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        bakery.scenario(tmp_path, more=more + "\n")
    assert said in str(refused.value)
    assert "birthday.yaml:" in str(refused.value)
