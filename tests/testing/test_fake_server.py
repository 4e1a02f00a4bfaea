"""The fake OpenAI server, seen through the official client and through a bare socket."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from urllib.request import Request, urlopen

import openai
import pytest

from simtrain.testing import Disconnect, FakeOpenAI, Garbage, Hang, Refuse, Say, Tool, by_turn

pytestmark = pytest.mark.slow

QUESTION = [{"role": "user", "content": "How many lamps?"}]


def ask(server: FakeOpenAI, **more: object) -> openai.types.chat.ChatCompletion:
    with openai.OpenAI(base_url=server.url, api_key="key", max_retries=0, timeout=more.pop("timeout", 10)) as client:
        return client.chat.completions.create(**{"model": "fake", "messages": QUESTION, **more})


def test_the_official_client_reads_a_text_with_usage() -> None:
    with FakeOpenAI([Say("Three.", prompt_tokens=20, completion_tokens=4, cached_tokens=16)]) as server:
        answer = ask(server)
    assert answer.choices[0].message.content == "Three."
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.total_tokens == 24
    assert answer.usage.prompt_tokens_details.cached_tokens == 16


def test_the_official_client_reads_parallel_tool_calls_in_order() -> None:
    with FakeOpenAI([Say(calls=[Tool("find", {"q": 1}), Tool("find", {"q": 2}, id="mine")])]) as server:
        choice = ask(server).choices[0]
    assert [json.loads(call.function.arguments)["q"] for call in choice.message.tool_calls] == [1, 2]
    assert choice.message.tool_calls[1].id == "mine"
    assert choice.message.content is None
    assert choice.finish_reason == "tool_calls"


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_thinking_travels_in_its_own_field(key: str) -> None:
    with FakeOpenAI([Say("Three.", reasoning="I count.", reasoning_key=key)]) as server:
        message = ask(server).choices[0].message
    assert message.model_extra[key] == "I count."


def test_a_rate_limit_carries_its_header() -> None:
    with (
        FakeOpenAI([Refuse(429, "slow down", retry_after="7")]) as server,
        pytest.raises(openai.RateLimitError) as caught,
    ):
        ask(server)
    assert caught.value.response.headers["retry-after"] == "7"
    assert "slow down" in str(caught.value)


def test_a_server_error_is_one() -> None:
    with FakeOpenAI([Refuse(500)]) as server, pytest.raises(openai.InternalServerError):
        ask(server)


def test_a_hang_lasts_until_the_client_gives_up() -> None:
    with FakeOpenAI([Hang()]) as server, pytest.raises(openai.APITimeoutError):
        ask(server, timeout=0.05)


@pytest.mark.parametrize("mid_body", [True, False])
def test_a_cut_connection_is_a_connection_error(mid_body: bool) -> None:
    with FakeOpenAI([Disconnect(mid_body=mid_body)]) as server, pytest.raises(openai.APIConnectionError):
        ask(server)


def test_a_malformed_body_comes_with_status_200() -> None:
    with FakeOpenAI([Garbage()]) as server:
        request = Request(f"{server.url}/chat/completions", data=b'{"model": "fake", "messages": []}', method="POST")
        with urlopen(request) as response:
            assert response.status == 200
            with pytest.raises(json.JSONDecodeError):
                json.load(response)


def test_an_unknown_model_is_not_found() -> None:
    with FakeOpenAI([Say("never")]) as server, pytest.raises(openai.NotFoundError, match="gpt-9"):
        ask(server, model="gpt-9")


def test_a_wrong_key_is_refused() -> None:
    with FakeOpenAI([Say("never")], api_key="right") as server, pytest.raises(openai.AuthenticationError):
        ask(server)


def test_a_script_that_has_run_out_says_so() -> None:
    with FakeOpenAI([]) as server, pytest.raises(openai.BadRequestError, match="no more replies"):
        ask(server)


def test_streaming_is_refused_in_words() -> None:
    with FakeOpenAI([Say("never")]) as server, pytest.raises(openai.BadRequestError, match="does not stream"):
        ask(server, stream=True)


def test_the_models_are_listed() -> None:
    with FakeOpenAI(models=["one", "two"]) as server, openai.OpenAI(base_url=server.url, api_key="key") as client:
        assert [model.id for model in client.models.list()] == ["one", "two"]


def test_a_server_may_have_no_list_of_models() -> None:
    server = FakeOpenAI(lists_models=False)
    with server, openai.OpenAI(base_url=server.url, api_key="key") as client, pytest.raises(openai.NotFoundError):
        client.models.list()


def test_a_script_may_be_a_function_of_the_request() -> None:
    with FakeOpenAI(lambda body: Say(body["messages"][-1]["content"].upper())) as server:
        assert ask(server).choices[0].message.content == "HOW MANY LAMPS?"


def test_by_turn_keeps_any_number_of_episodes_apart() -> None:
    script = by_turn([Say("first"), Say("second")])
    with FakeOpenAI(script) as server:
        later = [*QUESTION, {"role": "assistant", "content": "first"}, *QUESTION]
        texts = [ask(server, messages=history).choices[0].message.content for history in (later, QUESTION, later)]
    assert texts == ["second", "first", "second"]


def test_requests_are_remembered_with_headers_and_body() -> None:
    with FakeOpenAI([Say("Three.")]) as server:
        ask(server, temperature=0.5)
    assert server.chats == [{"model": "fake", "messages": QUESTION, "temperature": 0.5}]
    assert server.requests[0].headers["authorization"] == "Bearer key"


def test_it_serves_inside_a_running_event_loop() -> None:
    async def run() -> str | None:
        async with (
            FakeOpenAI([Say("Three.")]) as server,
            openai.AsyncOpenAI(base_url=server.url, api_key="key") as client,
        ):
            answer = await client.chat.completions.create(model="fake", messages=QUESTION)
            return answer.choices[0].message.content

    assert asyncio.run(run()) == "Three."


def test_requests_that_arrive_in_pieces_or_together_are_answered_in_order() -> None:
    def wire(question: str) -> bytes:
        body = json.dumps({"model": "fake", "messages": [{"role": "user", "content": question}]}).encode()
        return b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

    both = wire("one") + wire("two")
    server = FakeOpenAI(lambda body: Say(body["messages"][0]["content"]))
    with server, socket.create_connection(("127.0.0.1", server.port)) as client:
        for start in range(0, len(both), 50):
            client.sendall(both[start : start + 50])
        received = b""
        while received.count(b"total_tokens") < 2:
            received += client.recv(65536)
    assert received.index(b'"content":"one"') < received.index(b'"content":"two"')


def test_a_taken_port_is_an_error_in_the_caller() -> None:
    with FakeOpenAI() as first, pytest.raises(OSError), FakeOpenAI(port=first.port):
        pytest.fail("two servers on one port")


def test_it_runs_as_a_process_of_its_own() -> None:
    command = [sys.executable, "-m", "simtrain.testing", "--calls", "1", "--tool", "ping", "--answer", "ANSWER: 3"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        url = process.stdout.readline().strip()
        with openai.OpenAI(base_url=url, api_key="key") as client:
            first = client.chat.completions.create(model="fake", messages=QUESTION).choices[0].message
            history = [*QUESTION, {"role": "assistant", "content": ""}]
            last = client.chat.completions.create(model="fake", messages=history).choices[0].message
        process.terminate()
    assert first.tool_calls[0].function.name == "ping"
    assert last.content == "ANSWER: 3"
    assert process.returncode == 0
