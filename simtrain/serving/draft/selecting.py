"""Which rows a tool means: the one whose id it is given or has just made, and the lists that its arguments leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from simtrain.serving.draft.filters import Listing, fit_filters, shown_by
from simtrain.serving.draft.forms import identifier, is_bindable, plain, wrapped
from simtrain.serving.draft.history import History, named_ids
from simtrain.serving.draft.lives import Life, Table
from simtrain.serving.draft.observed import Call
from simtrain.serving.draft.order import DIRECTING, SORTING, fit_order
from simtrain.serving.draft.rowing import Unexplained, identity_of
from simtrain.types import JsonObject, JsonValue

NEW_ID = "new_id"
"""The parameter that holds the id of the row that a tool makes."""

_LIMITS = frozenset({"limit", "maxresults", "pagesize", "perpage", "size", "top", "max", "count", "num", "n"})
_OFFSETS = frozenset({"offset", "skip", "startat", "startindex"})
_PAGES = frozenset({"page", "pagenumber", "pageno"})


@dataclass(frozen=True, eq=False)
class Tool:
    """A tool that is being drafted: its calls that did what it is for, and what it makes, if it makes anything."""

    name: str
    history: History
    calls: Sequence[Call]
    subject: Table | None
    makes: bool = False
    id_given: str | None = None
    """The argument in which a creating tool is told the id."""
    columns: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def arguments(self) -> JsonObject:
        """The arguments that SQL can name, with their schemas."""
        found = self.history.observed.properties(self.name)
        return {name: schema for name, schema in found.items() if is_bindable(name)}

    def default(self, name: str) -> JsonValue:
        """The value that the schema gives an absent argument."""
        schema: JsonValue = self.arguments.get(name)
        return cast(JsonObject, schema).get("default") if isinstance(schema, dict) else None

    def given(self, call: Call) -> JsonObject:
        """The arguments of a call as SQL sees them: with defaults, and null for absent ones."""
        return {name: call.arguments.get(name, self.default(name)) for name in self.arguments}

    def made(self, call: Call) -> Life | None:
        """The row that a call made."""
        lives = self.subject.lives if self.makes and self.subject else []
        return next((life for life in lives if life.born == call.number), None)

    def condition(self, table: Table) -> str | None:
        """The condition for the one row that the tool means, or for the several whose ids it is given; None where it names none."""
        if self.makes and table is self.subject:
            return f"{identifier(table.id)} = :{self.id_given or NEW_ID}"
        name = self.history.id_argument(self.name, table)
        if name is None or not is_bindable(name):
            return None
        several = any(isinstance(call.arguments.get(name), list) for call in self.calls)
        picked = f"in (select value from json_each(:{name}))" if several else f"= :{name}"
        return " and ".join([f"{identifier(table.id)} {picked}", *self.within(table)])

    def within(self, table: Table) -> list[str]:
        """Conditions that the row belongs to others that the tool must be told: a task to its project."""
        found: list[str] = []
        if self.makes:
            return found
        required = self.history.observed.required(self.name)
        for name, other in self.history.references(self.name):
            column = next(
                (column for column in table.columns if column != table.id and plain(column) == plain(name)), None
            )
            if (
                other is not table
                and column is not None
                and name in required
                and is_bindable(name)
                and plain(name) != "id"
            ):
                found.append(f"{identifier(column)} = :{name}")
        return found

    def meant(self, table: Table, call: Call, *, after: bool) -> list[Life]:
        """The rows that a call means."""
        if self.makes and table is self.subject:
            made = self.made(call)
            return [made] if made is not None else []
        ids = named_ids(call, self.history.id_argument(self.name, table))
        found = [table.one(identity, call.course, call.number, after=after) for identity in ids]
        return [life for life in found if life is not None]


@dataclass(frozen=True)
class Lists:
    """A list of rows as a tool shows it: its table, conditions and order, and what cuts it."""

    table: Table
    conditions: tuple[str, ...]
    order: tuple[str, ...]
    limit: str
    totals: Mapping[int, int]
    """How many rows there were to show, before anything cut them, by call."""

    @property
    def source(self) -> str:
        """FROM and WHERE."""
        where = f" where {' and '.join(self.conditions)}" if self.conditions else ""
        return f"from {identifier(self.table.name)}{where}"

    @property
    def sql(self) -> str:
        """FROM to the end, on one line."""
        return f"{self.source} order by {', '.join(self.order)}{self.limit}"

    def lines(self) -> list[str]:
        """FROM to the end, a clause or a condition a line."""
        found = [f"from {identifier(self.table.name)}"]
        found += [f"{'  and' if index else 'where'} {condition}" for index, condition in enumerate(self.conditions)]
        return [*found, f"order by {wrapped(self.order)}", *([self.limit.strip()] if self.limit else [])]


def select_list(tool: Tool, table: Table, shown: Sequence[tuple[Call, Sequence[JsonObject]]]) -> Lists:
    """The list that a tool shows of a table, by what was shown in each call. Raises Unexplained."""
    limit = _argument(tool, _LIMITS)
    offset, page = _argument(tool, _OFFSETS), _argument(tool, _PAGES)
    picked = tool.condition(table) if not tool.makes else None
    paging = {name for name in (limit, offset, page) if name}
    sorting = {name for name in tool.arguments if plain(name) in SORTING | DIRECTING} if picked is None else set[str]()
    every = [(call, _listing(tool, table, call, rows, limit)) for call, rows in shown]
    listings = [listing for call, listing in every if not _is_further(call, offset, page)]
    own = tool.history.id_argument(tool.name, table) if picked is not None else None
    arguments = {name: schema for name, schema in tool.arguments.items() if name not in paging | {own}}
    filtering = {name: schema for name, schema in arguments.items() if name not in sorting or table.column_like(name)}
    required = tool.history.observed.required(tool.name)
    filters = fit_filters(table, filtering, listings, required=required) if picked is None else []
    conditions = [picked] if picked is not None else [option.sql for option in filters]
    terms = fit_order(table, arguments, filters, listings)
    totals = {call.number: len(shown_by(filters, listing)) for call, listing in every} if picked is None else {}
    return Lists(table, tuple(conditions), tuple(terms), _cut(tool, limit, offset, page), totals)


def _listing(tool: Tool, table: Table, call: Call, rows: Sequence[JsonObject], limit: str | None) -> Listing:
    standing = table.standing(call.course, call.number, after=True)
    by_id = {str(life.id): life for life in standing}
    lives = [by_id.get(str(identity_of(table, row))) for row in rows]
    if None in lives:
        raise Unexplained(f"a {table.kind} in a list that was deleted before")
    given = tool.given(call)
    cut = given.get(limit) if limit else None
    return Listing(
        given, standing, [life for life in lives if life], call.number, cut if isinstance(cut, int) else None
    )


def _argument(tool: Tool, names: frozenset[str]) -> str | None:
    return next((name for name in tool.arguments if plain(name) in names), None)


def _is_further(call: Call, offset: str | None, page: str | None) -> bool:
    """Whether a call asked for more than the beginning of a list."""
    return bool(call.arguments.get(offset or "")) or call.arguments.get(page or "", 1) != 1


def _cut(tool: Tool, limit: str | None, offset: str | None, page: str | None) -> str:
    if limit is None:
        return ""
    text = f" limit coalesce(:{limit}, -1)"
    if offset is not None:
        return f"{text} offset coalesce(:{offset}, 0)"
    if page is not None:
        return f"{text} offset (coalesce(:{page}, 1) - 1) * coalesce(:{limit}, 0)"
    return text
