"""Service worlds: what a tool call may do, how it fails, what a fork costs nothing of."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from bakery import WORLD, world
from hypothesis import given
from hypothesis import strategies as st

from simtrain.contracts.request import Request
from simtrain.contracts.world import Variant, WorldState
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.values.types import JsonObject, Observation
from simtrain.worlds.service.world import ServiceState, ServiceWorld


def call(state: WorldState, tool: str, **arguments: object) -> Observation:
    assert isinstance(state, ServiceState)
    spec = next(spec for spec in state.world.tools if spec.name == tool)
    state.clock.tick()
    return state.answer(Request(spec, dict(arguments), 0, 0))


def tool_world(tool: str, *, schema: str = "", rows: str = "") -> ServiceWorld:
    """A world with the bakery's tables and one more tool."""
    text = WORLD.replace("rows:\n", f"rows:\n{rows}").replace("schema: |\n", f"schema: |\n{schema}")
    return world(text + tool)


def content(observation: Observation) -> JsonObject:
    assert not observation.is_error, observation.text
    found = observation.content
    assert found is not None
    return found


def test_the_same_seed_builds_the_same_bytes_and_another_seed_others() -> None:
    assert world().content == world().content
    assert world().content != world(variant=Variant(seed=4)).content


def test_worlds_are_the_same_in_another_process_with_another_hash_seed() -> None:
    program = (
        "import sys, hashlib; sys.path.insert(0, 'tests/support')\n"
        "from bakery import world\n"
        "w = world(); print([list(r.values()) for t in w.columns() for r in w.query(f'select * from {t} order by rowid')])"
    )
    root = Path(__file__).parents[2]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=root,
            env={"PYTHONHASHSEED": seed, "LC_ALL": locale, "TZ": zone},
            capture_output=True,
            check=True,
        ).stdout
        for seed, locale, zone in (("0", "C", "UTC"), ("1", "de_DE.UTF-8", "Asia/Tokyo"))
    }
    assert len(outputs) == 1


def test_row_counts_of_a_variant_replace_those_of_the_file() -> None:
    assert world(variant=Variant(rows=(("cakes", 7),))).query("select count(*) as n from cakes") == [{"n": 7}]


def test_a_page_ends_with_a_cursor_and_the_pages_join_to_the_whole() -> None:
    state, found, cursor = world().open(), [], None
    for _ in range(10):
        reply = content(call(state, "cakes.list", **({"cursor": cursor} if cursor else {})))
        found += reply["cakes"]
        cursor = reply["next_cursor"]
        if cursor is None:
            break
    assert [cake["name"] for cake in found] == [
        row["name"] for row in world().query("select name from cakes order by name")
    ]


def test_a_cursor_that_was_never_given_out_is_refused() -> None:
    assert "Invalid cursor" in call(world().open(), "cakes.list", cursor="zzz").text


def test_a_write_shows_in_its_own_episode_only() -> None:
    base = world()
    one, other = base.open(), base.open()
    order = content(call(one, "orders.place", cake_id="K001", amount=2))
    count = "select count(*) as n from orders where id = :id"
    assert one.query(count, {"id": order["id"]}) == [{"n": 1}]
    assert other.query(count, {"id": order["id"]}) == [{"n": 0}]


def test_reading_forks_nothing_and_a_refused_write_neither() -> None:
    state = world().open()
    content(call(state, "cakes.get", name=world().query("select name from cakes limit 1")[0]["name"]))
    assert call(state, "orders.place", cake_id="K999", amount=1).is_error
    assert state._own is None


def test_a_refusal_names_its_rule_and_leaves_no_trace() -> None:
    state = world().open()
    refused = call(state, "orders.place", cake_id="K001", amount=999)
    assert (refused.is_error, refused.text) == (True, "Only few left.")
    assert refused.provenance is not None and refused.provenance.rule == "sold_out"
    assert state.changes() == {}


FAILING = """\
  - name: orders.fail
    description: Takes stock, then breaks a constraint.
    input: {cake_id: {type: string}, name: {type: string}}
    write:
      - update cakes set stock = stock - 1 where id = :cake_id
      - insert into cakes values ('K900', :name, 1, 1)
"""


