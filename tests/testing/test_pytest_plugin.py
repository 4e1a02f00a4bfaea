"""The plug-in for pytest, in real inner runs of pytest: it was installed with the package, nothing here loads it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from drills import write_bakery

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow

SUPPORT = Path(__file__).parents[1] / "support"


@pytest.fixture
def bakery(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    write_bakery(pytester.path)
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT))
    monkeypatch.setenv("COLUMNS", "100")
    return pytester


def inner(pytester: pytest.Pytester, text: str, *words: str) -> pytest.RunResult:
    pytester.makepyfile(test_inner=text)
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:xdist", *words, timeout=300)


def test_an_assertion_on_a_figure_that_fails_shows_the_worst_episode_and_commands_that_work(
    bakery: pytest.Pytester,
) -> None:
    result = inner(
        bakery,
        """
        def test_it(simtrain_drill):
            drill = simtrain_drill("birthday.yaml", "drills:Blind", packs=["rough"], cases=3, out="out")
            assert drill.clean.success == 1 and drill.arm("rough/transient_error").recovery == 1
            assert drill.duplicate_write == 0
        """,
    )
    result.assert_outcomes(failed=1)
    out = result.stdout.str()
    assert "duplicate-write is 0.6667; 6 episodes count against it" in out
    (arms,) = (run["arms"] for run in json.loads((bakery.path / "out" / "drill.json").read_text())["runs"])
    assert sum(arm["duplicate_writes"]["part"] for arm in arms) == 6
    shown, replayed = (
        next(line for line in out.splitlines() if line.startswith(f"simtrain {verb} ")) for verb in ("show", "replay")
    )
    environment = {**os.environ, "COLUMNS": "100"}
    for command in (shown, replayed):
        call = [sys.executable, "-m", *shlex.split(command)]
        done = subprocess.run(call, cwd=bakery.path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        lines = [line.rstrip() for line in done.stdout.splitlines() if line.strip()]
        assert "As in the run, to the byte." in lines or command is shown
        assert all(line in out for line in lines if "As in the run" not in line), "as `simtrain show` prints it"


def test_a_drill_that_is_good_enough_passes_and_shows_nothing(bakery: pytest.Pytester) -> None:
    result = inner(
        bakery,
        """
        def test_it(simtrain_drill):
            drill = simtrain_drill("birthday.yaml", "resilient", packs=["rough"], cases=2)
            assert drill.success >= 0.9 and drill.recovery >= 0.8 and drill.false_success == 0
            assert drill.figure("pass@1") == 1 and not drill.findings and (drill.path / "drill.html").exists()
        """,
    )
    result.assert_outcomes(passed=1)
    assert "simtrain show" not in result.stdout.str()


def test_what_cannot_be_told_fails_and_so_does_a_fault_that_never_fired(bakery: pytest.Pytester) -> None:
    result = inner(
        bakery,
        """
        def test_unfired(simtrain_drill):
            simtrain_drill("birthday.yaml", packs=["idle"], cases=2)

        def test_allowed(simtrain_drill):
            drill = simtrain_drill("birthday.yaml", packs=["idle"], cases=2, allow_unfired=True)
            assert drill.success == 1
            assert drill.recovery >= 0.8
        """,
    )
    result.assert_outcomes(failed=2)
    out = result.stdout.str()
    assert "planned faults never fired: idle/never: never never fired" in out
    assert "recovery cannot be told from what was played" in out


def test_an_agent_of_the_test_is_played_also_from_a_running_loop(bakery: pytest.Pytester) -> None:
    result = inner(
        bakery,
        """
        import asyncio

        async def agent(prompt, tools, step):
            await step("cakes.list", {})
            return "CANNOT: \\x1b[31m I only look."

        def test_it(simtrain_play):
            async def inside():
                return simtrain_play("birthday.yaml", agent, episodes=2, attempts=1)
            played = asyncio.run(inside())
            assert [one.stop.reason for one in played] == ["abstained"] * 2
            assert all(one.reward == 1 for one in played)

        def test_oracle(simtrain_play):
            assert [one.reward for one in simtrain_play("birthday.yaml", "oracle", episodes=2)] == [1, 1]
        """,
    )
    result.assert_outcomes(passed=1, failed=1)
    out = result.stdout.str()
    assert "cakes.list {}" in out and "stop: abstained" in out
    assert "I only look" in out and "\x1b[31m" not in out.partition("worst episode")[2], "nothing steers the terminal"


CLIENT = """
import httpx, json

class Client:
    def __init__(self, url):
        self.http, self.url, self.number = httpx.Client(timeout=60), url, 0
        self.headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
        info = {"name": "raw", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info})

    def ask(self, method, params):
        self.number += 1
        body = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        reply = self.http.post(self.url, json=body, headers=self.headers)
        if "mcp-session-id" in reply.headers:
            self.headers["Mcp-Session-Id"] = reply.headers["mcp-session-id"]
        lines = [line[5:] for line in reply.text.splitlines() if line.startswith("data:")] or [reply.text]
        return next(found["result"] for found in map(json.loads, filter(str.strip, lines)) if found.get("id") == self.number)
"""


def test_an_episode_is_served_over_a_socket_and_graded_at_the_end(bakery: pytest.Pytester) -> None:
    bakery.makepyfile(raw_client=CLIENT)
    result = inner(
        bakery,
        """
        from raw_client import Client

        def test_it(simtrain_serve):
            episode = simtrain_serve("birthday.yaml", case=1)
            client = Client(episode.url)
            names = [tool["name"] for tool in client.ask("tools/list", {})["tools"]]
            listing = next(name for name in names if "list" in name)
            client.ask("tools/call", {"name": listing, "arguments": {}})
            assert episode.prompt and len(episode.grade().steps) == 1
            ended = episode.finish("ANSWER: done")
            assert ended.stop.reason == "answered" and ended.reward == 0 and episode.servers
            print("served at", episode.url)
            assert ended.reward == 1

        def test_a_world(simtrain_serve):
            assert Client(simtrain_serve("helpdesk").url).ask("tools/list", {})["tools"]
        """,
    )
    result.assert_outcomes(passed=1, failed=1)
    out = result.stdout.str()
    assert "served at http://127.0.0.1:" in out and "simtrain: served episode" in out and "answer: done" in out


def test_a_run_that_does_not_use_it_loads_next_to_nothing(pytester: pytest.Pytester) -> None:
    result = inner(
        pytester,
        """
        import sys

        def test_it(request):
            assert request.config.pluginmanager.hasplugin("simtrain")
            loaded = {name for name in sys.modules if name.partition(".")[0] == "simtrain"}
            assert loaded == {"simtrain", "simtrain.testing", "simtrain.testing.pytest_plugin"}

        def test_that_fails():
            assert 1 == 2
        """,
    )
    result.assert_outcomes(passed=1, failed=1)
    assert "simtrain:" not in result.stdout.str()
