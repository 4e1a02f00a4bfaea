"""The stand-ins for memory, time, sqlite and sequential-thinking as an MCP client meets them, and how they check arguments."""

from __future__ import annotations

import ast
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from mcp import Client, MCPError
from mcp.server import MCPServer
from pydantic import AnyUrl, BaseModel, Field
from service_session import Session, shipped_world
from serving_bakery import Served, serving

from simtrain.contracts.world import Variant
from simtrain.mcp.serve.targets import load_target
from simtrain.scenarios.find import find
from simtrain.scenarios.load import load_world
from simtrain.values.clock import instant
from simtrain.values.errors import InputError
from simtrain.worlds.argument_styles.jsonschema import jsonschema
from simtrain.worlds.argument_styles.pydantic import pydantic
from simtrain.worlds.argument_styles.zod_coercing import zod_coercing

pytestmark = pytest.mark.slow

TOOLS = {
    "memory": [
        "create_entities", "create_relations", "add_observations", "delete_entities", "delete_observations", "delete_relations",
        "read_graph", "search_nodes", "open_nodes",
    ],
    "time": ["get_current_time", "convert_time"],
    "sqlite": ["read_query", "write_query", "create_table", "list_tables", "describe_table", "append_insight"],
    "sequential_thinking": ["sequentialthinking"],
}  # fmt: skip
ERAS = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])


@asynccontextmanager
async def connected(name: str, *, mode: str = "legacy") -> AsyncGenerator[tuple[Client, Served]]:
    async with serving(load_target(name)) as served, Client(f"{served.door.url}/mcp", mode=mode) as client:
        yield client, served


async def said(client: Client, tool: str, **arguments: Any) -> str:
    """The text of a reply, error or not."""
    return (await client.call_tool(tool, arguments)).content[0].text


