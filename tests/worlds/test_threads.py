"""Worlds that several threads call at once: trainers call tools from threads of their own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import TypeVar

import pytest
from small_web import small_world

from simtrain.contracts.request import Request
from simtrain.contracts.world import World, WorldState
from simtrain.scenarios.find import find
from simtrain.scenarios.load import load_world
from simtrain.values.types import JsonObject

pytestmark = pytest.mark.slow

THREADS, CALLS = 16, 2000
TALLY = """
kind: service
name: tally
clock: {start: 2031-03-03T09:00:00Z, per_step: 20s}
schema: |
  create table marks (id text primary key, thread integer not null check (thread + 0 >= 0), day text not null);
tools:
  - name: add
    description: Add a mark.
    input: {thread: {type: integer}}
    ids: {mark: "M{seq}"}
    write: ["insert into marks values (:mark, :thread, date('now'))"]
    read: {one: "select id from marks where id = :mark"}
"""
T = TypeVar("T")


def together(work: Callable[[int], T]) -> list[T]:
    """What `work` gives for each of the threads, all of which begin at once."""
    start = Barrier(THREADS)

    def one(thread: int) -> T:
        start.wait()
        return work(thread)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(one, range(THREADS)))


def call(world: World, state: WorldState, tool: str, arguments: JsonObject) -> str:
    """The text of a tool's reply."""
    spec = next(one for one in world.tools if one.name == tool)
    return state.answer(Request(spec, arguments, 0, 0)).text


def test_sixteen_threads_read_one_service_world_each_at_its_own_time() -> None:
    world = load_world(find("worlds", "helpdesk")).build()
    plans = call(world, world.open(), "subscriptions.plans", {})

    def work(thread: int) -> set[tuple[str, str]]:
        state = world.open()
        state.clock.moment += thread * 86_400
        found: set[tuple[str, str]] = set()
        for _ in range(CALLS // 2):
            day = state.query("select date('now') as day")[0]["day"]
            found.add((call(world, state, "subscriptions.plans", {}), day))
        return found

    found = together(work)
    assert [len(told) for told in found] == [1] * THREADS
    assert {text for told in found for text, _ in told} == {plans}
    assert len({day for told in found for _, day in told}) == THREADS


def test_no_write_of_sixteen_threads_to_one_episode_is_lost(tmp_path: Path) -> None:
    (tmp_path / "tally.yaml").write_text(TALLY)
    world = load_world(tmp_path / "tally.yaml").build()
    state = world.open()

    def work(thread: int) -> None:
        for _ in range(CALLS):
            call(world, state, "add", {"thread": thread})

    together(work)
    assert state.query("select count(*) as n, count(distinct id) as ids from marks") == [
        {"n": THREADS * CALLS, "ids": THREADS * CALLS}
    ]
    assert {row["n"] for row in state.query("select count(*) as n from marks group by thread")} == {CALLS}
    assert len(state.changes()["marks"]) == THREADS * CALLS


@pytest.mark.parametrize("calls", [CALLS // 10, pytest.param(CALLS, marks=pytest.mark.full)])
def test_sixteen_threads_search_and_query_one_search_world_each_with_its_own_notes(tmp_path: Path, calls: int) -> None:
    world = small_world(tmp_path)
    asked = "Velmora Quay harbourmaster"
    alone = [hit.url for hit in world.open().search(asked)]

    def work(thread: int) -> tuple[set[str], list[JsonObject]]:
        state = world.open()
        state.memory.carry_out("add", "mine", str(thread))
        found: set[str] = set()
        for index in range(calls):
            if index % 4:
                found.add(" ".join(hit.url for hit in state.search(asked)))
            else:
                assert state.query("select value from memory") == [{"value": str(thread)}]
        return found, state.query("select key, value from memory")

    for thread, (found, notes) in enumerate(together(work)):
        assert found == {" ".join(alone)}
        assert notes == [{"key": "mine", "value": str(thread)}]
