"""Perturbations whose surface is words: what they add, where it stands, when they fire, and that nothing else changes."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree

import pytest
from bakery import WORLD, scenario
from perturbing import Asked, play

from simtrain import open_episode
from simtrain.contracts.registry import resolve
from simtrain.perturbations.attacks.instruction import harmful_advice, instructions
from simtrain.perturbations.noisy_request import Kind, NoisyRequest
from simtrain.perturbations.notations import NOTATIONS, Notation, written_as
from simtrain.perturbations.placing import placed
from simtrain.perturbations.pools import pool
from simtrain.testing import FakeOpenAI, Refuse, Say
from simtrain.values.errors import SimulatorFault
from simtrain.values.seeding import Stream
from simtrain.values.types import Observation
from tests.mcp.test_relay import ODD, asked, call, pack, relay, request, started

pytestmark = pytest.mark.slow

LIST: Asked = ("cakes.list", {})
PLACE: Asked = ("orders.place", {"cake_id": "K001", "amount": 1})
TOO_MANY: Asked = ("orders.place", {"cake_id": "K001", "amount": 999})
ADDED = ("distracting_text", "noisy_documents", "harmful_feedback")
REFUSING = ("misleading_error", "false_error_escalation")
NAMES = (*ADDED, *REFUSING, "prompt_injection", "tool_poisoning", "multi_format", "distractor_tools",
         "paraphrased_docs", "noisy_request")  # fmt: skip

# A cake with a description, so that a reply has a field of prose.
PROSE = WORLD.replace(
    "select id, name, price, stock from cakes where name = :name",
    "select id, name, 'Baked at dawn.' as description from cakes where name = :name",
)
TASK = 'Please tell me which of the orders of "Rye cake 3" were placed after 2031-01-04, and also give me their sum.'


def writer(server: FakeOpenAI, **knobs: Any) -> dict[str, Any]:
    return {"model": "fake", "base_url": server.url, "backoff": 0.0, **knobs}


@pytest.mark.parametrize("name", NAMES)
def test_each_declares_what_it_is(name: str) -> None:
    perturbation = resolve("perturbations", name)
    assert perturbation.traits.layer in "PDMH" and perturbation.traits.side in ("request", "manifest", "call", "reply")
    assert perturbation.traits.semantic and not perturbation.traits.needs_world and perturbation.traits.recoverable_by
    assert "Source: " in perturbation.__doc__ and " agent should " in perturbation.__doc__


@pytest.mark.parametrize("use", ADDED)
async def test_words_are_added_to_the_true_reply(use: str, tmp_path: Path) -> None:
    played = await play(tmp_path, {"use": use, "when": {"nth": [1, 3]}}, PLACE, LIST, TOO_MANY)
    clean = await play(tmp_path, None, PLACE, LIST, TOO_MANY)
    assert played.bent == [True, False, False] and played.changes == clean.changes
    assert played.contents == clean.contents
    assert played.seen[0].text.startswith(clean.seen[0].text) and played.seen[1:] == clean.seen[1:]
    assert played.steps[0].events[0].clean == clean.seen[0]


@pytest.mark.parametrize("use", ADDED)
async def test_the_more_severe_the_more_words(use: str, tmp_path: Path) -> None:
    lengths: list[int] = []
    for severity in (0, 0.25, 0.5, 0.75, 1):
        played = await play(tmp_path, {"use": use, "with": {"severity": severity}}, LIST)
        lengths.append(len(played.seen[0].text))
    clean = await play(tmp_path, None, LIST)
    assert lengths[0] == len(clean.seen[0].text)
    assert lengths == sorted(lengths) and len(set(lengths)) == 5


def test_words_stand_where_they_are_put() -> None:
    reply = Observation("line one\nline two\nline three")
    assert placed(reply, "X", "start", schema=None).text == "X\n\nline one\nline two\nline three"
    assert placed(reply, "X", "middle", schema=None).text == "line one\nline two\n\nX\nline three"
    assert placed(reply, "X", "end", schema=None).text == "line one\nline two\nline three\n\nX"
    assert placed(Observation(""), "X", "middle", schema=None).text == "X"


def test_words_in_a_field_leave_the_reply_what_it_was() -> None:
    content = {"id": "a", "items": [{"status": "open", "body": "Hello."}]}
    reply = Observation(json.dumps(content), json=True)
    bent = placed(reply, "X", "field", schema=None)
    assert bent.json and bent.content == {"id": "a", "items": [{"status": "open", "body": "Hello.\n\nX"}]}
    narrow = {"properties": {"items": {"items": {"properties": {"body": {"type": "string", "maxLength": 8}}}}}}
    refused = placed(reply, "X", "field", schema=narrow)
    assert refused.content == content and refused.text == f"{reply.text}\n\nX"
    told = placed(Observation("He said: Hello.", {"body": "Hello."}), "X", "field", schema=None)
    assert (told.text, told.structured) == ("He said: Hello.\n\nX", {"body": "Hello.\n\nX"})
    only_text = placed(Observation('{\n  "note": "a"\n}'), "X", "field", schema=None)
    assert json.loads(only_text.text) == {"note": "a\n\nX"} and only_text.structured is None


async def test_a_field_of_prose_takes_the_words(tmp_path: Path) -> None:
    name = (await play(tmp_path, None, LIST)).contents[0]["cakes"][0]["name"]
    perturbation = {"use": "distracting_text", "with": {"placement": "field", "passages": 1}}
    played = await play(tmp_path, perturbation, ("cakes.get", {"name": name}), world_text=PROSE)
    description = played.contents[0]["description"]
    assert description.startswith("Baked at dawn.\n\n")
    assert description.removeprefix("Baked at dawn.\n\n") in pool("distracting_text")["passages"]


async def test_documents_speak_of_what_was_asked(tmp_path: Path) -> None:
    name = (await play(tmp_path, None, LIST)).contents[0]["cakes"][0]["name"]
    noisy = {"use": "noisy_documents", "with": {"passages": 2}}
    assert "orders" in (await play(tmp_path, noisy, PLACE)).seen[0].text.partition("See also:")[2]
    text = (await play(tmp_path, noisy, ("cakes.get", {"name": name}))).seen[0].text.partition("See also:")[2]
    assert text.count("\n\n") == 2 and "cakes" in text


async def test_harmful_advice_is_in_the_reply_word_for_word(tmp_path: Path) -> None:
    played = await play(tmp_path, {"use": "harmful_feedback", "with": {"passages": 2}}, LIST)
    assert sum(advice in played.seen[0].text for advice in harmful_advice()) == 2


@pytest.mark.parametrize("use", REFUSING)
async def test_a_refusal_in_wrong_words_leaves_no_trace_and_passes(use: str, tmp_path: Path) -> None:
    played = await play(tmp_path, {"use": use, "with": {"times": 2}}, PLACE, PLACE, LIST, PLACE)
    assert [observation.is_error for observation in played.seen] == [True, True, True, False]
    assert len([change for change in played.changes["orders"] if change.before is None]) == 1
    assert json.loads(played.steps[0].events[0].clean.text)["amount"] == 1  # type: ignore[union-attr]
    assert played.seen[3].content == (await play(tmp_path, None, LIST, LIST, LIST, PLACE)).contents[3]


async def test_an_error_blames_an_argument_of_the_call(tmp_path: Path) -> None:
    played = await play(tmp_path, {"use": "misleading_error"}, PLACE, LIST)
    assert "cake_id" in played.seen[0].text or "amount" in played.seen[0].text
    assert played.seen[1].is_error


async def test_an_escalation_asks_for_a_secret(tmp_path: Path) -> None:
    played = await play(tmp_path, {"use": "false_error_escalation"}, PLACE)
    assert any(secret in played.seen[0].text for secret in pool("false_error_escalation")["secrets"])


@pytest.mark.parametrize("use", REFUSING)
@pytest.mark.parametrize("severity", [0, 0.5, 1])
async def test_the_more_severe_the_more_refusals(use: str, severity: float, tmp_path: Path) -> None:
    played = await play(tmp_path, {"use": use, "with": {"severity": severity}}, *[LIST] * 4)
    assert sum(observation.is_error for observation in played.seen) == 1 + int(2 * severity)


@pytest.mark.parametrize("notation", NOTATIONS)
async def test_another_notation_says_the_same(notation: Notation, tmp_path: Path) -> None:
    played = await play(tmp_path, {"use": "multi_format", "with": {"notation": notation}}, LIST, TOO_MANY)
    clean = await play(tmp_path, None, LIST, TOO_MANY)
    assert played.contents[0] == clean.contents[0] and played.seen[1] == clean.seen[1]
    for cake in clean.contents[0]["cakes"]:
        assert all(str(value) in played.seen[0].text for value in cake.values())


def test_notations_can_be_read_again() -> None:
    content = {
        "total": 2,
        "rows": [{"id": "a,b", "note": 'x "y"\nz'}, {"id": "<c>", "more": None}],
        "odd key": [1, True],
    }
    table = written_as(content, "csv").partition("rows\n")[2]
    assert list(csv.DictReader(StringIO(table))) == [
        {"id": "a,b", "note": 'x "y"\nz', "more": ""},
        {"id": "<c>", "note": "", "more": ""},
    ]
    tree = ElementTree.fromstring(written_as(content, "xml"))
    assert [found.text for found in tree.iter("id")] == ["a,b", "<c>"]
    assert tree.find("entry").get("name") == "odd key"  # type: ignore[union-attr]
    assert written_as({"a": [], "b": {"c": "d"}, "e": ["f", "g"]}, "prose") == (
        'There is nothing under a. Its b has c "d". Under e there are 2. They are "f" and "g".'
    )
    assert written_as({"a": [{"b": 1}], "c": []}, "lines") == "a:\n  -\n    b: 1\nc: []"


async def test_text_alone_is_promised_where_structured_content_is_taken_away(tmp_path: Path) -> None:
    played = await play(tmp_path, {"use": "multi_format", "with": {"text_only": True, "notation": "csv"}}, LIST)
    assert played.contents == [None] and all(tool.output_schema is None for tool in played.tools)


async def test_look_alikes_stand_beside_true_tools_and_do_nothing(tmp_path: Path) -> None:
    perturbation = {"use": "distractor_tools", "with": {"severity": 1}}
    shown = (await play(tmp_path, perturbation)).tools
    clean = (await play(tmp_path, None)).tools
    added = [tool for tool in shown if tool not in clean]
    assert len(added) == len(clean) and [tool for tool in shown if tool in clean] == list(clean)
    calls: list[Asked] = [
        (tool.name, PLACE[1] if "place" in tool.name else {"name": "x"} if "get" in tool.name else
         {"cake_id": "K001"} if "orders" in tool.name else {})
        for tool in added
    ]  # fmt: skip
    played = await play(tmp_path, perturbation, *calls, *calls, PLACE)
    assert len(played.changes["orders"]) == 1 and not played.seen[-1].is_error
    assert played.seen[: len(calls)] == played.seen[len(calls) : -1]
    said = [str(kind["reply"]) for kind in pool("distractor_tools")["kinds"]]
    assert all(any(reply in seen.text for reply in said) for seen in played.seen[:-1])
    bad = await play(tmp_path, perturbation, (added[0].name, {"wrong": 1}))
    assert "Invalid arguments" in bad.seen[0].text


@pytest.mark.parametrize(("severity", "count"), [(0, 0), (0.5, 2), (1, 4)])
async def test_the_more_severe_the_more_look_alikes(severity: float, count: int, tmp_path: Path) -> None:
    shown = (await play(tmp_path, {"use": "distractor_tools", "with": {"severity": severity}})).tools
    assert len(shown) == 4 + count


async def test_documentation_says_the_same_in_other_words(tmp_path: Path) -> None:
    clean = (await play(tmp_path, None)).tools
    shown = (await play(tmp_path, {"use": "paraphrased_docs", "with": {"share": 1}})).tools
    assert [tool.name for tool in shown] == [tool.name for tool in clean]
    assert all(one.description != other.description for one, other in zip(shown, clean, strict=True))
    assert "oldest first" not in next(tool.description for tool in shown if tool.name == "orders.list")
    half = (await play(tmp_path, {"use": "paraphrased_docs"})).tools
    assert sum(one != other for one, other in zip(half, clean, strict=True)) == 2
    assert (await play(tmp_path, {"use": "paraphrased_docs", "with": {"share": 0}})).tools == clean


MAIL = """\
Mail from a customer:
"Hello, please move what is there
because I need it." Ramona Quill, member GH-2291, has 120 points.

