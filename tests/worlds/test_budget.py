"""What a statement may take: an agent's own SQL, while others are served."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from time import monotonic, process_time

import pytest
from mcp import Client
from serving_bakery import serving

from simtrain.contracts.request import Request
from simtrain.mcp.serve.targets import load_target
from simtrain.scenarios.find import find
from simtrain.scenarios.load import load_world
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.worlds.handlers.sqlite_server.sandbox import Sandbox
from simtrain.worlds.service import watch
from simtrain.worlds.service.database import Database, Mode
from simtrain.worlds.service.watch import RunningStatement
from tests.support.databases import open_database

pytestmark = pytest.mark.slow

NOW = "2031-03-03T09:00:20Z"
LONG = "printf('%.*c', 250000, 'a')"
MATCHING = f"select count(*) from t a, t b where a.a || b.a || (select {LONG}) like '%{'a%' * 17}ab'"
NUMBERS = "(select value as a from json_each('[" + ",".join("1" * 2000) + "]'))"
MANY = MATCHING.replace("t a, t b", f"{NUMBERS} a, {NUMBERS} b")
SLOW = [
    MATCHING,
    f"select count(*) from t a, t b where a.a || b.a || (select {LONG}) glob '*{'a*' * 17}ab'",
    f"select count(*) from t a, t b where instr((select {LONG}), (select substr({LONG}, 1, 120000) || 'b'))",
    f"select count(*) from t a, t b where trim((select substr({LONG}, 1, 9000)), (select printf('%.*c', 9000, 'b') || 'a')) = ''",
    f"select trim({LONG}, printf('%.*c', 250000, 'b') || 'a')",
]


def image(rows: int) -> bytes:
    """A database with a table of so many rows."""
    connection = open_database(autocommit=True)
    connection.execute("create table t (a)")
    connection.executemany("insert into t values (?)", [(index,) for index in range(rows)])
    return connection.serialize()


@pytest.mark.parametrize("sql", [*(pytest.param(sql, marks=pytest.mark.full) for sql in SLOW[:-1]), SLOW[-1]])
def test_a_statement_whose_single_operations_are_slow_is_interrupted_within_two_seconds(sql: str) -> None:
    sandbox = Sandbox(image(2000), now=NOW)
    begun, computed = monotonic(), process_time()
    with pytest.raises(sqlite3.OperationalError, match=r"interrupted|user-defined function"):
        sandbox.run(sql)
    # On a quiet machine both are the same.
    assert process_time() - computed < 2.5 and monotonic() - begun < 8
    assert sandbox.run("select count(*) as n from t") == [{"n": 2000}]
    sandbox.close()


@pytest.mark.parametrize(("busy", "least", "most"), [(False, 0.3, 5), (True, 0.9, 8)])
def test_other_processes_leave_a_statement_three_times_as_long_by_the_clock(
    busy: bool, least: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    if busy:
        # As where others have the processor: the clock goes on, and nothing was computed.
        monkeypatch.setattr(watch, "process_time", lambda: 0.0)
    else:
        monkeypatch.setattr(watch, "process_time", monotonic)
    connection = open_database()
    begun = monotonic()
    with (
        RunningStatement(connection, longest=0.3).under_way(),
        pytest.raises(sqlite3.OperationalError, match="interrupted"),
    ):
        connection.execute("with recursive n (x) as (select 1 union all select x + 1 from n) select count(*) from n")
    passed = monotonic() - begun
    assert least <= passed and passed < most


def test_views_of_views_are_refused_before_they_are_prepared_for_long() -> None:
    sandbox = Sandbox(image(1), now=NOW)
    sandbox.run("create view v0 as select a from t")
    for index in range(1, 15):
        sandbox.run(f"create view v{index} as select a from v{index - 1} union all select a from v{index - 1}")
    begun = monotonic()
    with pytest.raises(sqlite3.Error):
        sandbox.run("select count(*) from v14")
    assert monotonic() - begun < 2.5
    sandbox.close()


async def test_others_are_served_while_one_statement_runs_until_it_is_interrupted() -> None:
    async with serving(load_target("sqlite")) as served:
        urls = [(await served.open())["url"] for _ in range(2)]
        async with Client(urls[0]) as slow, Client(urls[1]) as quick:
            begun = monotonic()
            asked = asyncio.create_task(slow.call_tool("read_query", {"query": MANY}))
            waits: list[float] = []
            while not asked.done():
                before = monotonic()
                told = await quick.call_tool("list_tables", {})
                assert not told.is_error
                waits.append(monotonic() - before)
            assert monotonic() - begun < 10
            assert "interrupted" in (await asked).content[0].text
            assert len(waits) > 5 and sorted(waits)[len(waits) // 2] < 0.5


def world_of(tool: str, tmp_path: Path) -> Path:
    """A world with one table and one tool."""
    path = tmp_path / "little.yaml"
    path.write_text(
        "kind: service\nname: little\nclock: {start: 2031-03-03T09:00:00Z}\n"
        "schema: 'create table words (id integer primary key, word text not null);'\n"
        "rows: {words: {count: 300, with: {word: word}}}\n"
        f"tools:\n  - {tool}\n"
    )
    return path


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        (
            "{name: t.t, description: d, input: {n: integer}, read: {one: 'select zeroblob(:n) as x'}}",
            {"n": 10**9},
            "too large",
        ),
        (
            "{name: t.t, description: d, input: {}, read: {one: "
            "\"select replace(hex(zeroblob(9000)), '0', hex(zeroblob(900))) as x\"}}",
            {},
            "too large",
        ),
        (
            "{name: t.t, description: d, input: {}, read: {value: 'select sum(9223372036854775807) from words'}}",
            {},
            "integer overflow",
        ),
        (
            "{name: t.t, description: d, input: {}, read: 'select a.word from words a, words b, words c'}",
            {},
            r"takes too|MB|rows",
        ),
        (
            "{name: t.t, description: d, input: {}, read: 'select word from words', "
            "text: '{% for x in items %}{% for y in items %}{{ x.word }}{% endfor %}{% endfor %}'}",
            {},
            "too large",
        ),
    ],
)
def test_what_a_worlds_author_let_overflow_is_no_fault_of_the_agent(
    tool: str, arguments: dict[str, int], said: str, tmp_path: Path
) -> None:
    world = load_world(world_of(tool, tmp_path)).build()
    request = Request(world.tools[0], arguments, 0, 0)
    with pytest.raises(SimulatorFault, match=said):
        world.open().answer(request)


def test_arguments_that_are_too_large_themselves_are_the_agents_fault(tmp_path: Path) -> None:
    tool = "{name: t.t, description: d, input: {n: integer, text: string}, read: {one: 'select :n as n, :text || :text as x'}}"
    world = load_world(world_of(tool, tmp_path)).build()
    for arguments in ({"n": 2**70, "text": ""}, {"n": 1, "text": "x" * 3_000_000}):
        told = world.open().answer(Request(world.tools[0], arguments, 0, 0))
        assert told.is_error and "out of range" in told.text


def test_a_query_for_bytes_is_refused_in_one_line() -> None:
    state = load_world(find("worlds", "helpdesk")).build().open()
    with pytest.raises(InputError, match="the column 'x' gives bytes"):
        state.query("select zeroblob(3) as x")


def test_a_write_that_is_interrupted_says_so_and_leaves_no_trace() -> None:
    database = Database(steps=200)
    database.run("create table t (a)", mode=Mode.SCHEMA)
    database.run("insert into t values (1)", mode=Mode.WRITE)
    with pytest.raises(sqlite3.OperationalError, match="interrupted"), database.savepoint("call", keep=True):
        database.run("insert into t values (2)", mode=Mode.WRITE)
        endless = "with recursive c(n) as (select 1 union all select n + 1 from c) select n from c"
        database.run(f"insert into t {endless}", mode=Mode.WRITE)
    assert database.rows("select a from t") == [{"a": 1}]
