"""The reference server `sqlite`: one database file, opened anew for every statement."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, cast

from simtrain.contracts.world import World
from simtrain.mcp.verify.draw import Draw, Past
from simtrain.mcp.verify.subject import GeneratedCall, Subject, makes
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.handlers.sqlite_server.store import image, load

TYPES = ("INTEGER", "TEXT", "REAL", "BLOB", "")
FAILURES = ("Database error:", "Error:", "Input validation error:")

_MADE = re.compile(r'create table (?:if not exists )?"?(\w+)"? \((.*)\)', re.IGNORECASE)
_CHANGED = re.compile(r'(?:insert into|insert or \w+ into|update|delete from|alter table) "?(\w+)"?', re.IGNORECASE)
_DROPPED = re.compile(r"drop table (\w+)", re.IGNORECASE)
_ADDED = re.compile(r"alter table (\w+) add column (\w+) (\w+)", re.IGNORECASE)

EXPRESSIONS = (
    "1", "1 as a, 2 as b, 3 as a", "'it''s'", "null, x'00ff41', 1.0, 1e300, -0.0", "'na\u00efve \"caf\u00e9\"'",
    "5/2, 5.0/2, 5%3, 1/0", "0.1 + 0.2", "9223372036854775807, 9223372036854775808", "9e999, -9e999",
    "upper('abc'), length('h\u00e9'), substr('hello', 2, 3)", "'a\\b\nc\td'",
    "round(2.567, 2), abs(-3), coalesce(null, 7)", "date('2031-01-31', '+1 month'), strftime('%Y-%m', '2031-03-03')",
    "typeof(1), typeof('a'), typeof(null), typeof(1.5)", "json_extract('{\"a\": [1, 2]}', '$.a')",
    "printf('%05.2f', 3.14159)", "date('now')", "cast('12abc' as integer), cast(3.9 as integer)",
    "last_insert_rowid(), changes()", "1 -- a comment", "1;", "max(1, 2), min('a', 'b')",
    "case when 1 then 'yes' else 'no' end", "'a' || null, 'a' || 1", "count(*) from sqlite_master where 0",
    "group_concat(name) from sqlite_master where type = 'table'", "* from pragma_table_info('orders')",
    "value from json_each('[1, \"two\"]')",
)  # fmt: skip
NO_SELECTS = (
    "nope from orders", "* from nowhere", "", "* from orders where", "1; select 2", "?", ":a", "nope(1)",
    "* from orders limit 'x'", "'a' regexp 'b'", "abs(-9223372036854775808)", "cast(x'ff' as text)",
    "load_extension_now('x')", "sum(count(*)) from orders", "orders.id, customers.nope from orders, customers",
    "* form orders", "1 union select 1, 2", "* from (select 1",
)  # fmt: skip
ODD_STATEMENTS = (
    "", "-- nothing", "begin", "values (1), (2)", "with t(x) as (values (1)) select * from t",
    "pragma table_info(orders)", "pragma foreign_keys", "/* first */ select 1",
    "explain query plan select * from orders", "savepoint s", "create temp table passing (a)",
    "pragma index_list(orders)", "drop table if exists nowhere", "reindex",
    "create view if not exists busy as select customer_id, count(*) as n from orders group by 1",
)  # fmt: skip
NO_STATEMENTS = (
    "select 1", "  SELECT * from orders", "garbage", "commit", "rollback", "release s",
    "insert into nowhere values (1)", "drop table nowhere", "update orders set nope = 1", "delete from nowhere",
    "insert into orders (id) values ('x')", "insert into suppliers values (1)",
    "insert into products (id, sku) values (1, 'x')", "alter table suppliers add column x integer not null",
    "drop view nowhere", "insert into suppliers (name, country, lead_days) values ('a', 'b', 0)",
    "insert into suppliers (name) values (null)", "delete from suppliers; delete from products",
    "create index one on nowhere (a)", "update customers set email = 'same'", "detach x",
    "insert into suppliers (name, country, lead_days) values ('a', 'b', 1) returning id", "drop table sqlite_master",
    "create trigger t",
)  # fmt: skip

NO_TABLES = (
    "create table", "create table bad (", "create index i on orders (id)", "create temp table t (a)", "drop table orders", "",
    "create table a1 (x); create table a2 (x)", "create virtual table v using fts5 (x)", "create table sqlite_x (a)",
)  # fmt: skip


class Sqlite(Subject):
    """Kinds of values: `table`, as {"name", "columns": {name: type}}; it is noted anew when a call has changed it."""

    tables = ("agent_rows", "agent_schema")

    weights: ClassVar[Mapping[str, float]] = {
        "read_query": 4,
        "write_query": 4,
        "create_table": 1.5,
        "append_insight": 0.5,
    }

    def placeholders(self, root: Path) -> Mapping[str, str]:
        """Return the database file."""
        return {"database": str(root / "shop.db")}

    def lay_out(self, world: World, root: Path) -> None:
        """The world's database as a file."""
        (root / "shop.db").write_bytes(image(load(world.query), now="2031-03-03T09:00:00Z"))

    def initial(self, world: World) -> Mapping[str, Sequence[JsonValue]]:
        """Return the tables of the world file."""
        tables = [one for one in load(world.query).definitions if one.type == "table"]
        return {"table": [{"name": one.name, "columns": _columns(world, one.name)} for one in tables]}

    def failed(self, response: JsonObject) -> bool:
        """Failures are told in ordinary replies."""
        return super().failed(response) or response["result"]["content"][0]["text"].startswith(FAILURES)

    def learn(self, past: Past, call: GeneratedCall, reply: JsonObject) -> None:
        """Which table was made, changed or dropped; the makers write statements in forms that are easily read again."""
        statement = call.arguments.get("query")
        if call.tool not in ("write_query", "create_table") or not isinstance(statement, str):
            return
        made = _MADE.match(statement.strip())
        if made is not None and _known(past, made[1]) is None:
            columns = dict(cast("tuple[str, str]", (*part.split(), "")[:2]) for part in made[2].split(", "))
            past.note("table", {"name": made[1], "columns": columns})
        dropped = _DROPPED.match(statement)
        if dropped is not None:
            past.drop("table", _known(past, dropped[1]))
        changed = _CHANGED.match(statement)
        table = _known(past, changed[1]) if changed is not None else None
        if table is None:
            return
        added = _ADDED.match(statement)
        if added is not None:
            past.drop("table", table)
            table = {**table, "columns": {**table["columns"], added[2]: added[3]}}
        past.note("table", table)

    @makes("read_query", weight=3)
    def some_rows(self, draw: Draw) -> JsonObject:
        """Return rows of a table, chosen and ordered."""
        table = draw.existing("table")
        column = draw.one(list(table["columns"]))
        shown = draw.one(("*", column, f"rowid, {column}", f"{column} as c, *"))
        where = draw.one(("", f" where {_condition(draw, table)}", f" where {column} is not null"))
        order = draw.one((f" order by {column}, rowid", f" order by rowid desc limit {draw.integer(0, 5)}", ""))
        return {"query": f"{draw.one(('select', 'SELECT', 'Select'))} {shown} from {table['name']}{where}{order}"}

    @makes("read_query", weight=2)
    def sums(self, draw: Draw) -> JsonObject:
        """Aggregates of a table, by group or over all."""
        table = draw.existing("table")
        by, over = (draw.one(list(table["columns"])) for _ in range(2))
        told = draw.one(
            ("count(*)", f"sum({over})", f"avg({over})", f"min({over}), max({over})", f"count(distinct {over}) as n")
        )
        group = f" group by {by} order by 1" if draw.chance(0.6) else ""
        return {"query": f"select {f'{by}, ' if group else ''}{told} from {table['name']}{group}"}

    @makes("read_query")
    def joined(self, draw: Draw) -> JsonObject:
        """Return rows of two tables that belong together."""
        status = draw.one(("pending", "shipped", "delivered"))
        return {
            "query": "select c.name, count(o.id) as orders, round(sum(o.total), 2) as spent from customers c left join orders o "
            f"on o.customer_id = c.id and o.status = '{status}' group by c.id order by spent desc, c.id limit {draw.integer(1, 8)}"
        }

    @makes("read_query", "edge", weight=2)
    def expressions(self, draw: Draw) -> JsonObject:
        """Expressions of all kinds of values."""
        return {"query": f"select {draw.one(EXPRESSIONS)}"}

    @makes("read_query", "invalid", weight=3)
    def no_select(self, draw: Draw) -> JsonObject:
        """Return a SELECT that SQLite refuses, or no SELECT."""
        refused = f"select {draw.one(NO_SELECTS)}"
        return {
            "query": draw.one((refused, refused, "delete from orders", "with a as (select 1) select * from a", "", " "))
        }

    @makes("write_query", weight=4)
    def insert(self, draw: Draw) -> JsonObject:
        """Return a row or two, in a table that an earlier call made or changed, or in one that was there."""
        table = draw.existing("table")
        rows = ", ".join(f"({_values(draw, table)})" for _ in range(draw.integer(1, 2)))
        return {"query": f"insert into {table['name']} ({', '.join(table['columns'])}) values {rows}"}

    @makes("write_query", weight=3)
    def update(self, draw: Draw) -> JsonObject:
        """Return some rows of a table."""
        table = draw.existing("table")
        column = draw.one(list(table["columns"]))
        value = _value(draw, table["columns"][column])
        return {"query": f"update {table['name']} set {column} = {value} where {_condition(draw, table)}"}

    @makes("write_query", weight=2)
    def delete(self, draw: Draw) -> JsonObject:
        """Return some rows of a table."""
        table = draw.existing("table")
        return {"query": f"delete from {table['name']} where {_condition(draw, table)}"}

    @makes("write_query", weight=2)
    def define(self, draw: Draw) -> JsonObject:
        """Another column, an index, a view, a trigger, another name, or a table no more."""
        table = draw.earlier("table") if draw.past.earlier("table") else draw.existing("table")
        name, column, new = table["name"], draw.one(list(table["columns"])), f"x{draw.integer(1, 99)}"
        return {
            "query": draw.one(
                (
                    f"alter table {name} add column {new} {draw.one(('integer', 'text', 'real'))}",
                    f"alter table {name} add column {new} text default 'none'",
                    f"create index {new} on {name} ({column})",
                    f"create view {new} as select {column} from {name}",
                    f"create trigger {new} after insert on {name} begin delete from {name} where {column} is null; end",
                    f"drop table {name}",
                )
            )
        }

    @makes("write_query", "edge", weight=2)
    def odd_insert(self, draw: Draw) -> JsonObject:
        """Forms of writing that the server does not know as such: what they write is committed, or lost, or neither."""
        table = draw.existing("table")
        into = f"into {table['name']} ({', '.join(table['columns'])}) values ({_values(draw, table)})"
        forms = ("insert or ignore {}", "insert or replace {}", "replace {}", "with a as (select 1) insert {}", "/* c */ insert {}",
                 "insert {} returning *", " \n insert {};")  # fmt: skip
        return {"query": draw.one(forms).format(into)}

    @makes("write_query", "edge")
    def odd_statement(self, draw: Draw) -> JsonObject:
        """Statements that write nothing that lasts."""
        return {"query": draw.one(ODD_STATEMENTS)}

    @makes("write_query", "invalid", weight=3)
    def no_statement(self, draw: Draw) -> JsonObject:
        """Return what SQLite, a constraint or the server refuses."""
        return {"query": draw.one(NO_STATEMENTS)}

    @makes("create_table", weight=3)
    def new_table(self, draw: Draw) -> JsonObject:
        """Return a table of a few columns."""
        names = list(dict.fromkeys(draw.word() for _ in range(draw.integer(1, 4))))
        columns = ", ".join(f"{name} {draw.one(TYPES)}".strip() for name in names)
        key = draw.one(("id integer primary key, ", "id integer primary key autoincrement, ", ""))
        return {
            "query": f"{draw.one(('create table', 'CREATE TABLE'))} {draw.word()}_{draw.integer(1, 40)} ({key}{columns})"
        }

    @makes("create_table", "edge")
    def odd_table(self, draw: Draw) -> JsonObject:
        """Return a table that exists, one out of a query, one without row ids, one with constraints."""
        known = draw.existing("table")["name"]
        new = f"{draw.word()}_{draw.integer(41, 99)}"
        return {
            "query": draw.one(
                (
                    f"create table if not exists {known} (a)",
                    f"create table {new} as select * from {known}",
                    f"  create table {new} (a text primary key, b) without rowid",
                    f"create table {new} (a integer unique check (a > 0), b text not null default 'x', c as (a * 2))",
                )
            )
        }

    @makes("create_table", "invalid", weight=3)
    def no_table(self, draw: Draw) -> JsonObject:
        """Return a table that exists already, half a statement, two, and other statements."""
        known = draw.existing("table")["name"]
        return {"query": draw.one((f"create table {known} (a)", draw.one(NO_TABLES)))}

    @makes("list_tables", weight=3)
    def nothing(self, draw: Draw) -> JsonObject:
        """No arguments."""
        return {}

    @makes("list_tables", "edge")
    @makes("list_tables", "invalid")
    def unasked(self, draw: Draw) -> JsonObject:
        """Return an argument that the tool does not know."""
        return {"schema": draw.word()}

    @makes("describe_table", weight=3)
    def known_table(self, draw: Draw) -> JsonObject:
        """Return a table that exists."""
        return {"table_name": draw.existing("table")["name"]}

    @makes("describe_table", "edge")
    def odd_name(self, draw: Draw) -> JsonObject:
        """No table, a name in quotes or in another case, an index, and a name that is more than one."""
        known: str = draw.existing("table")["name"]
        return {
            "table_name": draw.one(
                ("nowhere", f'"{known}"', f"'{known}'", known.upper(), "orders_by_customer", f"{known}) --")
            )
        }

    @makes("describe_table", "invalid")
    def no_name(self, draw: Draw) -> JsonObject:
        """Return what is no name."""
        return {"table_name": draw.one(("", "a b", "orders); drop table orders", "'", "select"))}

    @makes("append_insight", weight=3)
    def insight(self, draw: Draw) -> JsonObject:
        """Return a line of words."""
        return {"insight": draw.words()}

    @makes("append_insight", "edge")
    def odd_insight(self, draw: Draw) -> JsonObject:
        """Return a text that is rarely thought of."""
        return {"insight": draw.odd_text()}