async def told(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured content of a reply that is no error."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


@ERAS
@pytest.mark.parametrize("name", TOOLS)
async def test_a_stand_in_offers_the_tools_of_its_server(name: str, mode: str) -> None:
    async with connected(name, mode=mode) as (client, _):
        assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS[name]


@pytest.mark.parametrize("name", ["memory", "sqlite"])
def test_a_seed_fills_a_stand_in_always_alike_and_another_otherwise(name: str) -> None:
    again = load_world(find("worlds", name)).build()
    other = load_world(find("worlds", name)).build(Variant(seed=5))
    assert again.describe() == shipped_world(name).describe() != other.describe()


# memory


async def test_text_tells_what_is_new_and_structured_content_names_it() -> None:
    async with connected("memory") as (client, _):
        kim = {"name": "Kim", "entityType": "person", "observations": ["Likes tea"]}
        result = await client.call_tool("create_entities", {"entities": [{**kim, "age": 3}]})
        assert result.content[0].text == json.dumps([kim], indent=2)
        assert result.structured_content == {"entities": [kim]}
        again = await client.call_tool("create_entities", {"entities": [kim]})
        assert (again.content[0].text, again.structured_content) == ("[]", {"entities": []})


async def test_a_graph_is_searched_whatever_the_case_and_shows_every_relation_that_touches_it() -> None:
    async with connected("memory") as (client, _):
        entities = [{"name": name, "entityType": "Tower", "observations": []} for name in ("East", "West")]
        await told(client, "create_entities", entities=entities)
        relation = {"from": "West", "to": "Nobody", "relationType": "faces"}
        assert await told(client, "create_relations", relations=[relation]) == {"relations": [relation]}
        found = await told(client, "search_nodes", query="tOWER")
        assert [entity["name"] for entity in found["entities"]] == ["East", "West"]
        assert found["relations"] == [relation]
        assert (await told(client, "open_nodes", names=["west"]))["entities"] == []
        assert await said(client, "delete_entities", entityNames=["West"]) == "Entities deleted successfully"
        assert (await told(client, "search_nodes", query="tower"))["relations"] == []


async def test_observations_of_somebody_unknown_leave_no_trace() -> None:
    async with connected("memory") as (client, _):
        before = await told(client, "read_graph")
        known = before["entities"][0]["name"]
        given = [{"entityName": known, "contents": ["kept?"]}, {"entityName": "Nobody", "contents": ["x"]}]
        result = await client.call_tool("add_observations", {"observations": given})
        assert (result.is_error, result.content[0].text) == (True, "Entity with name Nobody not found")
        assert await told(client, "read_graph") == before
        added = await told(client, "add_observations", observations=[{"entityName": known, "contents": ["a", "a"]}])
        assert added == {"results": [{"entityName": known, "addedObservations": ["a", "a"]}]}


async def test_the_graph_is_a_resource() -> None:
    async with connected("memory") as (client, _):
        resource = await client.read_resource("memory://knowledge-graph")
        assert json.loads(resource.contents[0].text) == await told(client, "read_graph")


async def test_bad_arguments_and_unknown_tools_are_worded_as_the_javascript_sdk_does() -> None:
    async with connected("memory") as (client, _):
        assert await said(client, "search_nodes", query=3) == (
            "MCP error -32602: Input validation error: Invalid arguments for tool search_nodes: "
            "Invalid input: expected string, received number at query"
        )
        result = await client.call_tool("forget", {})
        assert (result.is_error, result.content[0].text) == (True, "MCP error -32602: Tool forget not found")


# time


def at(moment: str, tool: str, **arguments: str) -> dict[str, Any]:
    session = Session("time")
    session.state.clock.moment = instant(moment) - session.state.clock.per_step
    return session.call(tool, **arguments)


async def test_now_is_the_clock_of_the_episode() -> None:
    async with connected("time") as (client, _):
        first = await told(client, "get_current_time", timezone="Asia/Kathmandu")
        assert first == {
            "timezone": "Asia/Kathmandu",
            "datetime": "2031-03-03T14:45:20+05:45",
            "day_of_week": "Monday",
            "is_dst": False,
        }
        second = await told(client, "get_current_time", timezone="Asia/Kathmandu")
        assert second["datetime"] == "2031-03-03T14:45:40+05:45"


def test_a_time_that_summer_time_leaves_out_counts_as_before_the_change() -> None:
    zones = {"source_timezone": "Europe/Berlin", "target_timezone": "UTC"}
    spring = at("2031-03-30T08:00:00Z", "convert_time", time="02:30", **zones)
    assert (spring["source"]["datetime"], spring["source"]["is_dst"]) == ("2031-03-30T02:30:00+01:00", False)
    assert (spring["target"]["datetime"], spring["time_difference"]) == ("2031-03-30T01:30:00+00:00", "-1.0h")
    autumn = at("2031-10-26T08:00:00Z", "convert_time", time="2:30", **zones)
    assert (autumn["source"]["datetime"], autumn["time_difference"]) == ("2031-10-26T02:30:00+02:00", "-2.0h")


def test_today_is_the_day_of_the_source_zone() -> None:
    found = at(
        "2031-03-03T22:30:00Z",
        "convert_time",
        time="09:15",
        source_timezone="Asia/Tokyo",
        target_timezone="Asia/Kolkata",
    )
    assert (found["source"]["datetime"], found["target"]["datetime"]) == (
        "2031-03-04T09:15:00+09:00",
        "2031-03-04T05:45:00+05:30",
    )
    assert found["time_difference"] == "-3.5h"


def test_summer_time_may_be_what_is_normal() -> None:
    assert at("2031-01-05T12:00:00Z", "get_current_time", timezone="Europe/Dublin")["is_dst"] is True


@pytest.mark.parametrize(
    ("zone", "problem"),
    [
        ("Europe/Atlantis", "Invalid timezone: 'No time zone found with key Europe/Atlantis'"),
        ("O'Clock", 'Invalid timezone: "No time zone found with key O\'Clock"'),
        ("utc", "Invalid timezone: 'No time zone found with key utc'"),
        ("/etc/passwd", "Invalid timezone: ZoneInfo keys may not be absolute paths, got: /etc/passwd"),
        ("../UTC", "Invalid timezone: ZoneInfo keys must refer to subdirectories of TZPATH, got: ../UTC"),
        ("Europe//Berlin", "Invalid timezone: ZoneInfo keys must be normalized relative paths, got: Europe//Berlin"),
        ("zone.tab", "Invalid timezone: Invalid TZif file: magic not found"),
        ("UTC\0", "Invalid timezone: embedded null byte"),
        ("", "Missing required argument: timezone"),
    ],
)
def test_what_is_no_zone_is_refused_in_the_words_of_pythons_zoneinfo(zone: str, problem: str) -> None:
    observation = Session("time").ask("get_current_time", timezone=zone)
    assert (observation.is_error, observation.text) == (True, f"Error executing tool get_current_time: {problem}")


async def test_an_unknown_tool_of_time_is_a_protocol_error() -> None:
    async with connected("time") as (client, _):
        with pytest.raises(MCPError, match="Unknown tool: nope") as error:
            await client.call_tool("nope", {})
        assert error.value.error.code == -32602


# sqlite


def answer(session: Session, tool: str, **arguments: str) -> str:
    return session.ask(tool, **arguments).text


async def test_rows_are_told_as_python_writes_them_and_failures_as_ordinary_replies() -> None:
    async with connected("sqlite") as (client, _):
        select = "select 'it''s' as a, null as b, 1.0 as c, x'00ff' as d"
        assert await said(client, "read_query", query=select) == repr(
            [{"a": "it's", "b": None, "c": 1.0, "d": b"\x00\xff"}]
        )
        failed = await client.call_tool("read_query", {"query": "select nope from orders"})
        assert (failed.is_error, failed.content[0].text) == (False, "Database error: no such column: nope")
        assert await said(client, "read_query", query="delete from orders") == (
            "Error: Only SELECT queries are allowed for read_query"
        )
        wrong = await client.call_tool("read_query", {})
        assert (wrong.is_error, wrong.content[0].text) == (
            True,
            "Input validation error: 'query' is a required property",
        )
        unknown = await client.call_tool("nope", {"a": 1})
        assert (unknown.is_error, unknown.content[0].text) == (False, "Error: Unknown tool: nope")
        unknown = await client.call_tool("nope", {})
        assert (unknown.is_error, unknown.content[0].text) == (False, "Error: Missing arguments")


async def test_the_memo_is_a_resource_that_sums_up_what_was_noted() -> None:
    async with connected("sqlite") as (client, _):

        async def memo() -> str:
            return (await client.read_resource("memo://insights")).contents[0].text

        assert await memo() == "No business insights have been discovered yet."
        assert await said(client, "append_insight", insight="Hoses sell in May") == "Insight added to memo"
        assert (await memo()).endswith("Key Insights Discovered:\n\n- Hoses sell in May")
        await said(client, "append_insight", insight="Mats do not")
        assert "- Mats do not\nSummary:\nAnalysis has revealed 2 key business insights" in await memo()
        prompt = await client.get_prompt("mcp-demo", {"topic": "lighthouses"})
        assert "lighthouses" in prompt.messages[0].content.text


def test_what_the_agent_writes_is_in_the_tables_of_the_world() -> None:
    session = Session("sqlite")
    assert (
        answer(session, "write_query", query="update products set stock = 7 where sku = 'HT-130'")
        == "[{'affected_rows': 1}]"
    )
    changes = session.state.changes()
    assert set(changes) == {"products"}
    assert [(one.before["stock"], one.after["stock"]) for one in changes["products"] if one.before and one.after] == [
        (0, 7)
    ]
    assert session.state.query("select stock from products where sku = 'HT-130'") == [{"stock": 7}]
    restored = session.world.open(changes)
    assert restored.query("select stock from products where sku = 'HT-130'") == [{"stock": 7}]


def test_two_rows_may_swap_a_unique_value() -> None:
    session = Session("sqlite")
    swap = "update products set sku = case id when 1 then 'HT-110' else 'HT-100' end where id in (1, 2)"
    assert answer(session, "write_query", query=swap).startswith("Database error: UNIQUE")
    for sku, identity in (("x", 1), ("HT-100", 2), ("HT-110", 1)):
        answer(session, "write_query", query=f"update products set sku = '{sku}' where id = {identity}")
    assert session.state.query("select sku from products where id < 3 order by id") == [
        {"sku": "HT-110"},
        {"sku": "HT-100"},
    ]


STATEMENTS = (
    "create table report (id integer primary key autoincrement, made text default current_timestamp, body blob)",
    "insert into report (body) values (x'00ff'), ('text'), (9e999)",
    "delete from report where id = 3",
    "alter table suppliers add column rating real default 2.5",
    "create view cheap as select name from products where price < 10",
    "create trigger noted after insert on report begin update report set body = 'seen' where id = new.id; end",
    "create table plain (k text primary key, v) without rowid",
    "insert into plain values ('b', 1), ('a', null)",
    "drop table order_items",
    "alter table customers rename to clients",
    "insert into report default values",
)


def test_tables_that_the_agent_makes_alters_and_drops_outlive_the_call_a_fork_and_the_episode() -> None:
    session = Session("sqlite")
    for statement in STATEMENTS:
        assert "error" not in answer(session, "write_query", query=statement).lower()
    looks = (
        "select * from report",
        "select rating, count(*) from suppliers group by 1",
        "select * from cheap",
        "select * from plain",
        "select name from sqlite_master where type in ('table', 'view') order by name",
        "select count(*) from clients",
    )
    seen = [answer(session, "read_query", query=look) for look in looks]
    rows = ast.literal_eval(seen[0])
    assert [row["id"] for row in rows] == [1, 2, 4]
    assert (rows[0]["body"], rows[2]["body"]) == (b"\x00\xff", "seen")
    assert (
        rows[2]["made"] == session.state.clock.now.replace("T", " ").removesuffix("Z")
        or rows[2]["made"] < "2031-03-03 10"
    )
    assert "order_items" not in seen[4]
    for state in (session.state.fork(), session.world.open(session.state.changes())):
        session.state = state
        assert [answer(session, "read_query", query=look) for look in looks] == seen
    assert session.state.query("select data ->> 'v' as v from agent_rows where table_name = 'plain' order by row") == [
        {"v": None},
        {"v": 1},
    ]


IN_PROGRESS = "Database error: cannot commit transaction - SQL statements in progress"


@pytest.mark.parametrize(
    ("statement", "reply"),
    [
        ("with a as (select 1) insert into suppliers select 9, 'Kept', 'x', 1", "[]"),
        ("replace into suppliers values (9, 'Lost', 'x', 1)", "[]"),
        ("/* c */ insert into suppliers values (9, 'Lost', 'x', 1)", "[]"),
        ("insert into suppliers values (9, 'Lost', 'x', 1) returning id", IN_PROGRESS),
        ("begin", "[]"),
        ("commit", "Database error: cannot commit - no transaction is active"),
    ],
)  # fmt: skip
def test_what_is_committed_is_what_the_server_would_commit(statement: str, reply: str) -> None:
    session = Session("sqlite")
    assert answer(session, "write_query", query=statement) == reply
    found = session.state.query("select name from suppliers where id = 9")
    assert found == ([{"name": "Kept"}] if "Kept" in statement else [])


@pytest.mark.parametrize(
    "statement",
    [
        "attach '{folder}/evil.db' as e",
        "vacuum into '{folder}/evil.db'",
        "pragma writable_schema = on",
        "pragma temp_store_directory = '{folder}'",
        "create virtual table evil using fts5 (a)",
        "insert into suppliers select 1, load_extension('{folder}/evil'), 'x', 1",
        "create trigger evil after insert on orders begin select load_extension('{folder}/evil'); end",
        "drop table agent_rows",
        "delete from memo",
        "insert into _simtrain_changes values ('a', 1)",
        "pragma table_info(orders); drop table orders",
    ],
)
def test_sql_reaches_neither_the_host_nor_what_the_world_keeps_beside(statement: str, tmp_path: Path) -> None:
    session = Session("sqlite")
    reply = answer(session, "write_query", query=statement.format(folder=tmp_path))
    if "trigger" in statement:
        reply = answer(session, "write_query", query="insert into orders (customer_id, ordered_at) values (1, 'x')")
    assert reply.startswith("Database error: ")
    assert list(tmp_path.iterdir()) == []
    assert session.state.query("select * from agent_rows") == []


ENDLESS = "with recursive r(a) as (select 1 union all select a + 1 from r) select {} from r"


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        (f"select * from ({ENDLESS.format('a')})", "interrupted"),
        (f"select count(*) from ({ENDLESS.format('hex(zeroblob(120000)) || a as v')} order by v)", "interrupted"),
        ("select count(*) from orders a, orders b, orders c, orders d, orders e", "interrupted"),
        ("select hex(zeroblob(500000))", "string or blob too big"),
        (f"create table big as {ENDLESS.format('hex(zeroblob(120000))')}", "database or disk is full"),
    ],
)
def test_sql_takes_only_so_much_and_the_episode_goes_on(statement: str, problem: str) -> None:
    session = Session("sqlite")
    tool = "create_table" if statement.startswith("create") else "read_query"
    assert answer(session, tool, query=statement) == f"Database error: {problem}"
    assert answer(session, "read_query", query="select 1") == "[{'1': 1}]"


