"""The queries of replies: SQL with named parameters, and the structured content made from its rows."""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import cast

import orjson
from pydantic import ValidationError

from simtrain.contracts.handler import ToolError
from simtrain.files.templates import Text
from simtrain.values.errors import InputError, nearest
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.service.database import Database
from simtrain.worlds.service.row_limits import Row
from simtrain.worlds.service.spec import ReadSpec

# Strings, quoted names and comments are matched first, so that a colon or question mark inside them is no parameter.
_TOKEN = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|[:@$]([A-Za-z_]\w*)|(\?)", re.DOTALL)
_CONVERTERS: dict[str, Callable[[JsonValue], JsonValue]] = {
    "json": lambda cell: None if cell is None else orjson.loads(cell),
    "bool": lambda cell: None if cell is None else bool(cell),
}
_OPTIONAL = ":optional"
_SHAPES = frozenset({"one", "rows", "value", "missing"})


def parameters_in(sql: str) -> set[str]:
    """Return the named parameters of a statement. Raises InputError for positional ones."""
    found = list(_TOKEN.finditer(sql))
    if any(match[2] for match in found):
        raise InputError("positional parameters (?) are not allowed", remedy="name them, like :order_id")
    return {match[1] for match in found if match[1]}


# Only the statements of worlds come here, not those of agents.
_parameters_in = lru_cache(maxsize=1024)(parameters_in)


def check_parameters(sql: str, known: set[str]) -> None:
    """Raise an InputError for a statement that names an unknown parameter."""
    for name in sorted(parameters_in(sql)):
        if name not in known:
            raise InputError(f"nothing binds the parameter :{name}", remedy=nearest(name, known))


class Query:
    """One SELECT and the shape of its result: `one` object, a list of `rows`, or one scalar `value`; `page` rows at a time."""

    __slots__ = ("_converters", "_optional", "_plain", "_unpaged", "missing", "page", "shape", "sql")

    def __init__(self, sql: str, *, shape: str = "rows", missing: str | None = None, page: int | None = None) -> None:
        self.shape = shape
        self.page = page
        self.missing = Text(missing) if missing else None
        stripped = sql.strip().rstrip(";")
        self._unpaged = stripped
        self.sql = f"{stripped}\nlimit :_limit offset :_offset" if page else stripped
        self._converters: list[tuple[str, Callable[[JsonValue], JsonValue] | None]] = []
        self._optional: frozenset[str] = frozenset()
        self._plain: tuple[str, ...] = ()
        """The column names, if no column needs converting or leaving out: a short way for the usual case."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns; known after `learn`."""
        return [name for name, _ in self._converters]

    def learn(self, database: Database, values: Mapping[str, JsonValue]) -> None:
        """Learn the columns without running the query. Raises InputError if two have the same name."""
        aliases = database.columns(self.sql, values)
        self._converters = [_split_alias(alias.removesuffix(_OPTIONAL)) for alias in aliases]
        self._optional = frozenset(
            name for alias, name in zip(aliases, self.columns, strict=True) if alias.endswith(_OPTIONAL)
        )
        if not self._optional and all(convert is None for _, convert in self._converters):
            self._plain = tuple(self.columns)
        for index, name in enumerate(self.columns):
            # SQLite renames the second of two equal columns of a subquery: `id` and `id:1`.
            first, _, copy = name.rpartition(":")
            if name == "" or (copy.isdigit() and first in self.columns[:index]):
                raise InputError(f"two columns are called {first!r}", remedy="name one with `as`")

    def fetch(self, database: Database, values: Mapping[str, JsonValue]) -> JsonValue:
        """Return the result in its shape. A paged list is one row longer than a page if more rows follow."""
        if self.shape == "rows":
            rows = database.fetch(self.sql, values)
            if self._plain:
                return [dict(zip(self._plain, row, strict=True)) for row in rows]
            return [self._shown(row) for row in rows]
        row = database.first(self.sql, values)
        if row is None:
            return None
        if self.shape == "value":
            convert = self._converters[0][1]
            return row[0] if convert is None else convert(row[0])
        return dict(zip(self._plain, row, strict=True)) if self._plain else self._shown(row)

    def total(self, database: Database, values: Mapping[str, JsonValue]) -> int:
        """Return how many rows a paged list has on all its pages."""
        named = _parameters_in(self._unpaged)
        return database.count(self._unpaged, {name: values[name] for name in named if name in values})

    def _shown(self, row: Row) -> JsonObject:
        """Return a row as an object, without optional keys that are null."""
        cells = zip(self._converters, row, strict=True)
        found = {name: cell if convert is None else convert(cell) for (name, convert), cell in cells}
        if not self._optional:
            return found
        return {name: value for name, value in found.items() if value is not None or name not in self._optional}

    @property
    def required(self) -> list[str]:
        """The columns that every object has."""
        return [name for name in self.columns if name not in self._optional]


