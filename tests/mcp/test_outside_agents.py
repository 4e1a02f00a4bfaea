"""Agents outside: programs and harnesses that know nothing of simtrain play runs and drills over MCP, on real sockets."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from bakery import scenario, write_files
from drills import by_arm, write_bakery
from mcp import Client
from real_runs import alive
from serving_bakery import serving

from simtrain import drill, load_scenario, rollout, run
from simtrain.cli import main
from simtrain.contracts.trajectory import Trajectory, to_line
from simtrain.mcp.serve import agent_program as program
from simtrain.mcp.serve.episode_queue import Counter
from simtrain.runs.run_folder import read_run
from simtrain.values.errors import InputError

pytestmark = pytest.mark.slow

PROGRAM = f"{sys.executable} {Path(__file__).parents[1] / 'support' / 'outside_agent.py'}"


def agent(mode: str) -> str:
    return f"mcp:{PROGRAM} {mode}"


# Programs


def test_a_program_and_an_agent_in_process_meet_the_same_drill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = write_bakery(tmp_path)
    results = {
        name: drill([load_scenario(file)], player, packs=["rough"], cases=2, attempts=2, out=tmp_path / name)
        for name, player in (("outside", agent("blind")), ("inside", "drills:Blind"))
    }
    assert all(result.complete and result.page and result.page.exists() for result in results.values())
    outside_arms, inside_arms = by_arm(tmp_path / "outside"), by_arm(tmp_path / "inside")
    assert list(outside_arms) and outside_arms.keys() == inside_arms.keys()
    for arm, played in outside_arms.items():
        for one, other in zip(played, inside_arms[arm], strict=True):
            assert (one.episode, one.seed, one.attempt, one.prompt) == (
                other.episode, other.seed, other.attempt, other.prompt,
            )  # fmt: skip
            assert [turn.steps for turn in one.turns] == [turn.steps for turn in other.turns]
            assert (one.changes, one.answer, one.stop, one.rewards) == (
                other.changes, other.answer, other.stop, other.rewards,
            )  # fmt: skip
    figures = [
        [{**arm.measures.facts(), "arm": arm.name} for arm in result.report.runs[0].arms]
        for result in results.values()
        if result.report
    ]
    assert figures[0] == figures[1]
    assert outside_arms["clean"][0].agent["name"] == agent("blind")


def test_a_program_is_told_its_task_and_its_servers_in_every_way(tmp_path: Path) -> None:
    words = f'mcp:{PROGRAM} told {{prompt}} "{{url}}"'
    trajectory = asyncio.run(rollout(scenario(tmp_path), words))
    assert trajectory.stop.reason == "answered", trajectory.stop
    assert json.loads(trajectory.answer or "") == {
        "names": {"cakes": ["list", "get"], "orders": ["place", "list"]},
        "same": True,
        "system": True,
    }


@pytest.mark.parametrize(
    ("mode", "stop", "blame", "detail"),
    [
        ("declines", "abstained", "agent", None),
        ("breaks", "failed", "agent", "exit code 1: no model"),
        ("sleeps", "wall_time", "agent", "more than 0.3 seconds"),
        ("stubborn", "budget", "agent", "more than 3 calls"),
    ],
)
def test_however_a_program_ends_its_episode_is_recorded_and_it_is_gone(
    mode: str, stop: str, blame: str | None, detail: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "GRACE", 0.2)
    found = scenario(tmp_path, more="limits: {calls: 3}")
    knobs = {"timeout": 0.3} if mode == "sleeps" else {}
    result = run([found], agent(mode), out=tmp_path / "run", knobs=knobs, episodes=1)
    assert result.failed == 0
    (played,) = read_run(tmp_path / "run")
    assert (played.stop.reason, played.stop.blame, played.stop.detail) == (stop, blame, detail)
    assert played.reward is not None


def test_what_a_program_leaves_behind_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "GRACE", 0.2)
    trajectory = asyncio.run(rollout(scenario(tmp_path), agent("leaves")))
    assert trajectory.stop.reason == "answered"
    assert not alive(int(trajectory.answer or ""))


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("no-such-program-anywhere {url}", "there is no program 'no-such-program-anywhere'"),
        ("python {adress}", "unknown field {adress} in the command"),
        ("python 'agent.py", "cannot be read: No closing quotation"),
        ("   ", "there is no command"),
    ],
)
def test_a_command_that_cannot_be_is_refused_before_anything_is_played(
    command: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message.replace("{", r"\{")):
        run([scenario(tmp_path)], f"mcp:{command}", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_agent_outside_has_no_transport_besides(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="plays over MCP anyway; leave --via out"):
        run([scenario(tmp_path)], agent("declines"), out=tmp_path / "run", via="mcp")


def test_workers_start_their_own_programs(tmp_path: Path) -> None:
    result = run([scenario(tmp_path)], agent("declines"), out=tmp_path / "run", episodes=4, workers=2)
    assert (result.played, result.failed) == (4, 0)
    assert {trajectory.stop.reason for trajectory in read_run(tmp_path / "run")} == {"abstained"}


# Waiting for agents


async def harness(control: Path, play: Callable[[dict[str, Any]], Any]) -> list[Trajectory]:
    """Somebody's harness: takes episodes until the run is over."""
    said = json.loads(control.read_text())
    ended: list[Any] = []
    headers = {"authorization": f"Bearer {said['token']}"}
    async with httpx.AsyncClient(base_url=said["url"], headers=headers, timeout=60, trust_env=False) as plane:
        while control.exists():
            try:
                taken = await plane.post("/episodes/next")
                if taken.status_code == 204:
                    continue
                facts = taken.json()
                closed = await plane.post(f"/episodes/{facts['episode']}/close", json=await play(facts))
            except httpx.TransportError:
                break
            assert closed.status_code == 200, closed.text
            ended.append(closed.json())
    return ended