def test_sql_has_virtual_time_and_the_same_chance_twice() -> None:
    sessions = Session("sqlite"), Session("sqlite")
    query = (
        "select datetime('now', 'localtime') as a, current_timestamp as b, date('now', '+1 day') as c, random() as d"
    )
    first, second = (answer(session, "read_query", query=query) for session in sessions)
    assert first == second
    row = ast.literal_eval(first)[0]
    assert (row["a"], row["b"], row["c"]) == ("2031-03-03 09:00:20", "2031-03-03 09:00:20", "2031-03-04")
    assert ast.literal_eval(answer(sessions[0], "read_query", query=query))[0]["d"] != row["d"]


# sequential-thinking


async def test_thoughts_are_counted_estimates_raised_and_branches_listed() -> None:
    async with connected("sequential_thinking") as (client, _):
        thought = {"thought": "t", "nextThoughtNeeded": "TRUE", "thoughtNumber": "2", "totalThoughts": 1}
        assert await told(client, "sequentialthinking", **thought) == {
            "thoughtNumber": 2,
            "totalThoughts": 2,
            "nextThoughtNeeded": True,
            "branches": [],
            "thoughtHistoryLength": 1,
        }
        for name in ("b", "10", "2", "02", ""):
            found = await told(client, "sequentialthinking", **thought, branchFromThought=1, branchId=name)
        assert (found["branches"], found["thoughtHistoryLength"]) == (["2", "10", "b", "02"], 6)
        broken = await client.call_tool(
            "sequentialthinking", {**thought, "branchFromThought": 1, "branchId": "toString"}
        )
        assert broken.is_error and "push is not a function" in broken.content[0].text
        assert (await told(client, "sequentialthinking", **thought))["thoughtHistoryLength"] == 8


