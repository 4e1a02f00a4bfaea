"""What the resilient agent says: when calls go together, what a model may write for it, what becomes of errors in refusals."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import bakery
import pytest

from simtrain import load_scenario, rollout
from simtrain.agents.answers import read_answer
from simtrain.agents.plan import Walk, answering, declining
from simtrain.agents.resilient import Resilient
from simtrain.agents.select import build_agent
from simtrain.agents.wording.ending import EndingWords
from simtrain.contracts.agent import Briefing
from simtrain.contracts.plan import Plan
from simtrain.contracts.user import ASK
from simtrain.testing import FakeOpenAI, Say
from simtrain.values.types import JsonObject, Observation

pytestmark = pytest.mark.slow

READS = frozenset({"get", "list", "more"})


def turns(steps: list[JsonObject], replies: dict[str, JsonObject] | None = None) -> list[list[str]]:
    """The calls of each turn, as a walk wants them made."""
    plan = Plan.model_validate({"steps": steps, "answer": "done"})
    walking = Walk(plan, {"id": "A"}, together=READS.__contains__).run()
    made: list[list[str]] = []
    kept: set[bytes] = set()
    observation: Observation | None = None
    try:
        while True:
            planned = next(walking) if observation is None else walking.send(observation)
            if planned.key not in kept:
                made.append([call.tool for call in (planned, *planned.beside)])
                kept |= {call.key for call in planned.beside}
            observation = Observation(json.dumps((replies or {}).get(planned.tool, {"id": "B"})), json=True)
    except StopIteration:
        return made


GET: JsonObject = {"call": "get", "with": {"id": "{{ id }}"}, "as": "one"}


def test_reads_that_need_nothing_of_each_other_go_in_one_turn() -> None:
    assert turns([GET, {"call": "list"}, {"call": "more", "with": {"id": 3}}]) == [["get", "list", "more"]]


def test_a_read_that_needs_a_reply_waits_for_it() -> None:
    assert turns([GET, {"call": "more", "with": {"id": "{{ one.id }}"}}, {"call": "list"}]) == [
        ["get", "list"],
        ["more"],
    ]


def test_a_name_made_of_a_reply_is_waited_for_too() -> None:
    after: list[JsonObject] = [{"set": {"other": "{{ one.id }}"}}, {"call": "more", "with": {"id": "{{ other }}"}}]
    assert turns([GET, *after]) == [["get"], ["more"]]


def test_reads_after_a_write_stay_after_it() -> None:
    assert turns([GET, {"call": "put"}, {"call": "list"}]) == [["get"], ["put"], ["list"]]


def test_nothing_goes_before_what_may_be_a_write_or_an_end() -> None:
    assert turns([GET, {"call": "put", "if": "one.id == 'C'"}, {"call": "list"}]) == [["get"], ["list"]]
    assert turns([GET, {"abstain": "no", "if": "one.id == 'C'"}, {"call": "list"}]) == [["get"], ["list"]]


def test_a_loop_whose_items_are_known_is_one_turn() -> None:
    body: list[JsonObject] = [
        {"call": "more", "with": {"id": "{{ item }}"}, "as": "it"},
        {"set": {"sum": "{{ it.id }}"}},
    ]
    assert turns([{"for": "item", "in": "[1, 2, 3]", "do": body}]) == [["more", "more", "more"]]


def test_a_read_is_not_made_twice_while_nothing_is_written() -> None:
    assert turns([GET, {"call": "list"}, GET]) == [["get", "list"]]
    assert turns([GET, {"call": "put"}, GET]) == [["get"], ["put"], ["get"]]


def briefed(prompt: str, seed: int) -> Briefing:
    return Briefing("", prompt, (), {}, seed)


@pytest.mark.parametrize(
    ("reason", "kept", "gone"),
    [
        ('{"error": {"code": "locked", "message": "The page is locked."}}', "The page is locked.", "code"),
        ('PR-1 is held up by ["PR-2","PR-3"] and [].', "PR-2 and PR-3", "["),
        ("'found.customers[0]' has no value: there is no 0", "do not tell me", "found"),
    ],
)
def test_a_refusal_is_made_of_sentences(reason: str, kept: str, gone: str) -> None:
    said = {EndingWords(briefed("Do it.", seed)).of(declining(reason)).text for seed in range(40)}
    assert len(said) >= 6
    for text in said:
        assert kept in text and gone not in text and "{" not in text
        assert read_answer(text) == (text, True)


def test_an_answer_is_a_sentence_in_the_words_of_the_task() -> None:
    prompt = "Merge them. Answer with the id of the ticket that you keep."
    said = {EndingWords(briefed(prompt, seed)).of(answering("T1"), "T1").text for seed in range(40)}
    assert len(said) >= 5 and all("id of the ticket that I keep" in text and "T1" in text for text in said)


def worded(folder: Path, said: str) -> list[str]:
    scenario = bakery.scenario(folder)
    with FakeOpenAI(lambda _: Say(said)) as server:
        agent = build_agent("resilient", {"worded_by": "fake", "base_url": server.url})
        played = asyncio.run(rollout(scenario, agent))
    assert played.reward == 1.0 and played.agent["worded_by"] == "fake"
    return [turn.text for turn in played.turns[:-1]]


def test_a_model_may_write_the_sentences(tmp_path: Path) -> None:
    assert set(worded(tmp_path, "I want to know more first.")) == {"I want to know more first."}


@pytest.mark.parametrize(
    "said",
    ["I expect order O98431.", "There are 4711 of them.", 'It is called "Marzipan".', "ANSWER: 3", "x" * 400, ""],
)
def test_what_a_model_cannot_know_is_not_said(said: str, tmp_path: Path) -> None:
    assert said not in worded(tmp_path, said)


def test_a_user_is_asked_in_a_turn_of_its_own() -> None:
    steps: list[JsonObject] = [{"call": "get"}, {"call": ASK, "with": {"question": "Which?"}}]
    plan = Plan.model_validate({"steps": steps, "answer": "done"})
    walking = Resilient().walk(plan, briefed("Do it.", 1))
    assert next(walking).beside == ()


def test_the_shell_of_a_machine_has_words_of_its_own() -> None:
    played = asyncio.run(rollout(load_scenario("terminal/block_scanner"), "resilient"))
    said = [turn.text for turn in played.turns if turn.steps]
    assert said
    assert all("command" in text or "shell" in text for text in said), said
    assert not any("bash" in text for text in said)