def test_a_constraint_failure_undoes_the_call_and_speaks_no_sql() -> None:
    base = tool_world(FAILING)
    state = base.open()
    taken = base.query("select name from cakes where id = 'K002'")[0]["name"]
    failed = call(state, "orders.fail", cake_id="K001", name=taken)
    assert failed.is_error and failed.text == "A record with this name already exists."
    assert state.changes() == {}


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("insert into cakes values (:x, null, 1, 1)", "name is required."),
        ("insert into cakes values (:x, 'n', -1, 1)", "Invalid value for price."),
        ("insert into orders values (:x, 'K999', 1, 'now')", "A referenced record does not exist."),
    ],
)
def test_each_constraint_has_its_own_words(sql: str, words: str) -> None:
    state = tool_world(f'  - {{name: t.t, description: d, input: {{x: string}}, write: ["{sql}"]}}\n').open()
    assert call(state, "t.t", x="X").text == words


def test_an_insert_or_replace_notes_the_row_that_it_removed() -> None:
    base = tool_world(
        "  - {name: t.t, description: d, input: {}, write: [\"insert or replace into cakes values ('K001', 'new', 1, 1)\"]}\n",
        rows="",
    )
    state = tool_world(
        '  - {name: t.t, description: d, input: {}, write: ["update cakes set stock = 0 where id = \'K001\'", "delete from ledger"]}\n'
    ).open()
    content(call(state, "t.t"))
    assert [change.after["stock"] for change in state.changes()["cakes"] if change.after] == [0]
    assert base.open().changes() == {}


def test_ids_go_on_where_the_generated_rows_ended_and_are_taken_back_with_a_failed_call() -> None:
    base = world()
    last = base.query("select max(id) as id from orders")[0]["id"]
    state = base.open()
    call(state, "orders.place", cake_id="K001", amount=999)
    first = content(call(state, "orders.place", cake_id="K001", amount=1))["id"]
    assert first == f"O{int(last[1:]) + 1:04}"


def test_a_state_is_restored_from_its_recorded_changes() -> None:
    base = world()
    state = base.open()
    content(call(state, "orders.place", cake_id="K001", amount=1))
    again = base.open(state.changes())
    for table in base.columns():
        assert again.query(f"select rowid, * from {table} order by rowid") == state.query(
            f"select rowid, * from {table} order by rowid"
        )


def test_a_fork_goes_its_own_way() -> None:
    state = world().open()
    content(call(state, "orders.place", cake_id="K001", amount=1))
    other = state.fork()
    content(call(other, "orders.place", cake_id="K002", amount=1))
    assert len(other.changes()["orders"]) == 2 and len(state.changes()["orders"]) == 1
    assert other.clock.now != state.clock.now


def test_a_savepoint_undoes_what_was_written_inside() -> None:
    state = world().open()
    with state.savepoint():
        content(call(state, "orders.place", cake_id="K001", amount=1))
    assert state.changes() == {}
    content(call(state, "orders.place", cake_id="K001", amount=1))
    before = state.changes()
    with state.savepoint():
        content(call(state, "orders.place", cake_id="K002", amount=1))
    assert state.changes() == before


def test_sql_time_is_virtual_whatever_way_it_is_asked_for() -> None:
    state = world().open()
    state.clock.advance(3600)
    row = state.query(
        "select datetime('now') as a, date() as b, strftime('%H:%M') as c, current_date as d, unixepoch('now') - unixepoch(:n) as e, "
        "date('2031-01-31', '+1 month') as f, julianday('2000-01-01') as g",
        {"n": "2031-03-03T10:00:00Z"},
    )[0]
    assert row == {
        "a": "2031-03-03 10:00:00",
        "b": "2031-03-03",
        "c": "10:00",
        "d": "2031-03-03",
        "e": 0,
        "f": "2031-03-03",
        "g": 2451544.5,
    }


def test_a_time_argument_of_an_agent_cannot_reach_the_wall_clock() -> None:
    state = tool_world(
        '  - {name: t.t, description: d, input: {d: string}, read: {one: "select date(:d) as d"}}\n'
    ).open()
    assert content(call(state, "t.t", d="NOW ")) == {"d": "2031-03-03"}
    assert call(state, "t.t", d="localtime").text != ""