# Styles of arguments


class Point(BaseModel):
    x: int
    y: float = 0.5
    label: str | None = None


def probed() -> MCPServer:
    """A server of the Python SDK with arguments of many types."""
    server = MCPServer("probe")

    @server.tool()
    def probe(
        whole: int,
        real: float,
        flag: bool,
        texts: list[str],
        kind: Literal["u", "v"],
        point: Point,
        counts: dict[str, int],
        points: list[Point],
        maybe: int | None = None,
        either: str | int = "x",
        few: Annotated[int, Field(ge=1, le=5)] = 2,
        name: Annotated[str, Field(min_length=2, max_length=4, pattern="^[a-z]+$")] = "ab",
        link: AnyUrl | None = None,
        day: date = date(2031, 3, 3),
        copy: list[int] = [1],  # noqa: B006
    ) -> str:
        return "fine"

    return server


FINE = {
    "whole": 1, "real": 1.5, "flag": True, "texts": ["x"], "kind": "u", "point": {"x": 1}, "counts": {"k": 1}, "points": [{"x": 2}],
}  # fmt: skip
OPTIONAL = ("maybe", "either", "few", "name", "link", "day", "copy")
VALUES = st.sampled_from(
    [
        0, 1, 5, 9, -1, 1.5, 2.0, True, False, None, "", "x", "u", "5", "1.5", "yes", "null", "[1]", '["a"]', '{"x": 1}', "{}", "abcd", "A",
        [], [1], ["a"], [1, None], [{"x": 1}], [{"x": "q"}, 3], {}, {"x": 1}, {"x": "2", "y": "3", "label": None}, {"y": 1}, {"k": "z"},
        "https://e.com", "2031-01-01", "2031-13-01", 12345678901234567890, "é'\"", "z" * 100, ["w" * 80],
    ]
)  # fmt: skip