def waiting_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any
) -> tuple[threading.Thread, list[Any], Path]:
    """A drill that waits for agents in a thread, once its control file is there."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr("simtrain.mcp.serve.control.LONG_POLL", 0.2)
    knobs = {"patience": 20, **options.pop("knobs", {})}
    found, results = [load_scenario(write_bakery(folder))], []
    played = partial(drill, found, "mcp", packs=["rough"], cases=2, out=folder / "out", knobs=knobs, **options)
    thread = threading.Thread(target=lambda: results.append(played()), daemon=True)
    thread.start()
    return thread, results, folder / "control.json"


async def appears(file: Path) -> None:
    async with asyncio.timeout(30):
        while not file.exists():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_harness_asks_for_episodes_until_the_drill_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread, results, control = waiting_run(tmp_path, monkeypatch, concurrency=2)
    await appears(control)

    async def play(facts: dict[str, Any]) -> dict[str, Any]:
        async with Client(facts["url"]) as client:
            cake = facts["prompt"].split('"')[1]
            found = await client.call_tool("cakes__get", {"name": cake})
            while found.is_error:
                found = await client.call_tool("cakes__get", {"name": cake})
            wanted = {"cake_id": (found.structured_content or {})["id"], "amount": 2}
            placed = await client.call_tool("orders__place", wanted)
            answer = (placed.structured_content or {}).get("id")
        return {"answer": str(answer), "prompt_tokens": 900, "completion_tokens": 100, "cost": 0.25}

    ended = await harness(control, play)
    await asyncio.to_thread(thread.join, 30)
    assert len(ended) == 2 * 4 and not control.exists()
    (result,) = results
    clean = result.report.runs[0].clean
    assert (clean.success.value, clean.tokens, clean.cost) == (1.0, 1000.0, 0.5)
    assert {trajectory.arm for trajectory in read_run(tmp_path / "out")} == {
        "clean", "rough/transient_error", "rough/timeout_after", "rough",
    }  # fmt: skip


async def test_a_harness_may_say_that_its_agent_broke_down_or_declined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread, _, control = waiting_run(tmp_path, monkeypatch, arms=["pack"], concurrency=1)
    await appears(control)
    words = iter([{"failed": "no model"}, {"answer": "no oven", "abstain": True}, {}, {"answer": "done"}])

    async def play(facts: dict[str, Any]) -> dict[str, Any]:
        return next(words)

    await harness(control, play)
    await asyncio.to_thread(thread.join, 30)
    stops = sorted((one.stop.reason, one.stop.detail or "") for one in read_run(tmp_path / "out"))
    assert stops == [
        ("abstained", ""), ("answered", ""), ("answered", "no answer was given"), ("failed", "no model"),
    ]  # fmt: skip


async def test_the_command_line_takes_and_closes_episodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    thread, results, control = waiting_run(tmp_path, monkeypatch, arms=["pack"], concurrency=1)
    await appears(control)

    def typed(*words: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(["episode", *words])
        return int(ended.value.code or 0), capsys.readouterr().out

    for _ in range(4):
        code, out = await asyncio.to_thread(typed, "next", "--json")
        assert code == 0
        closed, _ = await asyncio.to_thread(typed, "close", json.loads(out)["episode"], "--answer", "no", "--abstain")
        assert closed == 0
    await asyncio.to_thread(thread.join, 30)
    assert results[0].complete


async def test_who_asks_before_the_run_listens_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    # What a killed run has left behind counts as nobody there.
    (tmp_path / "control.json").write_text('{"url": "http://127.0.0.1:9", "token": "old"}')
    asking = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "simtrain", "episode", "next", "--json", "--wait", "60",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert asking.stderr is not None
    assert "waiting 60 s for a run that writes control.json" in (await asking.stderr.readline()).decode()
    thread, results, control = waiting_run(tmp_path, monkeypatch, arms=["pack"], concurrency=4)
    taken = json.loads((await asking.communicate())[0])
    assert asking.returncode == 0 and taken["episode"].isalnum()
    said = json.loads(control.read_text())
    assert f"waiting for agents at {said['url']} (control.json)" in capfd.readouterr().err

    async def play(facts: dict[str, Any]) -> dict[str, Any]:
        return {}

    async with httpx.AsyncClient(headers={"authorization": f"Bearer {said['token']}"}, trust_env=False) as plane:
        assert (await plane.post(f"{said['url']}/episodes/{taken['episode']}/close", json={})).is_success
    await harness(control, play)
    await asyncio.to_thread(thread.join, 30)
    assert results[0].complete


def test_who_asks_where_no_run_comes_is_told_that_no_episode_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["episode", "next", "--wait", "0.01"])
    assert ended.value.code == 1 and "no episode waits" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["episode", "list"])
    assert ended.value.code == 2 and "control.json: there is no control file; start" in capsys.readouterr().err


async def test_no_episode_has_a_name_that_reads_like_an_option(tmp_path: Path) -> None:
    async with serving([scenario(tmp_path)]) as served:
        names = [(await served.stage.host.open()).name for _ in range(200)]
        assert all(name.isalnum() for name in names) and len({*names}) == 200
        reply = await served.control.post("/episodes", json={"name": "-x"})
        assert reply.status_code == 400


async def test_an_episode_that_nobody_finishes_ends_by_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    knobs = {"timeout": 0.3}
    thread, _, control = waiting_run(tmp_path, monkeypatch, arms=["pack"], concurrency=4, knobs=knobs)
    await appears(control)
    said = json.loads(control.read_text())
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {said['token']}"}, trust_env=False) as plane:
        for _ in range(4):
            assert (await plane.post(f"{said['url']}/episodes/next")).status_code == 200
    await asyncio.to_thread(thread.join, 30)
    assert [one.stop.reason for one in read_run(tmp_path / "out")] == ["wall_time"] * 4


def test_a_run_that_nobody_comes_to_ends_with_a_clear_word_and_can_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = load_scenario(write_files(tmp_path))
    with pytest.raises(InputError, match=r"no agent has asked for an episode for 0\.2 seconds"):
        run([found], "mcp", out=tmp_path / "out", episodes=2, knobs={"patience": 0.2})
    assert not Path("control.json").exists()
    result = run([found], "mcp:true", out=tmp_path / "other", episodes=2)
    assert result.played == 2


async def test_an_episode_whose_taker_is_gone_goes_to_the_next_one(tmp_path: Path) -> None:
    counter = Counter(patience=30)
    async with serving([scenario(tmp_path)]) as served:
        held = await served.stage.host.open()
        offering = asyncio.create_task(counter.offer(held))
        assert await counter.take(within=5) is held
        counter.give_back(held)
        assert await counter.take(within=5) is held
        counter.taken(held)
        await offering
        counter.done(held)
        assert await counter.take(within=0.01) is None
        with pytest.raises(LookupError, match="no longer waits"):
            counter.taken(held)


async def test_a_control_plane_without_a_run_hands_out_nothing(tmp_path: Path) -> None:
    async with serving([scenario(tmp_path)]) as served:
        reply = await served.control.post("/episodes/next")
    assert (reply.status_code, reply.json()["error"]) == (
        400, "no run waits for agents here; open an episode with POST /episodes",
    )  # fmt: skip


def test_a_program_has_the_environment_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_KEY", "sk-secret")
    words = f"mcp:{sys.executable} -c 'import os; print(len(os.environ[\"AGENT_KEY\"]))'"
    trajectory = asyncio.run(rollout(scenario(tmp_path), words))
    assert trajectory.answer == "9" and b"sk-secret" not in to_line(trajectory)
