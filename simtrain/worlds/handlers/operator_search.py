"""Search boxes with operators, `from:ana is:unread -"weekly report"`, as in mailboxes, chats and trackers."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TypeAlias

import orjson

from simtrain.contracts.handler import HandlerContext, ToolError
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.service.queries import read_cursor, write_cursor

Conditions: TypeAlias = Mapping[str, str]

MAX_TERMS = 30
"""Terms of one query. Each becomes a condition, and SQLite refuses expressions deeper than 1,000."""

_TERM = re.compile(r'(-?)(?:([A-Za-z_]+):)?(?:"([^"]*)"|(\S+))')
_DAY = re.compile(r"([<>]=?)?(\d{4})[-/](\d{1,2})[-/](\d{1,2})")
_AGE = re.compile(r"(\d{1,4})([dwmy])")
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}


@dataclass(frozen=True)
class Box:
    """One search box: what it searches, and its operators. Every SQL condition may use `:value`, `:now` and `:today`.

    `hits` is a SELECT of one JSON object a row, with `{where}` in place of the conditions and a full ORDER BY.
    `words` is the condition of a plain word. An operator takes any value in `operators`, one of a few in `choices`;
    in `days` it is a day, with `<` or `>` in front where the condition holds `{compare}`; in `ages` it is a span such
    as `7d`, bound as `:value`, a day.
    """

    reply: str
    page: int
    hits: str
    words: str
    operators: Conditions = field(default_factory=dict[str, str])
    choices: Mapping[str, Conditions] = field(default_factory=dict[str, Conditions])
    days: Conditions = field(default_factory=dict[str, str])
    ages: Conditions = field(default_factory=dict[str, str])

    @property
    def known(self) -> list[str]:
        """The names of all operators."""
        return sorted({*self.operators, *self.choices, *self.days, *self.ages})


def search(context: HandlerContext, box: Box) -> JsonObject:
    """Return the hits of the argument `query`: one page of them, their total, and the cursor of the next page.

    Terms narrow the search, OR joins two alternatives, a minus excludes, quotes keep words together. Raises ToolError for an
    operator that the box does not know and for a value that an operator cannot take.
    """
    offset = read_cursor(context.arguments.get("cursor"))
    where, values = _conditions(str(context.arguments["query"]), box, context.now[:10])
    parameters: dict[str, JsonValue] = {**values, "now": context.now, "today": context.now[:10]}
    sql = box.hits.replace("{where}", where)
    total = context.read(f"select count(*) as n from ({sql})", parameters)[0]["n"]
    page = context.read(f"{sql}\nlimit :_limit offset :_offset", {**parameters, "_limit": box.page, "_offset": offset})
    hits: list[JsonValue] = [orjson.loads(next(iter(row.values()))) for row in page]
    more = offset + box.page < total
    return {box.reply: hits, "total": total, "next_cursor": write_cursor(offset + box.page) if more else None}


def _conditions(query: str, box: Box, today: str) -> tuple[str, dict[str, JsonValue]]:
    """Return the WHERE clause of a query and its parameters."""
    alternatives: list[list[str]] = []
    values: dict[str, JsonValue] = {}
    joined = False
    for number, term in enumerate(_terms(query)):
        if term.bare == "OR":
            joined = bool(alternatives)
            continue
        condition, value = _condition(term, box, today)
        # Bound, never written into the SQL: an agent wrote the query.
        values[f"value{number}"] = value
        written = condition.replace(":value", f":value{number}")
        # A condition on a missing value is NULL, and so is its negation: `-from:ana` would lose mail without a sender.
        written = f"not coalesce(({written}), 0)" if term.excluded else f"({written})"
        if joined:
            alternatives[-1].append(written)
        else:
            alternatives.append([written])
        joined = False
    return " and ".join(f"({' or '.join(either)})" for either in alternatives) or "1", values


@dataclass(frozen=True)
class _Term:
    excluded: bool
    operator: str | None
    value: str
    bare: str | None


def _terms(query: str) -> list[_Term]:
    found = [
        _Term(bool(minus), operator.lower() or None, quoted or plain, plain if not (minus or operator) else None)
        for minus, operator, quoted, plain in _TERM.findall(query)
    ]
    if len(found) > MAX_TERMS:
        raise ToolError(f"The query has too many terms; {MAX_TERMS} are the most.")
    return found


def _condition(term: _Term, box: Box, today: str) -> tuple[str, str]:
    """Return the condition of one term and the value that it binds."""
    operator = term.operator
    if operator is None:
        return box.words, term.value
    if operator in box.choices:
        choice = box.choices[operator].get(term.value.lower())
        if choice is None:
            raise ToolError(f"{operator}: knows {', '.join(box.choices[operator])}, not {term.value!r}.")
        return choice, term.value
    if operator in box.operators:
        return box.operators[operator], term.value
    if operator in box.days:
        return _day(box.days[operator], term)
    if operator in box.ages:
        return box.ages[operator], _age(term, today)
    raise ToolError(f"Unknown search operator {operator!r}. Known: {', '.join(box.known)}.")


def _day(condition: str, term: _Term) -> tuple[str, str]:
    found = _DAY.fullmatch(term.value)
    if found is None or (found[1] and "{compare}" not in condition):
        raise ToolError(f"{term.operator}: needs a day such as 2031-03-05, not {term.value!r}.")
    day = f"{found[2]}-{int(found[3]):02}-{int(found[4]):02}"
    return condition.replace("{compare}", found[1] or "="), day


def _age(term: _Term, today: str) -> str:
    """Return the day that is a span such as `7d` or `2w` before today."""
    found = _AGE.fullmatch(term.value)
    if found is None:
        raise ToolError(f"{term.operator}: needs a span such as 7d or 2w, not {term.value!r}.")
    return str(date.fromisoformat(today) - timedelta(days=int(found[1]) * _DAYS[found[2]]))