SLIPS = st.tuples(
    st.dictionaries(st.sampled_from([*FINE, *OPTIONAL, "unknown"]), VALUES, max_size=4),
    st.sets(st.sampled_from(list(FINE)), max_size=1),
)


@settings(max_examples=6, phases=[Phase.generate])
@given(st.lists(SLIPS, min_size=40, max_size=40))
async def test_pydantic_arguments_are_judged_as_the_python_sdk_judges_them(
    slips: list[tuple[dict[str, Any], set[str]]],
) -> None:
    async with Client(probed()) as client:
        check = pydantic("probe", (await client.list_tools()).tools[0].input_schema)
        for changed, missing in slips:
            arguments = {name: value for name, value in {**FINE, **changed}.items() if name not in missing}
            problem = check(arguments).problem
            expected = f"Error executing tool probe: {problem}" if problem is not None else "fine"
            assert await said(client, "probe", **arguments) == expected


def test_pydantic_arguments_come_out_coerced_and_complete() -> None:
    schema = {
        "type": "object",
        "properties": {
            "n": {"type": "integer"},
            "all": {"type": "boolean", "default": False},
            "p": {"$ref": "#/$defs/P"},
        },
        "required": ["n", "p"],
        "$defs": {"P": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}},
    }
    checked = pydantic("t", schema)({"n": "3", "p": '{"x": "4"}', "other": 1})
    assert checked.arguments == {"n": 3, "all": False, "p": {"x": 4}}


