"""Sessions in Python: open, call, finish, fork, close; from any thread, one by one and in batches."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from bakery import scenario

from simtrain import Session, Sessions, rollout
from simtrain.contracts.scenario import Scenario
from simtrain.contracts.trajectory import Trajectory, from_line
from simtrain.values.errors import EpisodeOver, InputError, SimulatorFault
from simtrain.values.types import JsonObject, Observation, Usage


@pytest.fixture(scope="module")
def sessions() -> Iterator[Sessions]:
    with Sessions() as opened:
        yield opened


@pytest.fixture
def birthday(tmp_path: Path) -> Scenario:
    return scenario(tmp_path)


def cake_of(session: Session) -> JsonObject:
    found = session.call("cakes.get", {"name": session.prompt.split('"')[1]}).content
    assert found is not None
    return found


def order(session: Session, *, amount: int = 2) -> str:
    content = session.call("orders.place", {"cake_id": cake_of(session)["id"], "amount": amount}).content
    assert content is not None
    return content["id"]


def test_an_episode_is_played_call_by_call_to_full_reward(sessions: Sessions, birthday: Scenario) -> None:
    session = sessions.open(birthday, case=3, seed=7)
    assert 'Order two of "' in session.prompt and "ANSWER:" in session.system
    assert [tool.name for tool in session.tools][:2] == ["cakes.list", "cakes.get"]
    answer = order(session)
    trajectory = session.finish(f"ANSWER: {answer}")
    assert (trajectory.reward, trajectory.answer, trajectory.seed) == (1.0, answer, 7)
    assert [step.action.tool for step in trajectory.steps] == ["cakes.get", "orders.place"]
    assert trajectory.agent == {"name": "session"}


async def test_the_oracle_by_hand_leaves_the_trajectory_of_the_rollout(sessions: Sessions, birthday: Scenario) -> None:
    played = await rollout(birthday, "oracle", case=2, seed=5)
    session = sessions.open(birthday, case=2, seed=5)
    for step in played.steps:
        session.call(step.action.tool, step.action.arguments)
    by_hand = session.finish(f"ANSWER: {played.answer}")

    def of_the_world(trajectory: Trajectory) -> object:
        steps = [replace(step, action=replace(step.action, id="")) for step in trajectory.steps]
        return steps, trajectory.changes, trajectory.reward, trajectory.rewards, trajectory.answer, trajectory.world

    assert of_the_world(by_hand) == of_the_world(played)


def test_a_fork_goes_its_own_way(sessions: Sessions, birthday: Scenario) -> None:
    session = sessions.open(birthday)
    cake = cake_of(session)
    with session.fork() as fork:
        assert fork.name != session.name and len(fork.steps) == 1
        fork.call("orders.place", {"cake_id": cake["id"], "amount": 2})
        assert (session.grade().reward, fork.grade().reward) == (0.0, 1.0)
    assert session.finish(None).reward == 0.0


@pytest.mark.parametrize(
    ("text", "options", "stop", "answer"),
    [
        ("I looked.\nANSWER: O0001", {}, "answered", "O0001"),
        ("CANNOT: sold out", {}, "abstained", "sold out"),
        ("sold out", {"abstain": True}, "abstained", "sold out"),
        (None, {"failed": "out of memory"}, "failed", None),
        (None, {}, "answered", None),
    ],
)
def test_the_last_message_is_read_like_any_agents(
    text: str | None, options: JsonObject, stop: str, answer: str | None, sessions: Sessions, birthday: Scenario
) -> None:
    trajectory = sessions.open(birthday).finish(text, **options)
    assert (trajectory.stop.reason, trajectory.answer) == (stop, answer)


def test_what_the_models_used_is_recorded(sessions: Sessions, birthday: Scenario) -> None:
    trajectory = sessions.open(birthday).finish("ANSWER: 1", usage=Usage(900, 30))
    assert trajectory.usage == Usage(900, 30)


def test_a_batch_keeps_the_order_of_each_session_and_the_place_of_each_reply(
    sessions: Sessions, birthday: Scenario
) -> None:
    opened = [sessions.open(birthday, case=case) for case in range(4)]
    cakes = [cake_of(session) for session in opened]
    order = [("orders.place", {"cake_id": cake["id"], "amount": 2}) for cake in cakes]
    batch = [(session, *call) for session, call in zip(opened, order, strict=True)]
    batch += [(session, "orders.list", {"cake_id": cake["id"]}) for session, cake in zip(opened, cakes, strict=True)]
    replies = sessions.calls(batch)
    for placed, listed in zip(replies[:4], replies[4:], strict=True):
        assert isinstance(placed, Observation) and isinstance(listed, Observation)
        assert placed.content and listed.content
        assert placed.content["id"] == listed.content["orders"][-1]["id"]
    assert [session.finish("ANSWER: done").reward for session in opened] == [1.0] * 4


def test_one_bad_call_of_a_batch_costs_the_others_nothing(sessions: Sessions, birthday: Scenario) -> None:
    good, over, closed = (sessions.open(birthday) for _ in range(3))
    over.finish("ANSWER: 1")
    closed.close()
    replies = sessions.calls([(over, "cakes.list", {}), (good, "cakes.list", {}), (closed, "cakes.list", {})])
    assert [type(reply) for reply in replies] == [InputError, Observation, InputError]
    assert sessions.calls([]) == []


def test_many_threads_use_their_own_sessions_and_one_together(sessions: Sessions, birthday: Scenario) -> None:
    shared = sessions.open(birthday)

    def play(case: int) -> float | None:
        session = sessions.open(birthday, case=case % 6)
        shared.call("cakes.list", {})
        return session.finish(f"ANSWER: {order(session)}").reward

    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(play, range(24))] == [1.0] * 24
    trajectory = shared.finish(None)
    assert [step.index for step in trajectory.steps] == [*range(24)]
    assert len({step.action.id for step in trajectory.steps}) == 24


async def test_a_session_is_used_from_inside_an_event_loop(sessions: Sessions, birthday: Scenario) -> None:
    session = sessions.open(birthday)
    assert not session.call("cakes.list", {}).is_error
    await asyncio.to_thread(session.call, "cakes.list", {})
    assert len(session.steps) == 2
    session.close()


def test_an_agents_mistake_is_an_observation(sessions: Sessions, birthday: Scenario) -> None:
    with sessions.open(birthday) as session:
        unknown = session.call("cakes.lst", {})
        assert unknown.is_error and unknown.text == "Unknown tool: cakes.lst"
        wrong = session.call("cakes.get", {"name": 3})
        assert wrong.is_error and len(wrong.text.splitlines()) == 1
        assert len(session.steps) == 2


def test_a_limit_ends_the_episode_and_the_session_can_still_be_finished(sessions: Sessions, tmp_path: Path) -> None:
    session = sessions.open(scenario(tmp_path, more="limits: {turns: 2}\n"))
    session.call("cakes.list", {})
    assert session.stop is None
    session.call("cakes.list", {})
    with pytest.raises(EpisodeOver, match=r"^the episode is over: 2 turns without an answer$"):
        session.call("cakes.list", {})
    assert session.stop is not None and session.finish("ANSWER: 1").stop.reason == "max_turns"


def test_a_world_that_breaks_is_the_simulators_fault(sessions: Sessions, tmp_path: Path) -> None:
    broken = scenario(
        tmp_path, more='world_models: [{use: scripted, with: {answers: [{tool: cakes.get, text: "{}"}]}}]\n'
    )
    session = sessions.open(broken)
    with pytest.raises(SimulatorFault):
        session.call("cakes.list", {})
    trajectory = session.finish("ANSWER: 1")
    assert (trajectory.stop.blame, trajectory.reward) == ("simulator", None)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("helpdesk/refnd", r"^unknown scenario 'helpdesk/refnd'; did you mean 'helpdesk/refund'\?$"),
        ("helpdesk", r"^'helpdesk' names \d+ scenarios; name one, or use load_scenarios$"),
        ("nowhere.yaml", r"^there is no file nowhere.yaml$"),
    ],
)
def test_an_unknown_scenario_is_refused_in_one_line(name: str, problem: str, sessions: Sessions) -> None:
    with pytest.raises(InputError, match=problem):
        sessions.open(name)


def test_a_case_that_is_not_there_is_refused(sessions: Sessions, birthday: Scenario) -> None:
    with pytest.raises(InputError, match=r"^birthday has no case 99$"):
        sessions.open(birthday, case=99)


def test_a_closed_session_says_so(sessions: Sessions, birthday: Scenario) -> None:
    session = sessions.open(birthday)
    before = len(sessions)
    session.finish("ANSWER: 1")
    assert len(sessions) == before - 1
    session.close()
    for use in (lambda: session.call("cakes.list", {}), session.finish, session.grade, session.fork):
        with pytest.raises(InputError, match=rf"^the session '{session.name}' is closed; open another one$"):
            use()


def test_closed_sessions_say_so(birthday: Scenario) -> None:
    with Sessions(most=1) as sessions:
        session = sessions.open(birthday)
        with pytest.raises(InputError, match=r"^1 episodes are open; close some first$"):
            sessions.open(birthday)
    sessions.close()
    with pytest.raises(InputError, match=r"^the sessions are closed; make new ones$"):
        sessions.open(birthday)
    with pytest.raises(InputError, match=r"is closed"):
        session.call("cakes.list", {})
    assert not [thread for thread in threading.enumerate() if thread.name == "sessions" and not thread.daemon]


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_is_told_to_make_its_own(sessions: Sessions, birthday: Scenario) -> None:
    session = sessions.open(birthday)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            session.call("cakes.list", {})
        except InputError as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as said:
        assert said.read() == "the sessions belong to another process; make new ones in this one"
    os.waitpid(child, 0)
    session.close()


def test_finished_sessions_are_written_into_a_run_folder(birthday: Scenario, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with Sessions(agent="mine", out=out) as sessions:
        finished = sessions.open(birthday, case=1)
        finished.finish(f"ANSWER: {order(finished)}")
        sessions.open(birthday).close()
        sessions.open(birthday)
    (line,) = (out / "trajectories-000.jsonl").read_bytes().splitlines()
    assert from_line(line).agent == {"name": "mine"} and from_line(line).reward == 1.0
    assert (out / "summary.json").exists() and birthday.digest in (out / "run.json").read_text()
    with pytest.raises(InputError, match="run"):
        Sessions(out=out)
