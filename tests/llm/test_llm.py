"""The chat client against a server that behaves and misbehaves like real ones."""

from __future__ import annotations

import asyncio
import gzip
import pickle
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from email.utils import format_datetime

import orjson
import pytest

from simtrain.llm.client import ChatClient
from simtrain.llm.completion import Completion, Malformed, Price, ToolCall, read_completion
from simtrain.llm.http_limits import retry_after
from simtrain.llm.retries import ModelError
from simtrain.testing import Disconnect, FakeOpenAI, Garbage, Hang, Refuse, Say, Tool
from simtrain.values.clock import instant
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, Usage, encode

pytestmark = pytest.mark.slow

QUESTION = [{"role": "user", "content": "How many lamps?"}]
SECRET = "sk-very-secret"


class Pauses(list[float]):
    """Takes the place of sleeping, and keeps how long it would have been."""

    async def __call__(self, amount: float) -> None:
        self.append(amount)


def play(work: Callable[[ChatClient], Awaitable[object]], client: ChatClient) -> object:
    async def run() -> object:
        try:
            return await work(client)
        finally:
            await client.close()

    return asyncio.run(run())


def complete(server: FakeOpenAI, *, messages: list[object] | None = None, **knobs: object) -> Completion:
    client = ChatClient("fake", base_url=server.url, **{"backoff": 0.0, **knobs})
    answer = play(lambda client: client.complete(messages or QUESTION), client)
    assert isinstance(answer, Completion)
    return answer


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "SIMTRAIN_TRUSTED_HOSTS", "SIMTRAIN_KEY_VARIABLES"):
        monkeypatch.delenv(name, raising=False)


def test_a_text_comes_back_with_usage_and_cost() -> None:
    with FakeOpenAI([Say("Three.", prompt_tokens=1000, completion_tokens=10, cached_tokens=600)]) as server:
        answer = complete(server, price=Price(prompt=2.0, completion=8.0, cached=0.5))
    assert (answer.text, answer.finish_reason, answer.attempts) == ("Three.", "stop", 1)
    assert answer.usage == Usage(1000, 10, 600, pytest.approx((400 * 2.0 + 600 * 0.5 + 10 * 8.0) / 1e6))


def test_parallel_calls_come_back_in_order_as_they_were_written() -> None:
    with FakeOpenAI([Say(calls=[Tool("find", '{"q": 1}', id="a"), Tool("find", "not json", id="b")])]) as server:
        answer = complete(server)
    assert answer.calls == (ToolCall("a", "find", '{"q": 1}'), ToolCall("b", "find", "not json"))


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_thinking_is_kept_apart_whatever_field_carries_it(key: str) -> None:
    with FakeOpenAI([Say("Three.", reasoning="I count.", reasoning_key=key)]) as server:
        answer = complete(server)
    assert (answer.text, answer.reasoning) == ("Three.", "I count.")


@pytest.mark.parametrize(
    ("written", "text", "reasoning"),
    [
        ("<think>I count.</think>\n\nThree.", "Three.", "I count."),
        ("I count.</think>Three.", "Three.", "I count."),
        ("Three.<think>or four", "Three.", "or four"),
        ("<think>one</think>Three<think>two</think>.", "Three.", "one\ntwo"),
        ("Three.", "Three.", None),
    ],
)
def test_thinking_inside_the_text_is_split_off(written: str, text: str, reasoning: str | None) -> None:
    answer = read_completion(orjson.dumps(Say(written).body(model="m", number=1)))
    assert (answer.text, answer.reasoning) == (text, reasoning)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b"{}",
        b'{"choices": []}',
        b'{"choices": [1]}',
        b'{"choices": [{"message": null}]}',
        b'{"choices": [{"message": {"content": 5}}]}',
        b'{"choices": [{"message": {"tool_calls": "x"}}]}',
        b'{"choices": [{"message": {"tool_calls": [{"id": "a"}]}}]}',
        b'{"choices": [{"message": {"tool_calls": [{"function": {"arguments": "{}"}}]}}]}',
    ],
)
def test_a_body_that_is_no_completion_is_refused(body: bytes) -> None:
    with pytest.raises(Malformed):
        read_completion(body)


def test_the_error_in_a_body_with_status_200_is_named() -> None:
    with pytest.raises(Malformed, match="no capacity"):
        read_completion(b'{"error": {"message": "no capacity"}}')


def test_what_lenient_servers_leave_out_or_add_is_read_all_the_same() -> None:
    call = {"function": {"name": "find", "arguments": {"q": 1}}}
    message = {"content": [{"type": "text", "text": "Three"}, {"type": "image"}], "tool_calls": [call]}
    body = encode({"choices": [{"message": message}], "usage": {"prompt_tokens": "many", "completion_tokens": -3}})
    answer = read_completion(body.encode())
    assert (answer.text, answer.calls) == ("Three", (ToolCall("call_0", "find", '{"q":1}'),))
    assert answer.usage == Usage()


