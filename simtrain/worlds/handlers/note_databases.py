"""Databases of the notes workspace: typed properties, filters and sorting."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import TypeAlias, cast

import orjson

from simtrain.contracts.handler import HandlerContext, ToolError
from simtrain.values.types import JsonObject, JsonValue, encode, is_list
from simtrain.worlds.service.queries import read_cursor, write_cursor

PAGE = 25
TITLE = "Title"
"""The name of a row's title in filters and sorts."""

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_Test: TypeAlias = Callable[[JsonValue, JsonValue], bool]


def query_database(context: HandlerContext) -> JsonObject:
    """Return the rows of `database` that match `filters` (all, or any with `match`), sorted, a page at a time. Raises ToolError."""
    database = context.arguments["database"]
    known = {TITLE, *_properties(context, database)}
    filters = [_filter(entry, known) for entry in context.arguments["filters"]]
    sorts = context.arguments["sorts"]
    for entry in sorts:
        _known(str(entry["property"]), known)
    # Of no filters none matches: `any` would find no row at all.
    combine = any if context.arguments["match"] == "any" and filters else all
    rows = [row for row in _rows(context, database) if combine(test(row) for test in filters)]
    # Sorting is stable, so the first criterion goes last.
    for entry in reversed(sorts):
        rows = _sorted(rows, str(entry["property"]), descending=entry.get("direction") == "descending")
    offset = read_cursor(context.arguments.get("cursor"))
    more = offset + PAGE < len(rows)
    return {
        "rows": rows[offset : offset + PAGE],
        "total": len(rows),
        "next_cursor": write_cursor(offset + PAGE) if more else None,
    }


def set_properties(context: HandlerContext) -> JsonObject:
    """Set properties of a row; null empties one. Raises ToolError for a value that the property cannot take."""
    page = context.arguments["page"]
    row = context.read("select database from pages where id = :page", {"page": page})[0]
    if row["database"] is None:
        raise ToolError(f"validation_error: {page} is a page, not a row of a database")
    store_properties(context, page, str(row["database"]), context.arguments["properties"])
    note_edit(context, page)
    found = context.read('select "properties:json" as properties from page_cards where id = :page', {"page": page})[0]
    return {"page": page, "properties": orjson.loads(str(found["properties"]))}


def note_edit(context: HandlerContext, page: str) -> None:
    """Write down that the page was edited now, by the owner of the account."""
    sql = "update pages set edited_at = :now, edited_by = (select id from me) where id = :page"
    context.write(sql, {"now": context.now, "page": page})


def store_properties(context: HandlerContext, page: str, database: str | None, values: Mapping[str, JsonValue]) -> None:
    """Check values against the properties of a database and store them. Raises ToolError."""
    properties = _properties(context, database)
    for name, value in values.items():
        _known(name, set(properties))
        if value is None:
            sql = "delete from property_values where page = :page and property = :name"
            context.write(sql, {"page": page, "name": name})
            continue
        _check(context, properties[name], value)
        context.write(
            "insert into property_values values (:page, :database, :name, :value) "
            "on conflict (page, property) do update set value = excluded.value",
            {"page": page, "database": database, "name": name, "value": encode(value)},
        )


def _properties(context: HandlerContext, database: JsonValue) -> dict[str, JsonObject]:
    rows = context.read(
        "select name, kind, options, target from properties where database = :database order by position",
        {"database": database},
    )
    return {str(row["name"]): row for row in rows}


def _known(name: str, known: set[str]) -> None:
    if name not in known:
        raise ToolError(f"validation_error: no property {name!r}; there are {', '.join(sorted(known))}")


