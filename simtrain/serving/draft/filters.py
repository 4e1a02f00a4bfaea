"""Filters of lists: what an argument may do to the rows that are shown, and which of it agrees with what was recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from simtrain.serving.draft.forms import identifier, is_bindable, literal, plain
from simtrain.serving.draft.lives import UNKNOWN, Life, Table
from simtrain.types import JsonObject, JsonValue

Keeps: TypeAlias = Callable[[Callable[[str], JsonValue], JsonValue], bool]
"""Whether a row is shown: takes the row's cells by column, and the argument's value (None where it is absent)."""

SEARCHING = frozenset(
    {"query", "q", "search", "keyword", "keywords", "term", "text", "searchterm", "searchquery", "pattern", "contains"}
)
_LOWER = ("min", "after", "since", "from", "start", "above")
_UPPER = ("max", "before", "until", "to", "end", "below")


@dataclass(frozen=True)
class Filter:
    """One thing that an argument may do: a condition in SQL, and the same in Python."""

    argument: str
    sql: str
    keeps: Keeps


@dataclass(frozen=True)
class Listing:
    """A recorded list: the rows that stood, those that were shown, and the arguments (with the schema's defaults)."""

    arguments: JsonObject
    standing: Sequence[Life]
    shown: Sequence[Life]
    number: int
    limit: int | None
    """How many rows the list was cut at, where that is known."""

    def cells(self, life: Life) -> Callable[[str], JsonValue]:
        """The cells of a row as they were."""
        return lambda column: None if (found := life.value(column, after=self.number)) is UNKNOWN else found


def fit_filters(
    table: Table, arguments: JsonObject, listings: Sequence[Listing], *, required: Sequence[str]
) -> list[Filter]:
    """The filter that each argument is, one after the other and twice over, by how many lists come out right.

    `arguments` are schemas by name. An argument of which nothing was recorded does what its name says; one that is like nothing
    in the table does nothing.
    """
    options = {
        name: _options(table, name, schema, listings, name in required)
        for name, schema in arguments.items()
        if is_bindable(name)
    }
    options = {name: found for name, found in options.items() if found}
    chosen = {name: found[0] for name, found in options.items()}
    for _ in range(2):
        for name, found in options.items():
            # The first of equally good ones stays: the plainest comes first.
            chosen[name] = max(found, key=lambda option, name=name: _score({**chosen, name: option}.values(), listings))
    return [option for option in chosen.values() if option.sql]


def shown_by(filters: Sequence[Filter], listing: Listing) -> list[Life]:
    """The rows that filters leave of a list, in the order in which they came."""
    return [life for life in listing.standing if _kept(filters, listing, life)]


def _kept(filters: Sequence[Filter], listing: Listing, life: Life) -> bool:
    cells = listing.cells(life)
    return all(option.keeps(cells, listing.arguments.get(option.argument)) for option in filters)


def _score(filters: Iterable[Filter], listings: Sequence[Listing]) -> int:
    chosen = list(filters)
    return sum(_right(chosen, listing) for listing in listings)


def _right(filters: Sequence[Filter], listing: Listing) -> bool:
    kept = shown_by(filters, listing)
    shown = {id(life) for life in listing.shown}
    if listing.limit is not None and len(kept) > listing.limit:
        return len(shown) == listing.limit and shown <= {id(life) for life in kept}
    return shown == {id(life) for life in kept}


def _options(table: Table, name: str, schema: JsonValue, listings: Sequence[Listing], required: bool) -> list[Filter]:
    guard = _Guard(name, required)
    values = [listing.arguments.get(name) for listing in listings]
    is_list = any(isinstance(value, list) for value in values) or _says_list(schema)
    if plain(name) in SEARCHING:
        return [*_searches(table, guard)]
    column = _bound(table, name)
    if column is not None:
        sign, target = column
        return [_compared(guard, target, sign), guard.nothing()]
    target = table.column_like(name)
    if target is None:
        return []
    kind = table.columns[target]
    if kind == "json":
        return (
            [_any_of(guard, target), _all_of(guard, target), guard.nothing()]
            if is_list
            else [_has(guard, target), guard.nothing()]
        )
    if is_list:
        return [_within(guard, target), guard.nothing()]
    found = [_equal(guard, target), *_with_defaults(table, guard, target, listings), _alike(guard, target)]
    if kind == "text":
        found.append(_contains(guard, [target]))
    return [*found, guard.nothing()]


@dataclass(frozen=True)
class _Guard:
    """An argument, and whether a list must do without it."""

    argument: str
    required: bool

    def filter(self, sql: str, keeps: Keeps) -> Filter:
        """A condition that holds where the argument is absent."""
        guarded = sql if self.required else f"(:{self.argument} is null or {sql})"
        return Filter(self.argument, guarded, lambda cells, value: value is None or keeps(cells, value))

    def nothing(self) -> Filter:
        """An argument without effect."""
        return Filter(self.argument, "", lambda cells, value: True)


def _equal(guard: _Guard, column: str) -> Filter:
    return guard.filter(f"{identifier(column)} = :{guard.argument}", lambda cells, value: _same(cells(column), value))


def _alike(guard: _Guard, column: str) -> Filter:
    sql = f"lower({identifier(column)}) = lower(:{guard.argument})"
    return guard.filter(sql, lambda cells, value: str(cells(column)).lower() == str(value).lower())


def _with_defaults(table: Table, guard: _Guard, column: str, listings: Sequence[Listing]) -> list[Filter]:
    """The same with a value that an absent argument stands for, and with one that lets all rows pass, such as `all`."""
    given = {value for listing in listings if isinstance(value := listing.arguments.get(guard.argument), str)}
    held = {
        value for life in table.lives for _, fields in life.sightings if isinstance(value := fields.get(column), str)
    }
    found: list[Filter] = []
    for passing in (None, *sorted(given - held)):
        for default in (None, *sorted(held)):
            if passing is not None or (default is not None and not guard.required):
                found.append(_defaulted(guard, column, default, passing))
    return found


def _defaulted(guard: _Guard, column: str, default: str | None, passing: str | None) -> Filter:
    value = f":{guard.argument}" if default is None else f"coalesce(:{guard.argument}, {literal(default)})"
    sql = f"{identifier(column)} = {value}"
    if default is None and not guard.required:
        sql = f":{guard.argument} is null or {sql}"
    if passing is not None:
        sql = (
            f":{guard.argument} = {literal(passing)} or {sql}"
            if default is None
            else f"{value} = {literal(passing)} or {sql}"
        )

    def keeps(cells: Callable[[str], JsonValue], given: JsonValue) -> bool:
        wanted = default if given is None else given
        return wanted is None or (passing is not None and wanted == passing) or _same(cells(column), wanted)

    return Filter(guard.argument, f"({sql})" if " or " in sql else sql, keeps)


def _within(guard: _Guard, column: str) -> Filter:
    sql = f"{identifier(column)} in (select value from json_each(:{guard.argument}))"
    return guard.filter(sql, lambda cells, value: any(_same(cells(column), item) for item in _list(value)))


def _has(guard: _Guard, column: str) -> Filter:
    sql = f"exists (select 1 from json_each({identifier(column)}) where value = :{guard.argument})"
    return guard.filter(sql, lambda cells, value: value in _list(cells(column)))


def _any_of(guard: _Guard, column: str) -> Filter:
    inner = f"select value from json_each(:{guard.argument})"
    sql = f"exists (select 1 from json_each({identifier(column)}) where value in ({inner}))"
    return guard.filter(sql, lambda cells, value: any(item in _list(cells(column)) for item in _list(value)))


def _all_of(guard: _Guard, column: str) -> Filter:
    inner = f"select value from json_each({identifier(column)})"
    sql = f"not exists (select 1 from json_each(:{guard.argument}) where value not in ({inner}))"
    return guard.filter(sql, lambda cells, value: all(item in _list(cells(column)) for item in _list(value)))


def _compared(guard: _Guard, column: str, sign: str) -> Filter:
    def keeps(cells: Callable[[str], JsonValue], value: JsonValue) -> bool:
        cell = cells(column)
        if cell is None or isinstance(cell, str) is not isinstance(value, str):
            return False
        return cell >= value if sign == ">=" else cell <= value

    return guard.filter(f"{identifier(column)} {sign} :{guard.argument}", keeps)


def _bound(table: Table, name: str) -> tuple[str, str] | None:
    """The comparison and the column of an argument like `min_price` or `due_before`."""
    form = plain(name)
    for words, sign in ((_LOWER, ">="), (_UPPER, "<=")):
        for word in words:
            rest = form[len(word) :] if form.startswith(word) else form[: -len(word)] if form.endswith(word) else None
            column = next(
                (column for column in table.columns if rest and plain(column) in (rest, f"{rest}at", f"{rest}date")),
                None,
            )
            if column is not None and table.column_like(name) is None:
                return sign, column
    return None


def _searches(table: Table, guard: _Guard) -> list[Filter]:
    """A search over all columns of text, over fewer of them, and over all with those that are JSON."""
    texts = [name for name, kind in table.columns.items() if kind == "text" and not _is_machine_text(table, name)]
    first = [texts[:size] for size in range(len(texts), 0, -1)]
    single = [[name] for name in texts[1:]]
    more = [[*texts, *(name for name, kind in table.columns.items() if kind == "json")]]
    return [_contains(guard, columns) for columns in (*first, *single, *more) if columns]


def _is_machine_text(table: Table, column: str) -> bool:
    """Whether a column holds ids, moments or one of few words, none of which people search."""
    values = [life.first(column) for life in table.lives]
    texts = [value for value in values if isinstance(value, str)]
    return column == table.id or column == table.parent_column or not any(" " in text for text in texts)


def _contains(guard: _Guard, columns: Sequence[str]) -> Filter:
    parts = [f"instr(lower({identifier(column)}), lower(:{guard.argument})) > 0" for column in columns]
    sql = parts[0] if len(parts) == 1 else f"({' or '.join(parts)})"

    def keeps(cells: Callable[[str], JsonValue], value: JsonValue) -> bool:
        return any(str(value).lower() in str(cells(column) or "").lower() for column in columns)

    return guard.filter(sql, keeps)


def _same(one: JsonValue, other: JsonValue) -> bool:
    return one == other or (one is not None and not isinstance(one, bool) and str(one) == str(other))


def _list(value: JsonValue) -> list[JsonValue]:
    return cast("list[JsonValue]", value) if isinstance(value, list) else []


def _says_list(schema: JsonValue) -> bool:
    return isinstance(schema, dict) and cast(JsonObject, schema).get("type") == "array"
