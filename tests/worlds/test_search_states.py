"""Search worlds and their states: what graders, proofs and perturbations ask of them."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path

import pytest
from small_web import SmallSource, small_world, write_small_web

from simtrain.contracts.request import Request
from simtrain.values.errors import InputError
from simtrain.values.types import Observation
from simtrain.worlds.search.engine.web import web_of
from simtrain.worlds.search.state import SearchState
from tests.support.databases import open_database

pytestmark = pytest.mark.slow

QUAY = "https://ports.isles.example/ports/velmora-quay"
QUAY_BERTHS = "select berths from port where name = 'Velmora Quay'"


def call(state: SearchState, tool: str, **arguments: object) -> Observation:
    spec = next(spec for spec in state.world.tools if spec.name == tool)
    return state.answer(Request(spec, dict(arguments), 0, 0))


def note(state: SearchState, key: str, value: str) -> None:
    assert not call(state, "dict_memory", operation="add", key=key, value=value).is_error


def test_facts_pages_and_notes_are_queried_with_sql(tmp_path: Path) -> None:
    state = small_world(tmp_path).open()
    note(state, "seen", "Dranhollow")
    assert state.query(QUAY_BERTHS) == [{"berths": 12}]
    assert state.query(
        "select count(*) as n from _pages p join _sites s on s.id = p.site where s.name = :name", {"name": "wiki"}
    ) == [{"n": 4}]
    assert state.query("select p.berths from memory m join port p on p.name = m.value") == [{"berths": 7}]
    assert state.query("select current_timestamp as now, date('now', '+1 day') as next") == [
        {"now": "2130-05-01T08:00:00Z", "next": "2130-05-02"}
    ]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("select depth from port", "no such column"),
        ("delete from memory", "not authorized"),
        ("attach 'x' as y", "not authorized"),
        ("pragma table_info(port)", "not authorized"),
        ("select random()", "not authorized"),
        ("with recursive n(x) as (select 1 union all select x + 1 from n) select max(x) from n", "too many steps"),
    ],
)
def test_a_query_reads_and_nothing_else(tmp_path: Path, sql: str, said: str) -> None:
    state = small_world(tmp_path).open()
    state.world.web._database._guard.steps = 2000  # type: ignore[reportPrivateUsage]
    with pytest.raises(InputError, match=said):
        state.query(sql)


def test_only_notes_can_be_written(tmp_path: Path) -> None:
    state = small_world(tmp_path).open()
    note(state, "a", "1")
    assert state.execute("update memory set value = :to", {"to": "2"}) == 1
    assert state.memory.notes == {"a": "2"}
    with pytest.raises(InputError, match=r"readonly.*; only the table `memory` can be written"):
        state.execute("update port set berths = 1")
    with pytest.raises(InputError, match="readonly"):
        state.execute("insert into _pages (id, site) values (99, 1)")
    assert state.query(QUAY_BERTHS) == [{"berths": 12}] and state.memory.notes == {"a": "2"}


def test_states_share_the_web_and_nothing_else(tmp_path: Path) -> None:
    world = small_world(tmp_path)
    one, other = world.open(), world.open()
    assert one.world.web is other.world.web is web_of(tmp_path / "small_web.world")
    note(one, "a", "1")
    assert other.query("select * from memory") == [] and one.query("select * from memory") == [
        {"key": "a", "value": "1"}
    ]
    assert other.changes() == {}


def test_what_an_episode_left_behind_is_opened_again(tmp_path: Path) -> None:
    world = small_world(tmp_path)
    state = world.open()
    for number in range(3):
        note(state, f"k{number}", str(number))
    call(state, "dict_memory", operation="remove", key="k1")
    call(state, "dict_memory", operation="update", key="k0", value="new")
    (first, second) = state.changes()["memory"]
    assert (first.rowid, first.before, first.after) == (1, None, {"key": "k0", "value": "new"}) and second.rowid == 3
    again = world.open(state.changes())
    assert again.changes() == state.changes() and again.memory.notes == {"k0": "new", "k2": "2"}


def test_a_fork_goes_its_own_way(tmp_path: Path) -> None:
    state = small_world(tmp_path, snippets="tease").open()
    state.conceal(["season"], question="q")
    note(state, "a", "1")
    state.clock.tick()
    other = state.fork()
    note(other, "b", "2")
    assert (other.clock.now, other.memory.notes) == (state.clock.now, {"a": "1", "b": "2"}) and state.memory.notes == {
        "a": "1"
    }
    assert call(other, "web_search", query="quiet season") == call(state, "web_search", query="quiet season")


def test_a_savepoint_undoes_notes_and_time(tmp_path: Path) -> None:
    state = small_world(tmp_path, upkeep={"slow": 1}).open()
    note(state, "a", "1")
    before = state.clock.moment
    with state.savepoint():
        note(state, "b", "2")
        call(state, "web_extractor", url=QUAY)
        assert state.clock.moment > before
    assert (state.memory.notes, state.clock.moment) == ({"a": "1"}, before)


def test_a_call_is_one_statement_or_none(tmp_path: Path) -> None:
    state = small_world(tmp_path).open()
    specs = {tool.name: tool for tool in state.world.tools}
    add = Request(specs["dict_memory"], {"operation": "add", "key": "a", "value": "1"}, 0, 0)
    look = Request(specs["dict_memory"], {"operation": "retrieve", "key": "add"}, 0, 0)
    search = Request(specs["web_search"], {"query": "remove"}, 0, 0)
    assert [state.statements(request) for request in (add, look, search)] == [1, 0, 0]
    assert state.partial(add, 0).text == "Noted 'a'." and state.memory.notes == {}
    assert state.partial(add, 1).text == "Noted 'a'." and state.memory.notes == {"a": "1"}


def test_columns_are_those_of_the_facts_and_of_the_notes(tmp_path: Path) -> None:
    world = small_world(tmp_path)
    assert world.columns() == {
        "port": ("id", "name", "harbourmaster", "opened", "berths"),
        "ferry": ("id", "name", "home", "capacity", "speed"),
        "memory": ("key", "value"),
    }
    sql = "select f.name from ferry f join port p on p.id = f.home where p.berths > :least"
    assert world.columns_read(sql, {"least": 9}) == {
        ("ferry", "name"),
        ("ferry", "home"),
        ("port", "id"),
        ("port", "berths"),
    }


def test_an_altered_world_tells_the_altered_fact_on_every_page(tmp_path: Path) -> None:
    world = small_world(tmp_path)
    altered = world.altered("update port set harbourmaster = 'Juno Marrask' where name = 'Velmora Quay'")
    assert altered.query("select harbourmaster from port where id = 1") == [{"harbourmaster": "Juno Marrask"}]
    for url in (QUAY, "https://gazette.isles.test/season/velmora-quay"):
        text = call(altered.open(), "web_extractor", url=url).text
        assert "Juno Marrask" in text and "Isra Tolbane" not in text
    found = call(altered.open(), "web_search", query="Juno Marrask").content
    assert found is not None and len(found["results"]) == 2
    assert "Isra Tolbane" in call(world.open(), "web_extractor", url=QUAY).text
    with pytest.raises(InputError, match="no such table"):
        world.altered("update boat set name = 'x'")
    assert world.altered("insert into memory values ('a', '1')").open().query("select * from memory") == []


def test_a_large_world_is_altered_in_a_file_that_is_gone_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = small_world(tmp_path)
    small = world.altered("update port set harbourmaster = 'Juno Marrask' where name = 'Velmora Quay'")
    monkeypatch.setattr("simtrain.worlds.search.engine.web.LARGEST_IN_MEMORY", 0)
    files = sorted(tmp_path.rglob("*"))
    large = world.altered("update port set harbourmaster = 'Juno Marrask' where name = 'Velmora Quay'")
    for query in ("Juno Marrask", "ferry passengers"):
        assert call(large.open(), "web_search", query=query) == call(small.open(), "web_search", query=query)
    assert large.backwards().query("select id from ferry") == world.query("select id from ferry")[::-1]
    assert sorted(tmp_path.rglob("*")) == files


def test_a_world_read_backwards_answers_agents_alike(tmp_path: Path) -> None:
    """Whatever order SQLite is free to choose, a search has one."""
    world = small_world(tmp_path)
    turned = world.backwards()
    assert turned.query("select id from ferry") == world.query("select id from ferry")[::-1]
    for query in ("harbour", "ferry passengers", "Velmora Quay berths"):
        assert call(turned.open(), "web_search", query=query) == call(world.open(), "web_search", query=query)


def test_a_description_tells_sites_tables_and_notes(tmp_path: Path) -> None:
    state = small_world(tmp_path).open()
    note(state, "a", "1")
    told = state.describe()
    assert "Site gazette.isles.test: The Isles Gazette" in told
    assert (
        "Table ferry: 4 rows (id, name, home, capacity, speed)\n  id=1, name=Brine Heron" in told and "  a: 1" in told
    )


@pytest.mark.parametrize("damage", ["nothing", "text", "unfinished", "version"])
def test_a_file_that_is_no_whole_world_is_refused(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "small_web.world"
    if damage == "text":
        path.write_text("hello" * 1000)
    if damage in ("unfinished", "version"):
        write_small_web(path)
        connection = open_database(path)
        key, value = ("complete", "no") if damage == "unfinished" else ("format", "simtrain-search-world/0")
        connection.execute("update _meta set value = ? where key = ?", (value, key))
        connection.commit()
        connection.close()
    with pytest.raises(InputError) as refused:
        SmallSource(path).build()
    assert str(path) in str(refused.value) and "simtrain world build" in str(refused.value)


@pytest.mark.full
def test_a_thousand_open_episodes_are_small(tmp_path: Path) -> None:
    world = small_world(tmp_path)
    call(world.open(), "web_search", query="harbour")
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    states = [world.open() for _ in range(1000)]
    for state in states:
        call(state, "web_search", query="harbour")
        note(state, "seen", "x" * 1000)
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert used / len(states) < 20_000