@pytest.mark.parametrize(
    "sql",
    [
        "attach ':memory:' as x", "pragma user_version", "select load_extension('x')", "select random()", "select randomblob(3)",
        "vacuum", "delete from cakes", "create table x (a)", "select * from _simtrain_changes", "select * from pragma_table_info('cakes')",
    ],
)  # fmt: skip
def test_a_query_may_do_nothing_that_a_world_does_not_need(sql: str) -> None:
    state = world().open()
    with pytest.raises(InputError):
        state.query(sql)


@pytest.mark.parametrize(
    ("tool", "problem"),
    [
        ('read: {one: "delete from cakes returning id"}', "may not"),
        ('write: ["commit"]', "may not"),
        ('write: ["insert into _simtrain_changes values (1, 2)"]', "may not"),
        ('write: ["update cakes set stock = :nothing"]', "nothing binds the parameter :nothing"),
        ('read: "selec 1"', "does not compile"),
        ('read: "select 1 where ?"', "positional"),
        ('let: {a: "delete from cakes"}\n    write: ["delete from ledger"]', "may not"),
        ("text: hello", "no statement"),
    ],
)
def test_a_tool_that_cannot_work_is_refused_with_its_place(tool: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as refused:
        tool_world(f"  - name: t.t\n    description: d\n    input: {{}}\n    {tool}\n")
    assert refused.value.file == "bakery.yaml" and refused.value.line is not None
    assert (refused.value.place or "").startswith("tools[4]")


def test_a_query_that_never_ends_is_cut_off_and_is_the_simulators_fault() -> None:
    sql = "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) as n from c where x < :limit"
    with pytest.raises(InputError, match="too many steps"):
        world().open().query(sql, {"limit": 10**9})
    state = tool_world(f'  - {{name: t.t, description: d, input: {{limit: integer}}, read: {{one: "{sql}"}}}}\n')
    with pytest.raises(SimulatorFault, match="too many steps"):
        call(state.open(), "t.t", limit=10**9)


def test_columns_with_a_kind_become_json_and_booleans() -> None:
    sql = 'select \'[1, 2]\' as \\"tags:json\\", 1 as \\"paid:bool\\", null as \\"open:bool\\"'
    state = tool_world(f'  - {{name: t.t, description: d, input: {{}}, read: {{one: "{sql}"}}}}\n').open()
    assert content(call(state, "t.t")) == {"tags": [1, 2], "paid": True, "open": None}


def test_lists_reach_sql_as_json_and_templates_as_lists() -> None:
    state = tool_world(
        "  - {name: t.t, description: d, input: {items: {type: array}}, "
        'read: {total: {value: "select sum(value) from json_each(:items)"}}, '
        'text: "{{ items | length }} items, {{ total }}"}\n'
    ).open()
    reply = call(state, "t.t", items=[1, 2, 3])
    assert reply.text == "3 items, 6" and content(reply) == {"total": 6}


@given(
    st.dictionaries(
        st.sampled_from(["cake_id", "amount"]), st.none() | st.integers() | st.text() | st.lists(st.integers())
    )
)
def test_no_argument_breaks_a_tool(arguments: JsonObject) -> None:
    state = SHARED.open()
    observation = call(state, "orders.place", **{"cake_id": "K001", "amount": 1, **arguments})
    assert isinstance(observation.text, str)
    state.close()


SHARED = world()


def test_partial_lands_the_first_statements_only_and_says_what_the_whole_would_have_said() -> None:
    state = world().open()
    spec = next(spec for spec in state.world.tools if spec.name == "orders.place")
    said = state.partial(Request(spec, {"cake_id": "K001", "amount": 1}, 0, 0), 1)
    assert not said.is_error and content(said)["amount"] == 1
    assert set(state.changes()) == {"cakes"}


def test_the_reply_schema_covers_the_reply() -> None:
    base = world()
    reply = content(call(base.open(), "cakes.list"))
    schema = next(tool.output_schema for tool in base.tools if tool.name == "cakes.list")
    assert schema is not None and set(schema["properties"]) == set(reply)


def test_an_altered_world_differs_in_one_thing_and_counts_no_change() -> None:
    base = world()
    altered = base.altered("update cakes set price = price + 1 where id = 'K001'")
    assert altered.open().changes() == {}
    assert altered.query("select count(*) as n from cakes") == base.query("select count(*) as n from cakes")
    assert altered.query("select price from cakes where id = 'K001'") != base.query(
        "select price from cakes where id = 'K001'"
    )
    assert replace(Variant(), seed=1) != Variant()