def _check(context: HandlerContext, prop: JsonObject, value: JsonValue) -> None:
    """Raise ToolError for a value that a property cannot hold."""
    kind, name = str(prop["kind"]), str(prop["name"])
    options = cast(list[str], orjson.loads(str(prop["options"]))) if prop["options"] else []
    several = value if is_list(value) else [value]
    if kind in ("multi_select", "person", "relation") and not is_list(value):
        raise ToolError(f"validation_error: {name} takes a list")
    match kind:
        # True and False are ints in Python, but not numbers in JSON.
        case "number" if isinstance(value, bool) or not isinstance(value, int | float):
            raise ToolError(f"validation_error: {name} takes a number")
        case "checkbox" if not isinstance(value, bool):
            raise ToolError(f"validation_error: {name} takes true or false")
        case "date" if not _is_day(value):
            raise ToolError(f"validation_error: {name} takes a date such as 2031-04-09")
        case "text" | "url" if not isinstance(value, str):
            raise ToolError(f"validation_error: {name} takes text")
        case "select" | "multi_select":
            for item in several:
                if item not in options:
                    raise ToolError(f"validation_error: {name} has no option {item!r}; there are {', '.join(options)}")
        case "person":
            _refer(context, "select id from users where active", several, name)
        case "relation":
            sql = "select id from pages where database = :target and trashed_at is null"
            _refer(context, sql, several, name, target=prop["target"])
        case _:
            pass


def _is_day(value: JsonValue) -> bool:
    # `fromisoformat` alone would take 20310409 and 2031-W15-3 too.
    if not isinstance(value, str) or not _DAY.fullmatch(value):
        return False
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _refer(context: HandlerContext, sql: str, items: Sequence[JsonValue], name: str, **values: JsonValue) -> None:
    ids = {row["id"] for row in context.read(sql, values)}
    for item in items:
        if item not in ids:
            raise ToolError(f"validation_error: {name} cannot refer to {item!r}")


def _rows(context: HandlerContext, database: JsonValue) -> list[JsonObject]:
    found = context.read(
        'select id, title, icon, "properties:json" as properties, url, edited_at from page_cards '
        "where database = :database and trashed_at is null order by title, id",
        {"database": database},
    )
    return [{**row, "properties": orjson.loads(str(row["properties"]))} for row in found]


def _value(row: JsonObject, name: str) -> JsonValue:
    return row["title"] if name == TITLE else row["properties"].get(name)


def _filter(entry: JsonObject, known: set[str]) -> Callable[[JsonObject], bool]:
    name, operator, wanted = str(entry["property"]), str(entry["operator"]), entry.get("value")
    _known(name, known)
    if wanted is None and operator not in ("is_empty", "is_not_empty"):
        raise ToolError(f"validation_error: the operator {operator} needs a value")
    test = _TESTS[operator]
    return lambda row: test(_value(row, name), wanted)


def _contains(value: JsonValue, wanted: JsonValue) -> bool:
    if is_list(value):
        return wanted in value
    return isinstance(value, str) and str(wanted).lower() in value.lower()


def _compare(value: JsonValue, wanted: JsonValue) -> int | None:
    """Return -1, 0 or 1; None if the two have no order. Dates are in order as text."""
    numbers = isinstance(value, int | float) and isinstance(wanted, int | float)
    if not numbers and not (isinstance(value, str) and isinstance(wanted, str)):
        return None
    left, right = cast("tuple[str, str]", (value, wanted))
    return (left > right) - (left < right)


_TESTS: dict[str, _Test] = {
    "equals": lambda value, wanted: value == wanted,
    "does_not_equal": lambda value, wanted: value != wanted,
    "contains": _contains,
    "does_not_contain": lambda value, wanted: not _contains(value, wanted),
    "greater_than": lambda value, wanted: _compare(value, wanted) == 1,
    "less_than": lambda value, wanted: _compare(value, wanted) == -1,
    "on_or_after": lambda value, wanted: _compare(value, wanted) in (0, 1),
    "on_or_before": lambda value, wanted: _compare(value, wanted) in (0, -1),
    "is_empty": lambda value, _: value in (None, "", []),
    "is_not_empty": lambda value, _: value not in (None, "", []),
}


def _sorted(rows: list[JsonObject], name: str, *, descending: bool) -> list[JsonObject]:
    """Return rows sorted by a property: those without a value last in either direction, equal ones in their order."""
    filled = [row for row in rows if _value(row, name) is not None]
    empty = [row for row in rows if _value(row, name) is None]
    return [*sorted(filled, key=lambda row: _key(_value(row, name)), reverse=descending), *empty]


def _key(value: JsonValue) -> tuple[float, str]:
    return (value, "") if isinstance(value, int | float) else (0, value if isinstance(value, str) else encode(value))
