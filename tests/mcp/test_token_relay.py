"""`capture-tokens` in front of each kind of server: nothing is changed for the agent, ids are recorded, keys are not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from samples import refund
from token_server import END, Dialect, TokenServer, served, spell, unspell

from simtrain.contracts.trajectory import record_name
from simtrain.files.jsonl import LineWriter
from simtrain.mcp.relay.token_relay import TokenRelay
from simtrain.mcp_wire.targets import http_target
from simtrain.runs.export import build_exporter
from simtrain.values.errors import InputError

pytestmark = pytest.mark.slow

FIRST, SECOND = "the weather" + END, "no rain" + END
SECRET = "sk-secret-1234"


def relayed(
    server: TokenServer,
    out: Path,
    use: Callable[[httpx.AsyncClient], Coroutine[Any, Any, None]],
    *,
    key: str | None = None,
) -> list[dict[str, Any]]:
    """What is recorded while a client of the relay is used."""

    async def run() -> None:
        writer = LineWriter(out)
        try:
            async with (
                TokenRelay(http_target(server.url), writer=writer, key=key) as relay,
                httpx.AsyncClient(base_url=relay.url, timeout=30) as client,
            ):
                await use(client)
        finally:
            writer.close()

    asyncio.run(run())
    assert SECRET not in out.read_text()
    return [orjson.loads(line) for line in out.read_bytes().splitlines()]


def chat(*said: str, **fields: object) -> dict[str, Any]:
    messages = [{"role": "user", "content": "Hi."}]
    for text in said:
        messages += [{"role": "assistant", "content": text}, {"role": "user", "content": "And?"}]
    return {"model": "m", "messages": messages, **fields}


@pytest.mark.parametrize("dialect", ["vllm", "sglang", "llama.cpp"])
@pytest.mark.parametrize("stream", [False, True])
def test_an_agent_reads_what_it_would_have_read_and_ids_are_recorded(
    dialect: Dialect, stream: bool, tmp_path: Path
) -> None:
    seen: list[httpx.Response] = []

    async def use(client: httpx.AsyncClient) -> None:
        headers = {"Authorization": f"Bearer {SECRET}", "X-Simtrain-Episode": "e1", "X-Other": "kept"}
        seen.append(await client.post("/chat/completions", json=chat(stream=stream), headers=headers))

    with served(TokenServer([FIRST], dialect)) as server:
        lines = relayed(server, tmp_path / "t.jsonl", use)
    with served(TokenServer([FIRST], dialect)) as server_alone:
        alone = httpx.post(server_alone.url + "/chat/completions", json=chat(stream=stream))
    parts = [list(parsed(response)) for response in (seen[0], alone)]
    assert parts[0] == parts[1] and seen[0].status_code == 200
    assert seen[0].headers.get("x-own") == alone.headers.get("x-own")
    path, body, headers = server.asked[-1]
    assert headers["X-Other"] == "kept" and headers["Authorization"] == f"Bearer {SECRET}"
    assert "X-Simtrain-Episode" not in headers and path == "/v1/chat/completions"
    if dialect == "sglang" and stream:
        # It refuses ids with a stream: the agent gets its stream all the same.
        assert lines == [] and "return_token_ids" not in body
        return
    (line,) = lines
    assert line["completion_ids"] == spell(FIRST, pairs=False) and len(line["logprobs"]) == len(line["completion_ids"])
    assert unspell(line["prompt_ids"]).endswith("<|im_start|>assistant\n")
    assert (line["episode"], line["finish_reason"], line["request"]) == ("e1", "stop", 1)
    assert "messages" not in line and "Hi." not in json.dumps({**line, "prompt_ids": 0})


def parsed(response: httpx.Response) -> list[Any]:
    """The JSON of a reply or of its events; a field that is null is as good as none."""
    texts = [response.text]
    if "event-stream" in response.headers["content-type"]:
        texts = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: {")]
        assert response.text.endswith("data: [DONE]\n\n")
    found = [json.loads(text) for text in texts]
    for one in found:
        for choice in one["choices"]:
            if choice.get("logprobs") is None:
                choice.pop("logprobs", None)
    return found


def test_an_agent_that_asks_itself_gets_what_it_asked_for(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []

    async def use(client: httpx.AsyncClient) -> None:
        asked = chat(logprobs=True, top_logprobs=1, return_token_ids=True, user="e2")
        seen.append((await client.post("/chat/completions", json=asked)).json())

    with served(TokenServer([FIRST])) as server:
        (line,) = relayed(server, tmp_path / "t.jsonl", use)
    assert seen[0] == json.loads(server.replies[0]) and seen[0]["choices"][0]["token_ids"] == line["completion_ids"]
    assert line["episode"] == "e2" and server.asked[0][1]["user"] == "e2"


def test_an_api_key_may_name_the_episode_and_goes_no_further(tmp_path: Path) -> None:
    async def use(client: httpx.AsyncClient) -> None:
        await client.post("/chat/completions", json=chat(), headers={"Authorization": "Bearer episode:e3"})
        prompt = {"model": "m", "prompt": "Hi. ", "max_tokens": 50}
        await client.post("/completions", json=prompt, headers={"Authorization": "Bearer episode:e3"})
        assert (await client.get("/models")).json()["data"][0]["id"] == "m"

    with served(TokenServer([FIRST, SECOND])) as server:
        lines = relayed(server, tmp_path / "t.jsonl", use, key=SECRET)
    assert [line["episode"] for line in lines] == ["e3", "e3"]
    assert [headers["Authorization"] for _, _, headers in server.asked] == [f"Bearer {SECRET}"] * 2
    assert lines[1]["prompt_ids"] == spell("Hi. ") and lines[1]["path"] == "/v1/completions"


def test_a_server_that_knows_no_such_fields_is_asked_as_the_agent_asks(tmp_path: Path) -> None:
    statuses: list[int] = []

    async def use(client: httpx.AsyncClient) -> None:
        for _ in range(2):
            statuses.append((await client.post("/chat/completions", json=chat())).status_code)

    with served(TokenServer([FIRST, SECOND], "plain")) as server:
        assert relayed(server, tmp_path / "t.jsonl", use) == []
    assert statuses == [200, 200]
    assert [sorted(body) for _, body, _ in server.asked][1:] == [["messages", "model"]] * 2 and len(server.asked) == 3


def test_a_server_that_is_not_there_is_a_502_and_a_foreign_host_is_turned_away(tmp_path: Path) -> None:
    async def use(client: httpx.AsyncClient) -> None:
        reply = await client.post("/chat/completions", json=chat())
        assert reply.status_code == 502 and "cannot be reached" in reply.json()["error"]["message"]
        assert (await client.get("/models", headers={"Host": "evil.example"})).status_code == 421

    server = TokenServer([])
    server.url = "http://127.0.0.1:9/v1"
    assert relayed(server, tmp_path / "t.jsonl", use) == []


def test_captured_ids_join_the_episode_that_they_belong_to(tmp_path: Path) -> None:
    episode = refund()
    name = record_name(episode.key)
    assert name.isalnum() and name != record_name(replace(episode, attempt=1).key)

    async def use(client: httpx.AsyncClient) -> None:
        for said in ((), ("a",)):
            await client.post("/chat/completions", json=chat(*said), headers={"X-Simtrain-Episode": name})
        await client.post("/chat/completions", json=chat("the"), headers={"X-Simtrain-Episode": name})
        await client.post("/chat/completions", json=chat(), headers={"X-Simtrain-Episode": "another"})

    out = tmp_path / "t.jsonl"
    with served(TokenServer(["a" + END, SECOND, FIRST, FIRST])) as server:
        relayed(server, out, use)
    exporter = build_exporter("tokens", {"capture": str(out)})
    first, second = exporter.rows(episode)
    assert unspell(first["completion_ids"]).startswith("a" + END) and first["mask"].count(1) == 2 + len("no rain") + 1
    assert (first["reward"], first["part"], second["part"], second["parts"]) == (1.0, 0, 1, 2)
    assert len(first["logprobs"]) == len(first["mask"])
    assert exporter.lacking(replace(episode, attempt=5)) is not None
    for text in ("{\n", '{"prompt_ids": "x", "completion_ids": []}\n'):
        bad = tmp_path / "bad.jsonl"
        bad.write_text(text)
        with pytest.raises(InputError, match=r"bad.jsonl:1: this is not a line of captured tokens"):
            list(build_exporter("tokens", {"capture": str(bad)}).rows(episode))
    with pytest.raises(InputError, match="cannot be read"):
        list(build_exporter("tokens", {"capture": str(tmp_path / "none")}).rows(episode))