def test_pydantic_refuses_a_limit_that_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="pydantic cannot check this schema"):
        pydantic("t", {"type": "object", "properties": {"a": {"type": "string", "pattern": "(?=a)b"}}})


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "'a' is a required property"),
        ({"a": 1}, "1 is not of type 'string'"),
        ({"a": None, "b": 0}, "0 is less than the minimum of 1"),
        ({"a": "x", "b": [True]}, "[True] is not of type 'integer'"),
        ({"a": "x", "b": 0}, "0 is less than the minimum of 1"),
        ({"a": "x", "c": 1}, "Additional properties are not allowed ('c' was unexpected)"),
        ({"a": "x", "b": 1}, None),
    ],
)
def test_jsonschema_arguments_are_judged_by_their_schema_and_worded_in_python(
    arguments: Any, problem: str | None
) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer", "minimum": 1}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert jsonschema("t", schema)(arguments).problem == problem


@pytest.mark.parametrize("style", [jsonschema, pydantic])
def test_no_schema_opens_an_address(style: Any) -> None:
    with pytest.raises(ValueError):
        style("t", {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema"}}})


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("2", 2), (" 3 ", 3), ("4.0", 4), ("1e2", 100), ("0x10", 16), ("0b11", 3), ("0o7", 7), ("+5", 5), ("5.", 5), ("\u00a07\ufeff", 7),
        (True, 1), ([3], 3), (["4"], 4), ([[5]], 5), (2.0, 2), ("00012", 12),
    ],
)  # fmt: skip
def test_javascript_reads_many_things_as_numbers(value: Any, number: int) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}
    assert zod_coercing("t", schema)({"n": value, "other": 1}).arguments == {"n": number}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("abc", "Invalid input: expected number, received NaN"),
        ("1_0", "Invalid input: expected number, received NaN"),
        ("１", "Invalid input: expected number, received NaN"),
        ([1, 2], "Invalid input: expected number, received NaN"),
        ({}, "Invalid input: expected number, received NaN"),
        ("-1e999", "Invalid input: expected number, received -Infinity"),
        ("1.5", "Invalid input: expected int, received number"),
        ("", "Too small: expected number to be >=1"),
        (None, "Too small: expected number to be >=1"),
        ([], "Too small: expected number to be >=1"),
        ("9007199254740993", "Too big: expected int to be <=9007199254740991"),
    ],
)
def test_and_others_it_does_not(value: Any, problem: str) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}
    assert zod_coercing("t", schema)({"n": value}).problem == f"{problem} at n"
    assert zod_coercing("t", schema)({}).arguments == {}


def test_an_argument_that_cannot_be_coerced_is_refused_with_the_world(tmp_path: Path) -> None:
    shipped = find("worlds", "sequential_thinking")
    path, manifest = tmp_path / "broken.yaml", shipped.with_suffix(".manifest.json")
    path.write_text(shipped.read_text())
    shown = json.loads(manifest.read_text())
    (tool,) = shown["servers"]["sequential_thinking"]["surfaces"][0]["lists"]["tools/list"][0]["tools"]
    tool["inputSchema"]["properties"]["branchId"] = {"type": "array"}
    (tmp_path / manifest.name).write_text(json.dumps(shown))
    with pytest.raises(InputError, match=r"tools\[0\].input: an argument of type 'array' cannot be coerced"):
        load_target(str(path))
