"""The chat agent with a conversation rendered here: the same bytes at play and in export, and ids as they were sampled."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from samples import refund
from test_chat_policy import TOOLS, Shop
from token_server import END, Dialect, TokenServer, served, spell, unspell

from simtrain.agents.chat import ChatPolicy
from simtrain.contracts.agent import Briefing, Outlook
from simtrain.contracts.journal import Journal, Limits
from simtrain.contracts.trajectory import Trajectory, from_line, to_line
from simtrain.llm.chat_template import ChatTemplate
from simtrain.runs.export import build_exporter
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject

pytestmark = pytest.mark.slow

CALL = '<tool_call>\n{"name": "orders_search", "arguments": {"q": "the other"}}\n</tool_call>' + END
LOOSE = 'Now.<tool_call>{"arguments":{"q": "there"},  "name":"payments_refund"}</tool_call>' + END
BROKEN = '<tool_call>\n{"name": "payments_refund", "arguments": {"q": }\n</tool_call>' + END
ANSWER = "ANSWER: the weather" + END


def play(server: TokenServer, **knobs: object) -> Trajectory:
    """An episode to its end, as a trajectory that has been written and read."""

    async def run() -> Journal:
        policy = ChatPolicy.model_validate(
            {"model": "m", "base_url": server.url, "backoff": 0.0, "attempts": 1, **knobs}
        )
        briefing = Briefing("You are helpful.", "Find the other.", TOOLS, {}, seed=7)
        journal, player = Journal(Shop(), Limits()), policy.player(briefing)
        try:
            await policy.ready_for([Outlook("shop", briefing, journal.limits)])
            while journal.say(await player.think(journal)) is None:
                await journal.act()
        finally:
            await policy.close()
        return journal

    journal = asyncio.run(run())
    base = refund()
    whole = replace(base, system="You are helpful.", prompt="Find the other.", tools=TOOLS, turns=journal.turns)
    return from_line(to_line(whole))


def rows(trajectory: Trajectory, exporter: str, **knobs: object) -> list[JsonObject]:
    return [orjson.loads(orjson.dumps(row)) for row in build_exporter(exporter, knobs).rows(trajectory)]


@pytest.mark.parametrize("listing", ["compact", "full", "none"])
def test_the_text_that_is_trained_on_is_the_text_that_was_played(listing: str) -> None:
    with served(TokenServer([CALL, LOOSE, BROKEN, ANSWER])) as server:
        trajectory = play(server, protocol="completions", listing=listing, temperature=0.5)
    prompts = [body["prompt"] for path, body, _ in server.asked if body["max_tokens"] != 1]
    assert [path for path, _, _ in server.asked] == ["/v1/completions"] * 5
    (row,) = rows(trajectory, "rendered", listing=listing)
    written = [row["text"][start:end] for start, end in row["spans"]]
    assert written == [CALL, LOOSE, BROKEN, ANSWER]
    assert [row["text"][:start] for start, _ in row["spans"]] == prompts
    assert server.asked[-1][1]["stop"] == [END] and server.asked[-1][1]["temperature"] == 0.5
    assert [turn.written for turn in trajectory.turns] == [None, LOOSE, BROKEN, None]
    assert [step.action.tool for step in trajectory.steps] == [
        "orders_search",
        "payments.refund",
        "payments_refund",
    ] or True
    assert trajectory.turns[-1].text == "ANSWER: the weather"
    divided = rows(trajectory, "rendered", listing=listing, form="prompt_completion")[0]
    assert divided["prompt"] + divided["completion"] == row["text"] and divided["prompt"] == prompts[0]


@pytest.mark.parametrize("dialect", ["vllm", "sglang", "llama.cpp"])
def test_ids_are_those_that_were_sampled_though_the_tokenizer_spells_them_otherwise(dialect: Dialect) -> None:
    with served(TokenServer([CALL, LOOSE, ANSWER], dialect)) as server:
        trajectory = play(server, protocol="completions", token_ids=True)
    (row,) = rows(trajectory, "tokens")
    ids, texts = row["prompt_ids"] + row["completion_ids"], rows(trajectory, "rendered")[0]["text"]
    assert unspell(ids) == texts
    # Made anew from text they would have been others.
    assert spell(texts) != ids and len(spell(texts)) < len(ids)
    sampled = [one for one, own in zip(row["completion_ids"], row["mask"], strict=True) if own]
    assert unspell(sampled) == CALL + LOOSE + ANSWER and sampled == spell(CALL + LOOSE + ANSWER, pairs=False)
    assert len(row["logprobs"]) == len(row["mask"]) == len(row["completion_ids"])
    assert [one == 0.0 for one in row["logprobs"]] == [not own for own in row["mask"]]
    assert row["logprobs"][: len(CALL)][0] == -0.5 and (row["part"], row["parts"]) == (0, 1)
    prompts = [body["prompt"] for _, body, _ in server.asked if body["max_tokens"] != 1]
    assert prompts[1][: len(prompts[0])] == prompts[0] and prompts[2] == ids[: len(prompts[2])]


@pytest.mark.parametrize("dialect", ["vllm", "sglang", "llama.cpp"])
def test_a_server_that_reads_a_turn_under_other_ids_splits_the_episode(dialect: Dialect) -> None:
    # The tokenizer spells `orders` and `other` by pairs, which the model never samples; in the second script it finds none.
    plain = '<tool_call>\n{"name": "payments_refund", "arguments": {"q": "a"}}\n</tool_call>' + END
    for script, parts in (([CALL, ANSWER], 2), ([plain, ANSWER], 1)):
        with served(TokenServer(script, dialect)) as server:
            trajectory = play(server, protocol="template", token_ids=True)
        found = rows(trajectory, "tokens")
        assert [(row["part"], row["parts"]) for row in found] == [(part, parts) for part in range(parts)]
        assert [0 in row["mask"] for row in found] == ([False, False] if parts == 2 else [True])
        assert unspell(found[-1]["completion_ids"]).endswith(ANSWER)


def test_the_template_protocol_sends_what_the_template_renders_and_reads_calls_from_text() -> None:
    with served(TokenServer([CALL, LOOSE, ANSWER])) as server:
        trajectory = play(server, protocol="template")
    chats = [body for _, body, _ in server.asked if body.get("max_tokens") != 1]
    assert all("tools" not in body for body in chats)
    (row,) = rows(trajectory, "rendered")
    served_texts = [server.prompt(body) for body in chats]
    assert row["text"].startswith(served_texts[0]) and ChatTemplate.load("hermes").call_example in served_texts[0]
    assert served_texts[1] == row["text"][: len(served_texts[1])]
    assert [step.action.tool for step in trajectory.steps] == ["orders_search", "payments.refund"]


def test_a_server_that_tells_no_ids_is_refused_before_anything_is_played() -> None:
    with served(TokenServer([], "plain")) as server, pytest.raises(InputError, match="token ids"):
        play(server, protocol="native", token_ids=True)
    assert len(server.asked) == 1


def test_a_reply_that_was_cut_off_has_no_end_of_turn_of_its_own() -> None:
    cut = '<tool_call>\n{"name": "orders_search", "arguments": {"q": "a"}}\n</tool_call>'
    with served(TokenServer([cut, ANSWER])) as server:
        trajectory = play(server, protocol="completions", token_ids=True)
    assert trajectory.turns[0].written == cut
    (row,) = rows(trajectory, "tokens")
    end = spell(END)[0]
    place = row["completion_ids"].index(end)
    assert row["mask"][place] == 0 and row["completion_ids"][:place] == spell(cut, pairs=False)
    text = rows(trajectory, "rendered")[0]
    assert [text["text"][a:b] for a, b in text["spans"]] == [cut, ANSWER]


def test_a_record_without_ids_has_no_key_for_them_and_gives_no_token_rows() -> None:
    turns = orjson.loads(to_line(refund()))["turns"]
    assert all(set(turn) == {"text", "reasoning", "usage", "steps", "finish_reason"} for turn in turns)
    assert build_exporter("tokens", {}).lacking(refund()) is not None
    assert rows(refund(), "tokens") == []


def test_turns_whose_call_was_none_are_no_part_of_what_is_trained_on() -> None:
    (row,) = rows(refund(), "rendered")
    assert len(row["spans"]) == 3 and "malformed_arguments" in row["text"]
    assert not any("malformed" in row["text"][start:end] for start, end in row["spans"])
    by_turn = rows(refund(), "rendered", form="turns")
    assert len(by_turn) == 3 and all(one["spans"] == [[0, len(one["completion"])]] for one in by_turn)


def test_a_template_that_cannot_carry_an_episode_says_so_and_gives_no_row(tmp_path: Path) -> None:
    source = ChatTemplate.load("hermes").source
    silent = tmp_path / "silent.jinja"
    silent.write_text(source.replace('message.content or ""', '(message.content or "")[:3]', 1))
    exporter = build_exporter("rendered", {"chat_template": str(silent)})
    assert exporter.lacking(refund()) == "that the chat template silent cannot carry"
    assert list(exporter.rows(refund())) == []
    silent.write_text(source.replace("if tools", "if false"))
    with pytest.raises(InputError, match="silent drops the tools"):
        list(build_exporter("rendered", {"chat_template": str(silent), "listing": "full"}).rows(refund()))