def _columns(world: World, table: str) -> dict[str, str]:
    """Return the columns of a table with their types, read from rows: the makers need no more."""
    row = world.query(f"select * from {table} limit 1")[0]
    return {
        name: "INTEGER" if isinstance(value, int) else "REAL" if isinstance(value, float) else "TEXT"
        for name, value in row.items()
    }


def _known(past: Past, name: str) -> JsonObject | None:
    tables = [*past.earlier("table"), *past.initial("table")]
    return next((table for table in tables if table["name"] == name), None)


def _value(draw: Draw, kind: str) -> str:
    """Return a value of a column as SQL writes it; now and then one of another type."""
    if draw.chance(0.1):
        return draw.one(("null", "'text'", "3", "2.5", "x'0102'"))
    match kind.upper():
        case "INTEGER":
            return str(draw.integer(1, 400))
        case "REAL":
            return f"{draw.integer(0, 9999) / 100}"
        case "BLOB":
            return draw.one(("x'00ff'", "x''", "null"))
        case _:
            text = draw.words(most=3) if draw.chance(0.85) else draw.odd_text()
            return "'" + text.replace("'", "''") + "'"


def _values(draw: Draw, table: JsonObject) -> str:
    return ", ".join(_value(draw, kind) for kind in table["columns"].values())


def _condition(draw: Draw, table: JsonObject) -> str:
    column = draw.one(list(table["columns"]))
    value = _value(draw, table["columns"][column])
    return draw.one(
        (
            f"{column} = {value}",
            f"{column} > {value}",
            f"rowid <= {draw.integer(1, 12)}",
            f"{column} like '%a%'",
            f"{column} is null",
        )
    )
