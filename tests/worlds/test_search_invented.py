"""A web that a language world model invents inside declared facts: its prompt, its format, and that it stays the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from simtrain.contracts.request import Request
from simtrain.scenarios.load import load_scenario_file, paradigm_of
from simtrain.testing import FakeOpenAI, Say
from simtrain.values.errors import SimulatorFault
from simtrain.values.types import Action, JsonObject, Observation, ToolSpec
from simtrain.world_models.domains.search import SearchDomain

pytestmark = pytest.mark.slow

KEEPERS = Path(__file__).parents[2] / "examples" / "invented_web" / "keepers.yaml"
SHEET = "https://charts.halloran.example/lights/carrow"
RESULT = {
    "url": SHEET,
    "title": "Carrow Light: data sheet",
    "snippet": "Lit in 2061, the tower stands …",
    "date": "2088-01-04",
}
PAGE = {
    "url": SHEET,
    "title": RESULT["title"],
    "date": RESULT["date"],
    "content": "# Carrow Light\n\nKeeper: Ysolt Brannagh. Lit in 2061.",
}
SEARCH = ("web_search", {"query": "Carrow Light keeper"})
VISIT = ("web_extractor", {"url": SHEET})


def observation(content: object) -> Say:
    return Say(f"<think>hm</think>**Environment Observation:**\n{json.dumps(content)}")


def found(*results: JsonObject) -> Say:
    return observation({"query": "q", "results": list(results)})


async def play(
    script: list[Say] | Callable[[JsonObject], Say],
    *calls: tuple[str, JsonObject],
    patch: pytest.MonkeyPatch,
    packs: Sequence[str] = (),
) -> tuple[list[Observation], list[JsonObject]]:
    """What an agent is told in one episode, and the requests that reached the model's server."""
    async with FakeOpenAI(script, models=("qwen-agentworld",)) as server:
        patch.setenv("OPENAI_BASE_URL", server.url)
        patch.setenv("OPENAI_API_KEY", "none")
        scenario = load_scenario_file(KEEPERS, "keepers", packs=packs)
        episode = next(iter(paradigm_of(scenario).episodes(scenario, seed=0, attempts=1)))
        async with paradigm_of(scenario).open(episode) as environment:
            told = [await environment.step(Action(str(number), *call)) for number, call in enumerate(calls)]
        for answering in scenario.answering:
            await answering.world_model.close()
        return told, server.chats


async def test_the_model_reads_the_search_task_the_tools_and_what_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    _, chats = await play([found(RESULT)], SEARCH, patch=monkeypatch)
    system, action = chats[0]["messages"][0]["content"], chats[0]["messages"][1]["content"]
    assert system.startswith("# Task\nYou are the web as an agent meets it") and "you may invent freely" in system
    for part in (
        "## web_search",
        "## web_extractor",
        "# Initial state",
        "keeper=Ysolt Brannagh",
        "https://tide.halloran.test",
    ):
        assert part in system
    assert action.startswith(
        '### Turn 1\n\n**Action:**\n```json\n{"name":"web_search","arguments":{"query":"Carrow Light keeper"}}\n```'
    )
    assert chats[0]["chat_template_kwargs"] == {"enable_thinking": False}


async def test_a_page_visited_twice_reads_the_same_and_is_not_invented_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    respelt = ("web_extractor", {"url": f"{SHEET.replace('https://', 'http://www.')}/#top"})
    told, chats = await play(
        [found(RESULT), observation(PAGE)], SEARCH, VISIT, SEARCH, respelt, VISIT, patch=monkeypatch
    )
    assert len(chats) == 2
    assert told[0].text == told[2].text and told[1].text == told[3].text == told[4].text
    assert "Ysolt Brannagh" in told[4].text


async def test_pages_of_an_invented_web_may_have_moved_and_be_walled_off_and_are_invented_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = tmp_path / "trouble.yaml"
    uses = [
        {"use": "redirect", "with": {"share": 1, "hops": 1}},
        {"use": "paywall", "with": {"share": 1, "shown": 0.5}},
    ]
    pack.write_text(json.dumps({"name": "trouble", "perturbations": uses}))
    first, _ = await play([observation(PAGE)], VISIT, patch=monkeypatch, packs=[str(pack)])
    assert first[0].is_error and "301" in first[0].text
    onward = ("web_extractor", {"url": first[0].text.partition(" now at ")[2].split('"')[0].strip()})
    copy = ("web_extractor_cached", onward[1])
    told, chats = await play(
        [observation(PAGE)], VISIT, onward, VISIT, copy, onward, patch=monkeypatch, packs=[str(pack)]
    )
    assert len(chats) == 1 and told[0] == told[2] and told[1].text == told[4].text
    assert "Ysolt" not in told[1].text and "free preview" in told[1].text and "Ysolt Brannagh" in told[3].text


async def test_what_was_shown_is_given_back_with_the_call_for_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    _, chats = await play([found(RESULT), observation(PAGE)], SEARCH, VISIT, patch=monkeypatch)
    asked = chats[1]["messages"][-1]["content"]
    assert f"- page {SHEET}: title=" in asked and "Carrow Light: data sheet" in asked and "2088-01-04" in asked


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (PAGE | {"title": "Another light"}, f"title of page {SHEET} is"),
        (PAGE | {"date": "2087-01-01"}, f"date of page {SHEET} is"),
        (PAGE | {"url": "https://tide.halloran.test/a"}, "the page asked for is on charts.halloran.example, not on tide.halloran.test"),
        ({"title": "x"}, "it does not fit the result schema"),
    ],
)  # fmt: skip
async def test_a_page_that_contradicts_what_was_shown_is_written_again(
    wrong: JsonObject, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, chats = await play([found(RESULT), observation(wrong), observation(PAGE)], SEARCH, VISIT, patch=monkeypatch)
    assert reason in chats[2]["messages"][-1]["content"]
    assert told[1].content == PAGE


async def test_other_words_in_a_snippet_contradict_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    other = ("web_search", {"query": "lights of the Seld coast"})
    script = [found(RESULT), found(RESULT | {"snippet": "The keepers of the coast …"})]
    told, chats = await play(script, SEARCH, other, patch=monkeypatch)
    assert len(chats) == 2 and "The keepers of the coast" in told[1].text


@pytest.mark.parametrize(
    ("results", "reason"),
    [
        ([RESULT, RESULT], "appears twice among the results"),
        ([RESULT | {"url": "/lights/carrow"}], "is not a complete URL"),
        ([RESULT | {"url": "https://charts"}], "is not a complete URL"),
    ],
)
async def test_results_that_no_engine_would_give_are_refused(
    results: list[JsonObject], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SimulatorFault, match=reason):
        await play([found(*results)] * 3, SEARCH, patch=monkeypatch)


async def test_a_broken_link_is_an_error_and_stays_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    told, chats = await play(
        [Say("**Environment Observation:**\nError: 404 Not Found")], VISIT, VISIT, patch=monkeypatch
    )
    assert [said.is_error for said in told] == [True, True] and told[0].text == told[1].text == "404 Not Found"
    assert len(chats) == 1


def test_notes_are_never_settled() -> None:
    note = Request(ToolSpec("dict_memory", "", {"type": "object"}, writes=True), {"operation": "retrieve_all"}, 0, 0)
    assert SearchDomain().settled(note) is None