def test_sampling_and_tools_stand_in_the_request() -> None:
    tools: list[JsonObject] = [{"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}]
    with FakeOpenAI([Say("Three.")]) as server:
        client = ChatClient("fake", base_url=server.url)
        play(lambda client: client.complete(QUESTION, tools=tools, temperature=0.6, top_k=20), client)
    assert server.chats == [
        {"model": "fake", "messages": QUESTION, "tools": tools, "temperature": 0.6, "top_k": 20},
    ]


def test_messages_that_are_already_encoded_are_sent_as_they_are() -> None:
    with FakeOpenAI([Say("Three.")]) as server:
        complete(server, messages=[orjson.Fragment(orjson.dumps(QUESTION[0])), {"role": "assistant", "content": "é"}])
    assert server.chats[0]["messages"] == [*QUESTION, {"role": "assistant", "content": "é"}]


@pytest.mark.parametrize(
    "trouble",
    [
        Refuse(429),
        Refuse(408),
        Refuse(500),
        Refuse(503),
        Disconnect(),
        Disconnect(mid_body=False),
        Garbage(),
        Garbage(b"{}"),
    ],
    ids=repr,
)
def test_passing_trouble_is_tried_again(trouble: Refuse | Disconnect | Garbage) -> None:
    with FakeOpenAI([trouble, trouble, Say("Three.")]) as server:
        answer = complete(server)
    assert (answer.text, answer.attempts, len(server.chats)) == ("Three.", 3, 3)


def test_a_hang_ends_at_the_timeout_and_is_tried_again() -> None:
    with FakeOpenAI([Hang(), Say("Three.")]) as server:
        answer = complete(server, timeout=0.1)
    assert (answer.text, answer.attempts) == ("Three.", 2)


def test_the_last_failure_is_raised_when_the_attempts_are_used_up() -> None:
    with (
        FakeOpenAI([Refuse(500, "disk on fire")] * 3) as server,
        pytest.raises(ModelError, match="disk on fire") as caught,
    ):
        complete(server, attempts=3)
    assert caught.value.status == 500
    assert len(server.chats) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_a_refusal_that_no_retry_can_mend_is_raised_at_once(status: int) -> None:
    with FakeOpenAI([Refuse(status, "no")]) as server, pytest.raises(ModelError) as caught:
        complete(server)
    assert caught.value.status == status
    assert len(server.chats) == 1


def test_an_account_without_money_is_not_asked_again() -> None:
    with (
        FakeOpenAI([Refuse(429, "pay first", code="insufficient_quota")]) as server,
        pytest.raises(ModelError, match="pay"),
    ):
        complete(server)
    assert len(server.chats) == 1


def test_a_retry_after_header_is_honoured() -> None:
    pauses = Pauses()
    with FakeOpenAI([Refuse(429, retry_after="7"), Refuse(503, retry_after="0.5"), Say("Three.")]) as server:
        complete(server, sleep=pauses)
    assert pauses == [7.0, 0.5]


def test_a_retry_after_date_is_measured_from_the_date_of_the_reply() -> None:
    sent, later = "Mon, 03 Mar 2031 09:00:00 GMT", "Mon, 03 Mar 2031 09:00:42 GMT"
    pauses = Pauses()
    with FakeOpenAI([Refuse(429, retry_after=later, date=sent), Say("Three.")]) as server:
        complete(server, sleep=pauses)
    assert pauses == [42.0]


@pytest.mark.parametrize(("given", "expected"), [("soon", None), ("-5", 0.0), ("12", 12.0)])
def test_a_retry_after_header_that_means_nothing_is_passed_over(given: str, expected: float | None) -> None:
    assert retry_after({"retry-after": given}) == expected


def test_a_date_in_the_past_means_no_wait() -> None:
    from datetime import UTC, datetime

    past = datetime.fromtimestamp(instant("2020-01-01"), UTC)
    assert retry_after({"retry-after": format_datetime(past, usegmt=True)}) == 0.0


def test_a_server_that_wants_an_hour_is_not_waited_for() -> None:
    with FakeOpenAI([Refuse(429, retry_after="3600")]) as server, pytest.raises(ModelError):
        complete(server, sleep=Pauses())


def test_waits_double_with_jitter_and_stay_below_the_cap() -> None:
    pauses = Pauses()
    with FakeOpenAI([Refuse(500)] * 9) as server, pytest.raises(ModelError):
        complete(server, sleep=pauses, backoff=1.0, attempts=9)
    longest = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    assert all(cap / 2 <= pause <= cap for pause, cap in zip(pauses, longest, strict=True))
    assert len(set(pauses)) == len(pauses)


def test_ready_is_content_with_a_model_that_is_listed() -> None:
    with FakeOpenAI() as server:
        play(ChatClient.ready, ChatClient("fake", base_url=server.url))
    assert server.chats == []


def test_ready_makes_one_small_call_where_no_models_are_listed() -> None:
    with FakeOpenAI([Say("ok")], lists_models=False, counts=False) as server:
        play(ChatClient.ready, ChatClient("fake", base_url=server.url))
    assert server.chats[0]["max_tokens"] == 1


def test_ready_accepts_a_server_that_only_dislikes_the_probe() -> None:
    with FakeOpenAI([Refuse(400, "use max_completion_tokens")], lists_models=False, counts=False) as server:
        play(ChatClient.ready, ChatClient("fake", base_url=server.url))
    assert len(server.chats) == 1


def test_ready_accepts_a_name_that_is_served_but_not_listed() -> None:
    with FakeOpenAI([Say("ok")], unlisted=["alias"], counts=False) as server:
        play(ChatClient.ready, ChatClient("alias", base_url=server.url))
    assert server.chats[0]["model"] == "alias"


def refused(client: ChatClient) -> str:
    with pytest.raises(InputError) as caught:
        play(ChatClient.ready, client)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("lists_models", [True, False])
def test_ready_names_an_unknown_model_and_the_nearest_one(lists_models: bool) -> None:
    with FakeOpenAI(models=["qwen3-32b"], lists_models=lists_models) as server:
        line = refused(ChatClient("qwen3-23b", base_url=server.url))
    assert "has no model 'qwen3-23b'" in line
    assert ("did you mean 'qwen3-32b'?" in line) == lists_models


def test_ready_says_that_the_connection_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    line = refused(ChatClient("fake", base_url=f"http://127.0.0.1:{port}/v1"))
    assert "failed: connection refused; start the server" in line
    assert "did not answer" not in line


def test_ready_says_that_a_server_hangs() -> None:
    with FakeOpenAI([Hang(), Hang()], lists_models=False, counts=False) as server:
        assert "did not answer" in refused(ChatClient("fake", base_url=server.url, timeout=0.1, backoff=0.0))


def test_ready_says_that_the_path_is_wrong() -> None:
    with FakeOpenAI() as server:
        assert "most end in /v1" in refused(ChatClient("fake", base_url=server.url.removesuffix("/v1")))


def test_ready_says_that_the_key_is_refused_and_hides_it() -> None:
    with FakeOpenAI(api_key="right") as server:
        line = refused(ChatClient("fake", base_url=server.url, api_key=SECRET))
    assert "check the key in OPENAI_API_KEY" in line
    assert SECRET not in line


def test_a_missing_key_for_openai_is_said_before_any_call() -> None:
    assert "set OPENAI_API_KEY" in refused(ChatClient("gpt-5"))


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host/v1", "http://", "http://host:port/v1"])
def test_a_base_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="is not a base URL"):
        ChatClient("fake", base_url=url)


def test_keys_stand_in_no_repr_and_no_error() -> None:
    client = ChatClient("fake", base_url="http://localhost:1/v1", api_key=SECRET)
    assert SECRET not in repr(client)
    with FakeOpenAI([Refuse(400, f"the key {SECRET} is odd")]) as server, pytest.raises(ModelError) as caught:
        complete(server, api_key=SECRET)
    assert "the key *** is odd" in str(caught.value)


def test_address_and_key_come_from_the_usual_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeOpenAI([Say("Three.")], api_key=SECRET) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", SECRET)
        answer = play(lambda client: client.complete(QUESTION), ChatClient("fake"))
    assert isinstance(answer, Completion) and answer.text == "Three."


def test_a_server_named_in_a_file_gets_a_key_only_when_it_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setattr("simtrain.llm.client._LOOPBACK", ())
    with FakeOpenAI(lambda body: Say("Three.")) as server:
        complete(server, trusted=False)
        monkeypatch.setenv("SIMTRAIN_TRUSTED_HOSTS", "example.org, 127.0.0.1")
        complete(server, trusted=False)
    assert [request.headers["authorization"] for request in server.requests] == ["Bearer none", f"Bearer {SECRET}"]


def test_one_client_works_in_one_event_loop_after_another_and_without_being_closed() -> None:
    with FakeOpenAI(lambda body: Say("Three.")) as server:
        client = ChatClient("fake", base_url=server.url)
        texts = [asyncio.run(client.complete(QUESTION)).text for _ in range(3)]
        copy = pickle.loads(pickle.dumps(client))
        texts.append(asyncio.run(copy.complete(QUESTION)).text)
    assert texts == ["Three."] * 4


def test_connections_are_kept_open_between_calls() -> None:
    async def run(client: ChatClient) -> None:
        for _ in range(5):
            await asyncio.gather(*(client.complete(QUESTION) for _ in range(20)))

    with FakeOpenAI(lambda body: Say("Three.")) as server:
        play(run, ChatClient("fake", base_url=server.url))
    assert server.connections <= 20


def test_more_calls_than_a_default_pool_holds_are_in_flight_at_once() -> None:
    arrived = 0

    def last_releases(body: JsonObject) -> Say | Hang:
        nonlocal arrived
        arrived += 1
        return Say("Three.") if arrived == 150 else Hang()

    async def run(client: ChatClient) -> None:
        calls = [asyncio.create_task(client.complete(QUESTION)) for _ in range(150)]
        await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    with FakeOpenAI(last_releases) as server:
        play(run, ChatClient("fake", base_url=server.url))
    assert arrived == 150


def test_closing_waits_for_the_calls_in_flight_and_later_calls_work() -> None:
    async def run(client: ChatClient) -> list[Completion]:
        async def one() -> Completion:
            answer = await client.complete(QUESTION)
            await client.close()
            return answer

        return [*await asyncio.gather(*(one() for _ in range(20))), await one()]

    with FakeOpenAI(lambda body: Say("Three."), latency=0.002) as server:
        answers = play(run, ChatClient("fake", base_url=server.url, attempts=1))
    assert isinstance(answers, list) and [answer.text for answer in answers] == ["Three."] * 21


def serve_once(head: bytes, pieces: Callable[[], Iterator[bytes]]) -> Iterator[str]:
    """A server that answers every request with a body of any size; its base URL."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\n" + head + b"\r\n")
            for piece in pieces():
                writer.write(piece)
                await writer.drain()
        writer.close()

    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(answer, "127.0.0.1", 0))

    def run() -> None:
        # A runner cancels what still waits for a request when it ends.
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.get_loop().run_forever()

    thread = threading.Thread(target=run)
    thread.start()
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    loop.call_soon_threadsafe(server.close)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


def zipped(size: int) -> bytes:
    """So many spaces, packed."""
    return gzip.compress(b" " * size)


@pytest.mark.parametrize(
    ("head", "body", "said"),
    [
        (b"content-encoding: gzip\r\n", lambda: iter([zipped(70 << 20)]), "more than 64 MiB"),
        (b"", lambda: (b" " * (1 << 20) for _ in range(70)), "more than 64 MiB"),
        (b"content-encoding: zstd\r\n", lambda: iter([b"x"]), "was not requested"),
        (b"content-encoding: gzip\r\n", lambda: iter([b"no gzip"]), "cannot be decompressed"),
        (b"content-encoding: gzip\r\n", lambda: iter([zipped(100)[:-9]]), "ends too early"),
    ],
)
def test_a_reply_that_is_too_large_as_received_or_as_unpacked_is_given_up(
    head: bytes, body: Callable[[], Iterator[bytes]], said: str
) -> None:
    for url in serve_once(head, body):
        client = ChatClient("fake", base_url=url, attempts=1)
        with pytest.raises(ModelError, match=said):
            play(lambda client: client.complete(QUESTION), client)


def test_a_packed_reply_is_unpacked() -> None:
    said = {"choices": [{"message": {"role": "assistant", "content": "Three."}, "finish_reason": "stop"}]}
    for url in serve_once(b"content-encoding: gzip\r\n", lambda: iter([gzip.compress(encode(said).encode())])):
        answer = play(lambda client: client.complete(QUESTION), ChatClient("fake", base_url=url))
        assert isinstance(answer, Completion) and answer.text == "Three."


def test_a_file_names_only_key_variables_that_the_user_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    with FakeOpenAI(lambda _: Say("ok")) as server:
        with pytest.raises(InputError, match="SIMTRAIN_KEY_VARIABLES=AWS_SECRET_ACCESS_KEY"):
            complete(server, api_key_env="AWS_SECRET_ACCESS_KEY", trusted=False)
        assert not server.requests
        monkeypatch.setenv("SIMTRAIN_KEY_VARIABLES", "OTHER, AWS_SECRET_ACCESS_KEY")
        complete(server, api_key_env="AWS_SECRET_ACCESS_KEY", trusted=False)
        assert server.requests[-1].headers["authorization"] == f"Bearer {SECRET}"


def test_a_base_url_with_a_password_is_refused_without_telling_it() -> None:
    with pytest.raises(InputError, match="holds a user or a password") as refused:
        ChatClient("fake", base_url=f"http://me:{SECRET}@127.0.0.1:1/v1")
    assert SECRET not in str(refused.value)
