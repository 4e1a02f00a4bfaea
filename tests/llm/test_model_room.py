"""What is found out about a model's server before anything is played: tools that vanish, a context that is too short."""

from __future__ import annotations

import logging
from pathlib import Path

import bakery
import pytest

from simtrain import load_scenario, run
from simtrain.runs.run import RunResult
from simtrain.runs.run_folder import read_run
from simtrain.testing import FakeOpenAI, Refuse, Reply, Say, Script, Tool
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject

pytestmark = pytest.mark.slow

ANSWER = Say("ANSWER: 0")


def play(folder: Path, server: FakeOpenAI, *, limits: str = "", **knobs: object) -> RunResult:
    folder.mkdir(exist_ok=True)
    file = bakery.write_files(folder)
    file.write_text(f"{file.read_text()}{limits}")
    given = {"base_url": server.url, "backoff": 0, **knobs}
    return run([load_scenario(file)], "chat:fake", out=folder / "run", knobs=given, episodes=2, concurrency=1)


def refused(folder: Path, server: FakeOpenAI, **knobs: object) -> str:
    with server, pytest.raises(InputError) as caught:
        play(folder, server, **knobs)
    assert not (folder / "run").exists() and server.chats == []
    assert "\n" not in str(caught.value) and str(caught.value).startswith("birthday: ")
    return str(caught.value)


def prompt_length(folder: Path) -> int:
    """The tokens of the first prompt, with its tools."""
    with FakeOpenAI(lambda _: ANSWER) as server:
        play(folder / "once", server)
    return server._length(server.chats[0])


def test_a_server_with_room_is_asked_twice_before_a_run(tmp_path: Path) -> None:
    with FakeOpenAI(lambda _: ANSWER, context=100_000) as server:
        assert play(tmp_path, server).played == 2
    asked = [request.body for request in server.requests if request.method == "POST"]
    assert [body.get("max_tokens") for body in asked] == [1, 1, None, None]
    assert "tools" in asked[0] and "tools" not in asked[1]
    assert asked[0]["messages"][0] == asked[2]["messages"][0] and asked[0]["tools"] == asked[2]["tools"]


def test_tools_that_a_template_ignores_are_no_clean_looking_zero(tmp_path: Path) -> None:
    line = refused(tmp_path, FakeOpenAI(lambda _: ANSWER, sees_tools=False))
    assert "does not show fake its tools" in line and "tokens with 4 tools" in line and "protocol=text" in line


def test_calls_written_as_text_need_no_template(tmp_path: Path) -> None:
    with FakeOpenAI(lambda _: ANSWER, sees_tools=False) as server:
        assert play(tmp_path, server, protocol="text").played == 2


def test_a_server_that_refuses_tools_is_said_before_the_run(tmp_path: Path) -> None:
    def choose(body: JsonObject) -> Reply:
        return Refuse(400, "auto tool choice requires a parser") if "tools" in body else ANSWER

    line = refused(tmp_path, _Probed(choose))
    assert "a call with tools is refused" in line and "auto tool choice" in line


class _Probed(FakeOpenAI):
    """A server whose script answers the probes as well; what it was asked by them is no episode."""

    def __init__(self, script: Script) -> None:
        super().__init__(script, counts=False)

    @property
    def chats(self) -> list[JsonObject]:
        return [body for body in super().chats if body.get("max_tokens") != 1]


@pytest.mark.parametrize("status", [400, 422])
def test_a_server_that_only_dislikes_the_probe_is_played_with(status: int, tmp_path: Path) -> None:
    server = _Probed(lambda body: Refuse(status, "use max_completion_tokens") if "max_tokens" in body else ANSWER)
    with server:
        assert play(tmp_path, server).played == 2


def test_a_server_that_counts_no_tokens_is_played_with(tmp_path: Path) -> None:
    with _Probed(lambda _: Say("ANSWER: 0", prompt_tokens=0)) as server:
        assert play(tmp_path, server).played == 2


def test_a_prompt_longer_than_the_context_is_said_before_the_run(tmp_path: Path) -> None:
    line = refused(tmp_path, FakeOpenAI(lambda _: ANSWER, context=300), protocol="text")
    assert "the first prompt is refused" in line and "larger context" in line


def test_a_context_without_room_for_one_reply_is_said_before_the_run(tmp_path: Path) -> None:
    length = prompt_length(tmp_path)
    line = refused(tmp_path, FakeOpenAI(lambda _: ANSWER, context=length + 99), max_tokens=100)
    assert (
        f"a prompt of {length:,} tokens and a reply of 100 do not fit" in line and f": {length + 99:,} tokens" in line
    )


def test_a_context_that_just_holds_prompt_and_limits_is_played_without_a_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    length = prompt_length(tmp_path)
    with caplog.at_level(logging.WARNING), FakeOpenAI(lambda _: ANSWER, context=length + 3 * 100) as server:
        assert play(tmp_path, server, max_tokens=100, limits="limits: {turns: 3}\n").played == 2
    assert caplog.messages == []


def test_turns_that_may_outgrow_the_context_are_warned_of_and_played(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    length = prompt_length(tmp_path)
    with caplog.at_level(logging.WARNING), FakeOpenAI(lambda _: ANSWER, context=length + 299) as server:
        assert play(tmp_path, server, max_tokens=100, limits="limits: {turns: 3}\n").played == 2
    (message,) = caplog.messages
    assert "3 turns of 100 may outgrow the context" in message


def test_a_prompt_that_takes_all_tokens_of_an_episode_is_said_before_the_run(tmp_path: Path) -> None:
    length = prompt_length(tmp_path)
    line = refused(tmp_path, FakeOpenAI(lambda _: ANSWER), limits=f"limits: {{tokens: {length}}}\n")
    assert f"the prompt alone has {length:,} tokens" in line and "limits.tokens" in line


def test_a_history_that_outgrows_the_context_is_the_agent_s(tmp_path: Path) -> None:
    length = prompt_length(tmp_path)
    call = Say("x" * 400, calls=[Tool("orders_list", {})])
    with FakeOpenAI(lambda _: call, context=length + 60) as server:
        play(tmp_path, server)
    stops = {(played.stop.reason, played.stop.blame) for played in read_run(tmp_path / "run")}
    assert stops == {("failed", "agent")}
