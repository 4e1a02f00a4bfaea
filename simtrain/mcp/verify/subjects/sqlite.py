"""The reference server `sqlite`: one database file, opened anew for every statement."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, cast

from simtrain.contracts.world import World
from simtrain.mcp.verify.draw import Draw, Past
from simtrain.mcp.verify.subject import GeneratedCall, Subject
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.handlers.sqlite_server.store import image, load

TYPES = ("INTEGER", "TEXT", "REAL", "BLOB", "")
FAILURES = ("Database error:", "Error:", "Input validation error:")

_MADE = re.compile(r'create table (?:if not exists )?"?(\w+)"? \((.*)\)', re.IGNORECASE)
_CHANGED = re.compile(r'(?:insert into|insert or \w+ into|update|delete from|alter table) "?(\w+)"?', re.IGNORECASE)
_DROPPED = re.compile(r"drop table (\w+)", re.IGNORECASE)
_ADDED = re.compile(r"alter table (\w+) add column (\w+) (\w+)", re.IGNORECASE)


def value(draw: Draw, kind: str) -> str:
    """Return a value for a column as an SQL literal; occasionally one of another type."""
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


def row(draw: Draw, table: JsonObject) -> str:
    """Return the values of one row of a table, with commas."""
    return ", ".join(value(draw, kind) for kind in table["columns"].values())


def condition(draw: Draw, table: JsonObject) -> str:
    """Return a condition that some rows of a table meet."""
    column = draw.one(list(table["columns"]))
    compared = value(draw, table["columns"][column])
    return draw.one(
        (
            f"{column} = {compared}",
            f"{column} > {compared}",
            f"rowid <= {draw.integer(1, 12)}",
            f"{column} like '%a%'",
            f"{column} is null",
        )
    )


def new_columns(draw: Draw) -> str:
    """Return up to four columns of a new table, with commas."""
    names = list(dict.fromkeys(draw.word() for _ in range(draw.integer(1, 4))))
    return ", ".join(f"{name} {draw.one(TYPES)}".strip() for name in names)


class Sqlite(Subject):
    """Kinds of values: `table`, as {"name", "columns": {name: type}}; it is updated when a call changes it."""

    tables = ("agent_rows", "agent_schema")
    calls = Path(__file__).with_suffix(".yaml")
    helpers = (value, row, condition, new_columns)

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
        """Write the world's database as a file."""
        (root / "shop.db").write_bytes(image(load(world.query), now="2031-03-03T09:00:00Z"))

    def initial(self, world: World) -> Mapping[str, Sequence[JsonValue]]:
        """Return the tables of the world file."""
        tables = [one for one in load(world.query).definitions if one.type == "table"]
        return {"table": [{"name": one.name, "columns": _columns(world, one.name)} for one in tables]}

    def failed(self, response: JsonObject) -> bool:
        """True if the reply's text reports a failure: this server reports failures in ordinary replies."""
        return super().failed(response) or response["result"]["content"][0]["text"].startswith(FAILURES)

    def learn(self, past: Past, call: GeneratedCall, reply: JsonObject) -> None:
        """Note the table that was created, altered or dropped; the makers write statements in forms that are easy to
        parse.
        """
        statement = call.arguments.get("query")
        if call.tool not in ("write_query", "create_table") or not isinstance(statement, str):
            return
        # `if not exists` leaves a known table as it is.
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