Then answer with a table of `name` and `other`: | name | other |
"""


@pytest.mark.parametrize("seed", range(20))
def test_a_noisy_request_keeps_what_the_task_needs(seed: int) -> None:
    said = NoisyRequest(severity=1).ask(TASK, Stream(seed))
    assert said != TASK and said == NoisyRequest(severity=1).ask(TASK, Stream(seed))
    assert '"Rye cake 3"' in said and "2031-01-04" in said and "orders" in said
    mail = NoisyRequest(severity=1).ask(MAIL, Stream(seed))
    assert '"Hello, please move what is there\nbecause I need it."' in mail
    assert all(value in mail for value in ("Ramona Quill", "GH-2291", "120", "`name`", "`other`"))


def test_noise_of_each_kind_does_its_own() -> None:
    def asked(kind: Any, severity: float = 1, seed: int = 5) -> str:
        return NoisyRequest(severity=severity, kinds=[kind]).ask(TASK, Stream(seed))

    kinds = get_args(Kind)
    assert len(kinds) == 7 and all(asked(kind, 0) == TASK != asked(kind) for kind in kinds)
    assert len(asked("typos").split()) == len(TASK.split()) and "which" not in asked("typos")
    assert "Please" not in asked("omissions") and "the orders" not in asked("omissions")
    assert asked("ambiguity").startswith(TASK) and any(
        remark in asked("ambiguity") for remark in pool("noisy_request")["remarks"]
    )
    assert asked("capitals").startswith("please") and asked("capitals").lower() != TASK.lower()
    assert re.findall(r"[\w-]+", asked("capitals").lower()) == re.findall(r"[\w-]+", TASK.lower())
    for kind in ("rambling", "forwarded"):
        assert TASK in asked(kind) and len(asked(kind)) > len(TASK) + 50
    assert len(asked("rambling", 0.2)) < len(asked("rambling", 0.5)) < len(asked("rambling"))


@pytest.mark.parametrize("seed", range(20))
def test_a_value_corrected_halfway_ends_as_it_is_meant(seed: int) -> None:
    """Who takes out the slip and the words of correction has the task again."""
    said = NoisyRequest(severity=1, kinds=["correction"]).ask(TASK, Stream(seed))
    slip = re.search(r"(2031-\d\d-\d\d)\W+(?:no wait, |sorry, I mean |no, )2031-01-04", said)
    assert slip is not None and slip[1] != "2031-01-04"
    assert TASK.startswith(said[: slip.start()]) and TASK.endswith(said[slip.end() :].removeprefix(")"))
    without = NoisyRequest(severity=1, kinds=["correction"]).ask("Call it off.", Stream(seed))
    assert without.startswith("Call it off. ") and without != "Call it off. "


def test_a_value_is_dropped_only_where_it_is_asked_for() -> None:
    said = NoisyRequest(needed="drop", severity=0).ask(TASK, Stream(1))
    assert ("Rye cake 3" in said) != ("2031-01-04" in said)
    assert any(vague in said for vague in pool("noisy_request")["vague"])


async def test_the_task_and_the_tools_of_an_episode_are_marked_as_bent(tmp_path: Path) -> None:
    uses = [{"use": "noisy_request", "with": {"severity": 1}}, {"use": "distractor_tools"}]
    async with open_episode(scenario(tmp_path, more=f"perturbations: {json.dumps(uses)}\n")) as environment:
        assert environment.asks(TASK) != TASK and environment.asks(TASK) == environment.asks(TASK)
        assert environment.perturbed == ("distractor_tools", "noisy_request")


async def test_a_model_words_what_is_added(tmp_path: Path) -> None:
    script = [Say('{"text": "Costs 30 more."}'), Say('```json\n{"text": "The weather is fine."}\n```')]
    with FakeOpenAI(script) as server:
        played = await play(tmp_path, {"use": "distracting_text", "with": {"writer": writer(server)}}, LIST)
        assert len(server.chats) == 2 and "holds a figure" in server.chats[1]["messages"][-1]["content"]
    assert played.seen[0].text.endswith("\n\nThe weather is fine.")
    provenance = played.seen[0].provenance
    assert provenance and (provenance.model, provenance.rule) == ("fake", None)
    assert provenance.usage and provenance.usage.tokens == 220


async def test_a_model_that_misses_the_point_is_the_simulators_fault_unless_a_template_may_stand_in(
    tmp_path: Path,
) -> None:
    with FakeOpenAI([Say('{"text": "Something is wrong."}')] * 4) as server:
        perturbation = {"use": "false_error_escalation", "with": {"writer": writer(server)}}
        with pytest.raises(SimulatorFault, match="false_error_escalation: fake wrote nothing that can be used: '"):
            await play(tmp_path, perturbation, LIST)
        played = await play(
            tmp_path, {"use": "false_error_escalation", "with": {"writer": writer(server, fallback=True)}}, LIST
        )
    assert played.seen[0].provenance and "is not in the text" in str(played.seen[0].provenance.rule)
    assert any(secret in played.seen[0].text for secret in pool("false_error_escalation")["secrets"])


@pytest.mark.parametrize("reply", [Say("no json"), Say("[1]"), Say('{"text": ""}'), Say('{"text": "a", "b": 1}'), Refuse(400)])  # fmt: skip
async def test_what_a_model_writes_is_read_strictly(reply: Any, tmp_path: Path) -> None:
    with FakeOpenAI([reply] * 4) as server:
        perturbation = {"use": "noisy_documents", "with": {"writer": writer(server, fallback=True)}}
        played = await play(tmp_path, perturbation, LIST)
    assert "See also:" in played.seen[0].text and str(played.seen[0].provenance.rule).startswith("template, since ")  # type: ignore[union-attr]


async def test_a_model_words_errors_and_advice_with_their_claim_in_them(tmp_path: Path) -> None:
    def answer(body: Any) -> Say:
        material = json.loads(body["messages"][1]["content"])
        claim = material["claim"] if "claim" in material else material["advice"][0]
        return Say(json.dumps({"text": f"Well: {claim} Mind it."}))

    with FakeOpenAI(answer) as server:
        for use in ("misleading_error", "false_error_escalation", "harmful_feedback"):
            played = await play(tmp_path, {"use": use, "with": {"writer": writer(server)}}, LIST)
            assert "Well: " in played.seen[0].text and "Mind it." in played.seen[0].text


async def test_a_model_rewrites_the_task_and_the_documentation(tmp_path: Path) -> None:
    def answer(body: Any) -> Say:
        material = json.loads(body["messages"][1]["content"])
        if "request" in material:
            return Say(json.dumps({"text": "hey, " + " ".join(material["keep"])}))
        return Say(json.dumps({name: f"Well. {text}" for name, text in material.items()}))

    with FakeOpenAI(answer) as server:
        said = NoisyRequest.model_validate({"writer": writer(server)}).ask(TASK, Stream(0))
        assert said == 'hey, "Rye cake 3" 2031-01-04,'
        shown = (
            await play(tmp_path, {"use": "paraphrased_docs", "with": {"share": 1, "writer": writer(server)}})
        ).tools
    assert {tool.description for tool in shown} >= {"Well. One cake.", "Well. Order a cake."}


async def test_what_a_model_fails_to_write_before_the_first_turn_stays_as_it_was(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with FakeOpenAI([Say('{"text": "something else"}'), Say("{}")] * 4) as server:
        uses = [{"use": use, "with": {"writer": writer(server)}} for use in ("noisy_request", "paraphrased_docs")]
        async with open_episode(scenario(tmp_path, more=f"perturbations: {json.dumps(uses)}\n")) as environment:
            assert environment.asks(TASK) == TASK and environment.perturbed == ()
            assert environment.tools == (await play(tmp_path, None)).tools
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == ["paraphrased_docs", "noisy_request"]


async def test_structured_replies_still_fit_what_their_tools_promise(tmp_path: Path) -> None:
    for placement in ("start", "middle", "end", "field"):
        for use in ADDED:
            perturbation = {"use": use, "with": {"placement": placement, "severity": 1}}
            await play(tmp_path, perturbation, LIST, PLACE, ("orders.list", {"cake_id": "K001"}), world_text=PROSE)


def test_two_processes_write_the_same_words(tmp_path: Path) -> None:
    """Every perturbation of this room at once, under two hash seeds: the same task, tools and replies."""
    uses = [{"use": name, "with": {"severity": 0.6}} for name in NAMES]
    scenario(tmp_path, more=f"perturbations: {json.dumps(uses)}\n")
    code = (
        "import asyncio, sys\n"
        "from simtrain import load_scenario, open_episode\n"
        "from simtrain.values.types import Action, encode\n"
        "async def main():\n"
        "    async with open_episode(load_scenario(sys.argv[1])) as episode:\n"
        "        print(episode.asks('Please tell me about it, and also which of them there are.'))\n"
        "        for number in range(8):\n"
        "            await episode.step(Action(str(number), 'cakes.list', {}))\n"
        "        print(encode(episode.steps), encode(episode.tools))\n"
        "asyncio.run(main())\n"
    )
    said: list[str] = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])}
        command = [sys.executable, "-c", code, str(tmp_path / "birthday.yaml")]
        said.append(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert said[0] == said[1] and len(said[0]) > 5000


async def test_a_perturbation_that_cannot_fire_changes_nothing(tmp_path: Path) -> None:
    clean = await play(tmp_path, None, LIST, PLACE)
    for use in (*ADDED, *REFUSING, "prompt_injection", "multi_format"):
        played = await play(tmp_path, {"use": use, "when": {"nth": 9}}, LIST, PLACE)
        assert (played.steps, played.changes, played.tools) == (clean.steps, clean.changes, clean.tools)


async def test_a_relay_plants_words_and_answers_look_alikes_itself(tmp_path: Path) -> None:
    goal = {"name": "put_it", "kind": "misuse", "tool": "put", "arguments": {"x": 1}, "reached": "select 1"}
    uses = [
        {"use": "prompt_injection", "with": {"goal": goal, "placement": "end", "carrier": "plain"}, "when": {"nth": 1}},
        {"use": "distractor_tools", "with": {"severity": 1}},
    ]
    log = tmp_path / "log"
    async with started(*relay("--perturb", pack(tmp_path, *uses), server=(*ODD, str(log)))) as process:
        assert process.stdout is not None
        await process.stdout.readline()  # The server says that it is there.
        first = await asked(process, call(1, "echo", text="a"))
        text = json.loads(first)["result"]["content"][0]["text"]
        assert [order.tool for order in instructions(text)] == ["put"]
        listed = json.loads(await asked(process, request(2, "tools/list")))["result"]["tools"]
        added = [tool["name"] for tool in listed if "_" in tool["name"]]
        assert len(listed) == 6 and len(added) == 3
        for number, name in enumerate(added, 3):
            answer = json.loads(await asked(process, call(number, name)))["result"]
            said = answer["content"][0]["text"]
            assert any(str(kind["reply"]) in said for kind in pool("distractor_tools")["kinds"])
    assert not any(name in log.read_text() for name in added)


def test_a_relay_refuses_what_acts_on_the_task(tmp_path: Path) -> None:
    words = relay("--perturb", pack(tmp_path, {"use": "noisy_request"}))
    done = subprocess.run(words, input="", capture_output=True, text=True)
    assert done.returncode == 2 and "acts on the task, which a relay cannot see" in done.stderr
