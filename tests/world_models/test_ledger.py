"""The ledger of a language world model: a model that contradicts itself is asked again, and refused when it insists."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import cast

import pytest

from simtrain.contracts.request import Request
from simtrain.contracts.world import WorldState
from simtrain.testing import FakeOpenAI, Say
from simtrain.values.entities import entities_in
from simtrain.values.errors import SimulatorFault
from simtrain.values.tool_words import tool_words
from simtrain.values.types import JsonObject, Observation, ToolSpec
from simtrain.world_models.chat import Chat
from simtrain.world_models.domains.mcp import McpDomain

pytestmark = pytest.mark.slow

ANY: JsonObject = {"type": "object"}
GET = ToolSpec("tracker.get_issue", "One issue.", ANY)
LIST = ToolSpec("tracker.list_issues", "All issues.", ANY)
CREATE = ToolSpec("tracker.create_issue", "A new issue.", ANY, writes=True)
UPDATE = ToolSpec("tracker.update_issue", "Change an issue.", ANY, writes=True)
DELETE = ToolSpec("tracker.delete_issue", "Delete an issue.", ANY, writes=True)

LAMP: JsonObject = {"id": "I-1", "title": "Lamp flickers", "state": "open", "assignee_id": "U-4"}
DOOR: JsonObject = {"id": "I-2", "title": "Door squeaks", "state": "open", "assignee_id": "U-5"}


class Nothing:
    """A world of which nothing is known."""

    def describe(self) -> str:
        return ""


def say(value: object) -> Say:
    text = value if isinstance(value, str) else json.dumps(value)
    return Say(f"**Environment Observation:**\n{text}")


def play(
    script: Sequence[Say], *calls: tuple[ToolSpec, JsonObject], **knobs: object
) -> tuple[list[Observation], list[JsonObject]]:
    """What a model with this script answers in one episode, and the requests that it got."""

    async def run(url: str) -> list[Observation]:
        model = Chat.model_validate({"model": "fake", "base_url": url, "backoff": 0.0, **knobs})
        world = cast(WorldState, Nothing())
        async with model.session(domain=McpDomain(), world=world, tools=(GET, LIST)) as answer:
            return [
                await answer(Request(tool, arguments, index, index)) for index, (tool, arguments) in enumerate(calls)
            ]

    with FakeOpenAI(script) as server:
        return asyncio.run(run(server.url)), server.chats


def last_words(chat: JsonObject) -> str:
    return str(cast(list[JsonObject], chat["messages"])[-1]["content"])


@pytest.mark.parametrize(
    ("calls", "contradicting", "reason"),
    [
        pytest.param(
            [(LIST, {}, {"issues": [LAMP, DOOR]}), (GET, {"id": "I-1"}, LAMP)],
            {**LAMP, "state": "closed"},
            'state of issue I-1 is "open"',
            id="a value that nothing has changed",
        ),
        pytest.param(
            [(GET, {"id": "I-1"}, LAMP), (GET, {"id": "I-1"}, LAMP)],
            "Error: Issue I-1 not found",
            "issue I-1 exists",
            id="an entity that is said not to be there",
        ),
        pytest.param(
            [
                (LIST, {}, {"issues": [LAMP, DOOR]}),
                (DELETE, {"id": "I-2"}, {"ok": True}),
                (LIST, {}, {"issues": [LAMP]}),
            ],
            {"issues": [LAMP, DOOR]},
            "issue I-2 was deleted",
            id="an entity that was deleted",
        ),
        pytest.param(
            [(GET, {"id": "I-1"}, LAMP), (CREATE, {"title": "New"}, {"id": "I-3", "title": "New", "state": "open"})],
            {"id": "I-1", "title": "New", "state": "open"},
            "the id I-1 of the new issue is already taken",
            id="a new id that is taken",
        ),
        pytest.param(
            [(LIST, {"state": "open"}, {"issues": [LAMP, DOOR]}), (LIST, {"state": "open"}, {"issues": [LAMP, DOOR]})],
            {"issues": [LAMP]},
            "answered before with other entries",
            id="the same call with other entries",
        ),
    ],
)
def test_a_reply_that_contradicts_an_earlier_one_is_asked_for_again(
    calls: list[tuple[ToolSpec, JsonObject, JsonObject]], contradicting: object, reason: str
) -> None:
    said = [say(reply) for _, _, reply in calls]
    made = [(tool, arguments) for tool, arguments, _ in calls]
    observations, chats = play([*said[:-1], say(contradicting), said[-1]], *made)
    assert [json.loads(one.text) for one in observations] == [reply for _, _, reply in calls]
    assert len(chats) == len(calls) + 1 and reason in last_words(chats[-1])
    with pytest.raises(SimulatorFault, match=r"cannot be used"):
        play([*said[:-1], say(contradicting), say(contradicting)], *made)


@pytest.mark.parametrize(
    ("calls", "then"),
    [
        pytest.param(
            [(GET, {"id": "I-1"}, LAMP), (UPDATE, {"id": "I-1", "state": "closed"}, {"ok": True})],
            (GET, {"id": "I-1"}, {**LAMP, "state": "closed"}),
            id="a value that a call has changed",
        ),
        pytest.param(
            [(GET, {"id": "I-1"}, LAMP), (UPDATE, {"id": "U-4", "name": "Ann"}, {"ok": True})],
            (GET, {"id": "I-1"}, {**LAMP, "assignee_id": None}),
            id="an entity that refers to a changed one",
        ),
        pytest.param(
            [(LIST, {}, {"issues": [LAMP]}), (CREATE, {"title": "Door"}, DOOR)],
            (LIST, {}, {"issues": [LAMP, DOOR]}),
            id="a list after a new entry",
        ),
        pytest.param(
            [(GET, {"id": "I-1"}, LAMP), (DELETE, {"id": "I-1"}, {"ok": True})],
            (GET, {"id": "I-1"}, "Error: Issue I-1 not found"),
            id="an entity that was deleted",
        ),
        pytest.param(
            [(GET, {"id": "I-1"}, {**LAMP, "body": "It flickers when it rains."})],
            (LIST, {}, {"issues": [{**LAMP, "body": "It flickers..."}]}),
            id="a text that is cut off",
        ),
        pytest.param(
            [(LIST, {}, {"issues": [LAMP], "next_cursor": "a", "total": 1})],
            (LIST, {}, {"issues": [LAMP], "next_cursor": "b", "total": 1}),
            id="a field that may differ",
        ),
        pytest.param(
            [(GET, {"number": 5}, {"user": {"id": "I-1", "name": "A user"}})],
            (GET, {"id": "I-1"}, LAMP),
            id="another kind with the same id",
        ),
    ],
)
def test_a_reply_that_a_call_explains_is_taken(
    calls: list[tuple[ToolSpec, JsonObject, JsonObject]], then: tuple[ToolSpec, JsonObject, object]
) -> None:
    script = [*(say(reply) for _, _, reply in calls), say(then[2])]
    _, chats = play(script, *((tool, arguments) for tool, arguments, _ in calls), then[:2])
    assert len(chats) == len(calls) + 1


def test_what_is_established_goes_back_to_the_model_and_its_history_only_grows() -> None:
    _, chats = play(
        [say({"issues": [LAMP, DOOR]}), say({"ok": True}), say(LAMP)],
        (LIST, {}),
        (DELETE, {"id": "I-2"}),
        (GET, {"id": "I-1"}),
    )
    first, second, third = (cast(list[JsonObject], chat["messages"]) for chat in chats)
    assert "established" not in str(first[-1]["content"])
    assert '- issue I-2: title="Door squeaks", state="open", assignee_id="U-5"' in str(second[-1]["content"])
    assert "I-2" not in str(third[-1]["content"]) and '- issue I-1: title="Lamp flickers"' in str(third[-1]["content"])
    assert second[: len(first)] == first and third[: len(second)] == second


def test_without_a_ledger_a_model_may_contradict_itself() -> None:
    observations, chats = play(
        [say(LAMP), say({**LAMP, "state": "closed"})], (GET, {"id": "I-1"}), (GET, {"id": "I-1"}), ledger=False
    )
    assert len(chats) == 2 and json.loads(observations[1].text)["state"] == "closed"


def test_fields_that_are_named_volatile_may_differ() -> None:
    _, chats = play(
        [say(LAMP), say({**LAMP, "state": "closed"})], (GET, {"id": "I-1"}), (GET, {"id": "I-1"}), volatile=["sta*"]
    )
    assert len(chats) == 2


@pytest.mark.parametrize(
    ("name", "intent", "noun"),
    [
        ("tracker.list_open_issues", "list", "open_issue"),
        ("createPullRequest", "create", "pull_request"),
        ("API-post-search", "create", "search"),
        ("get_entity_by_id", "get", "entity"),
        ("notes.delete", "delete", "note"),
        ("people.find", "search", "person"),
        ("sequentialthinking", None, "sequentialthinking"),
        ("get", "get", ""),
    ],
)
def test_a_tool_name_says_what_it_does_and_with_what(name: str, intent: str | None, noun: str) -> None:
    words = tool_words(name)
    assert (words.intent, words.noun) == (intent, noun)


def test_entities_are_found_wherever_they_stand() -> None:
    reply = {"data": {"issues": [{"number": 7, "labels": [{"name": "bug", "color": "red"}], "user": {"id": 3}}]}}
    assert [(one.kind, one.id, one.fields) for one in entities_in(reply, tool="tracker.search")] == [
        ("issue", "7", {}),
        ("label", "bug", {"color": "red"}),
        ("user", "3", {}),
    ]