def _split_alias(alias: str) -> tuple[str, Callable[[JsonValue], JsonValue] | None]:
    name, _, kind = alias.rpartition(":")
    return (name, _CONVERTERS[kind]) if name and kind in _CONVERTERS else (alias, None)


class ReplyQueries:
    """The queries of a tool's reply: `whole` if one query gives the reply itself, otherwise `parts` by key."""

    __slots__ = ("parts", "whole")

    def __init__(self, source: str | JsonObject, *, page: int | None) -> None:
        """Raises InputError for a query without a shape, and for `page` without a list."""
        self.whole: Query | None = None
        self.parts: dict[str, Query] = {}
        given: JsonObject = {"items": source} if isinstance(source, str) else source
        if given and set(given) <= _SHAPES:
            key, query = _query(given, page)
            self.parts, self.whole = (
                ({"items": query}, None) if query.shape == "rows" else ({key: query}, query if key == "one" else None)
            )
        else:
            for name, part in given.items():
                first = page if not any(query.page for query in self.parts.values()) else None
                self.parts[name] = _query({"rows": part} if isinstance(part, str) else part, first)[1]
        if page is not None and not any(query.page for query in self.parts.values()):
            raise InputError("`page` needs a list in `read`")

    def fetch(self, database: Database, values: dict[str, JsonValue]) -> JsonObject:
        """Return the structured content. Raises ToolError for a missing object."""
        found: JsonObject = {}
        for name, query in self.parts.items():
            result = query.fetch(database, values)
            if result is None and query.shape == "one":
                raise ToolError(query.missing.render(values) if query.missing else "Not found.")
            if query.page is not None:
                rows = cast("list[JsonObject]", result)
                more = len(rows) > query.page
                found[name] = rows[: query.page]
                found["next_cursor"] = write_cursor(cast(int, values["_offset"]) + query.page) if more else None
            else:
                found[name] = result
        return found if self.whole is None else next(iter(found.values()))

    def schema(self) -> JsonObject:
        """Return a JSON Schema of the content, as far as column names tell. Call `learn` on the queries first."""
        if self.whole is not None:
            return _object_schema(self.whole)
        properties: JsonObject = {}
        for name, query in self.parts.items():
            item = {} if query.shape == "value" else _object_schema(query)
            properties[name] = {"type": "array", "items": item} if query.shape == "rows" else item
            if query.page is not None:
                properties["next_cursor"] = {"type": ["string", "null"]}
        return {"type": "object", "properties": properties, "required": list(properties)}


def _query(source: JsonValue, page: int | None) -> tuple[str, Query]:
    try:
        spec = ReadSpec.model_validate(source)
    except ValidationError:
        raise InputError("a query is SQL, or one of {one: SQL, missing: text}, {rows: SQL}, {value: SQL}") from None
    given = [
        (shape, sql)
        for shape, sql in (("one", spec.one), ("rows", spec.rows), ("value", spec.value))
        if sql is not None
    ]
    if len(given) != 1:
        raise InputError("a query needs exactly one of one, rows, value")
    shape, sql = given[0]
    return shape, Query(sql, shape=shape, missing=spec.missing, page=page if shape == "rows" else None)


def _object_schema(query: Query) -> JsonObject:
    return {"type": "object", "properties": {name: {} for name in query.columns}, "required": query.required}


@lru_cache(maxsize=1024)
def write_cursor(offset: int) -> str:
    """Return an opaque cursor for an offset."""
    return base64.urlsafe_b64encode(b"o:%d" % offset).decode().rstrip("=")


def read_cursor(cursor: JsonValue) -> int:
    """Return the offset in a cursor; 0 for none. Raises ToolError for an invalid cursor."""
    if cursor is None:
        return 0
    text = str(cursor)
    try:
        head, _, offset = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("ascii").partition(":")
        if head == "o" and offset.isdigit() and len(offset) < 10:
            return int(offset)
    except (ValueError, binascii.Error):
        pass
    raise ToolError(
        "Invalid cursor. Pass next_cursor of the reply before, or leave cursor out to start at the first page."
    )
