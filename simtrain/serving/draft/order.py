"""The order of lists: by when rows came, or by a column, whichever agrees with what was recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from itertools import product
from typing import cast

from simtrain.serving.draft.filters import Filter, Listing, shown_by
from simtrain.serving.draft.forms import identifier, is_bindable, literal, plain
from simtrain.serving.draft.lives import Life, Table
from simtrain.types import JsonObject, JsonValue

SORTING = frozenset({"sort", "sortby", "orderby", "order", "orderfield", "sortfield", "sortkey"})
DIRECTING = frozenset({"order", "sortorder", "direction", "orderdirection", "dir", "sortdirection", "sortdir"})


@dataclass(frozen=True)
class Order:
    """An order: a key of SQL, and how it compares two rows."""

    sql: tuple[str, ...]
    compare: Callable[[Listing, Life, Life], int]


def fit_order(table: Table, arguments: JsonObject, filters: Sequence[Filter], listings: Sequence[Listing]) -> list[str]:
    """The terms of ORDER BY. Arguments that choose an order (`sort_by`, `order`) are followed where their values say how."""
    by = next((name for name in arguments if plain(name) in SORTING and _columns_named(table, arguments[name])), None)
    if by is None or not is_bindable(by):
        return list(_best(table, _orders(table, arguments), filters, listings).sql)
    columns = _columns_named(table, arguments[by])
    direction = next(
        (name for name in arguments if name != by and plain(name) in DIRECTING and is_bindable(name)), None
    )
    terms: list[str] = []
    for value, column in columns.items():
        ways = ("asc", "desc") if direction else ("asc",)
        for way in ways:
            here = [
                item
                for item in listings
                if item.arguments.get(by) == value and item.arguments.get(direction or "", "asc") == way
            ]
            wanted = [
                order
                for order in _orders(table, arguments)
                if _is_on(order, column) and (_falls(order) is (way == "desc"))
            ]
            best = _best(table, wanted, filters, here)
            condition = f":{by} = {literal(value)}" + (f" and :{direction} = {literal(way)}" if direction else "")
            terms.append(_under(condition, best.sql[0]))
            if len(best.sql) > 1:
                terms += [_under(condition, term) for term in best.sql[1:] if term != "rowid"]
    return [*terms, "rowid"]


def arranged(order: Order, filters: Sequence[Filter], listing: Listing) -> list[Life]:
    """The rows that filters leave, in an order."""
    return sorted(shown_by(filters, listing), key=cmp_to_key(lambda one, other: order.compare(listing, one, other)))


def _best(table: Table, orders: Sequence[Order], filters: Sequence[Filter], listings: Sequence[Listing]) -> Order:
    def score(order: Order) -> int:
        return sum(_agrees(order, filters, listing) for listing in listings)

    return max(orders, key=score) if orders else _by_age(1)


def _agrees(order: Order, filters: Sequence[Filter], listing: Listing) -> bool:
    expected = arranged(order, filters, listing)
    if listing.limit is not None:
        expected = expected[: listing.limit]
    if {id(life) for life in expected} == {id(life) for life in listing.shown}:
        return [id(life) for life in expected] == [id(life) for life in listing.shown]
    # The filters are not understood: what is shown is at least in this order.
    ranked = [life for life in arranged(order, [], listing) if life in listing.shown]
    return ranked == list(listing.shown)


def _orders(table: Table, arguments: JsonObject) -> list[Order]:
    """Orders, the plainest first."""
    found = [_by_age(1), _by_age(-1)]
    for column, kind in table.columns.items():
        if kind == "json":
            continue
        for sign, nulls, age in product((1, -1), (1, -1), (1, -1)):
            found.append(_by_column(column, sign, nulls, age))
    for column, ranks in _ranked(table, arguments).items():
        for sign, age in product((1, -1), (1, -1)):
            found.append(_by_rank(column, ranks, sign, age))
            found.append(_by_rank(column, list(reversed(ranks)), sign, age))
    return found


def _age(table_lives: Listing, one: Life, other: Life) -> int:
    lives = list(table_lives.standing)
    return lives.index(one) - lives.index(other)


def _by_age(sign: int) -> Order:
    return Order(("rowid" if sign > 0 else "rowid desc",), lambda listing, one, other: sign * _age(listing, one, other))


def _by_column(column: str, sign: int, nulls: int, age: int) -> Order:
    name = identifier(column)
    # SQLite puts nulls first where it counts up, and last where it counts down.
    usual = (nulls < 0) is (sign > 0)
    term = name + ("" if sign > 0 else " desc") + ("" if usual else " nulls last" if nulls > 0 else " nulls first")

    def compare(listing: Listing, one: Life, other: Life) -> int:
        left, right = listing.cells(one)(column), listing.cells(other)(column)
        absent = nulls * ((left is None) - (right is None))
        return (
            absent
            or (left is not None and right is not None and sign * _compared(left, right))
            or age * _age(listing, one, other)
        )

    return Order((term, "rowid" if age > 0 else "rowid desc"), compare)


def _by_rank(column: str, ranks: Sequence[str], sign: int, age: int) -> Order:
    whens = " ".join(f"when {literal(value)} then {index}" for index, value in enumerate(ranks))
    term = f"case {identifier(column)} {whens} else {len(ranks)} end" + ("" if sign > 0 else " desc")
    places = {value: index for index, value in enumerate(ranks)}

    def compare(listing: Listing, one: Life, other: Life) -> int:
        left, right = (places.get(str(listing.cells(life)(column)), len(ranks)) for life in (one, other))
        return sign * (left - right) or age * _age(listing, one, other)

    return Order((term, "rowid" if age > 0 else "rowid desc"), compare)


def _compared(left: JsonValue, right: JsonValue) -> int:
    if isinstance(left, str) is not isinstance(right, str):
        left, right = str(left), str(right)
    return (left > right) - (left < right)


def _ranked(table: Table, arguments: JsonObject) -> dict[str, list[str]]:
    """Columns whose values stand in an order of their own: that of an enumeration in the schema."""
    found: dict[str, list[str]] = {}
    for name, schema in arguments.items():
        column = table.column_like(name)
        values = enumerated(schema)
        if column is not None and len(values) > 2:
            held = {
                value
                for life in table.lives
                for _, fields in life.sightings
                if isinstance(value := fields.get(column), str)
            }
            # A value that no row ever holds (`all`, `none`) is for asking only.
            found[column] = [value for value in values if value in held] if held else values
    return found


def enumerated(schema: JsonValue) -> list[str]:
    """The texts of `enum`, at the top or in one of `anyOf`."""
    if not isinstance(schema, dict):
        return []
    held = cast(JsonObject, schema)
    branches: list[JsonValue] = [held, *cast("list[JsonValue]", held.get("anyOf") or [])]
    listed = [cast(JsonObject, branch).get("enum") for branch in branches if isinstance(branch, dict)]
    return [value for values in listed for value in cast("list[JsonValue]", values or []) if isinstance(value, str)]


def _columns_named(table: Table, schema: JsonValue) -> dict[str, str]:
    """Values of an argument that are the names of columns."""
    found: dict[str, str] = {}
    for value in enumerated(schema):
        column = table.column_like(value)
        if column is not None:
            found[value] = column
    return found


def _is_on(order: Order, column: str) -> bool:
    return order.sql[0].startswith((f"{identifier(column)} ", f"case {identifier(column)} ")) or order.sql[
        0
    ] == identifier(column)


def _falls(order: Order) -> bool:
    return " desc" in order.sql[0]


def _under(condition: str, term: str) -> str:
    for ending in (" desc nulls last", " desc nulls first", " nulls last", " nulls first", " desc"):
        if term.endswith(ending):
            return f"case when {condition} then {term.removesuffix(ending)} end{ending}"
    return f"case when {condition} then {term} end"
