"""The filter of a list of episodes: `scenario=helpdesk/* reward<1 case.plan~pro "late reply"`."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from simtrain.contracts.trajectory import SUCCESS
from simtrain.runs.notes import MARKS
from simtrain.values.errors import InputError, nearest

TEXTS = (
    "scenario", "episode", "agent", "arm", "world", "stop", "detail", "blame", "solvability", "paradigm", "version", "started",
)  # fmt: skip
NUMBERS = (
    "seed", "attempt", "world_seed", "reward", "turns", "steps", "errors", "perturbed", "noticeable", "impossible",
    "tokens", "cost", "seconds",
)  # fmt: skip
COLUMNS = (*TEXTS, *NUMBERS)
"""What episodes are filtered and sorted by; beside them `solved`, `mark` for what a reader noted, LISTS and NAMED."""

NULLABLE = ("blame", "detail", "started", "world_seed", "reward", "noticeable", "seconds")

LISTS = {
    "fired": "fired_json, '$'",
    "called": "more_json, '$.called'",
    "armed": "more_json, '$.armed'",
    "changed": "more_json, '$.changed'",
}
"""Lists of names: perturbations that took effect, tools that were called, perturbations that were armed, tables that changed."""

NAMED = {"case": ("case_json", "$"), "agent": ("more_json", "$.agent"), "grader": ("more_json", "$.grader")}
"""Where the fields of `case.NAME`, `agent.NAME` and `grader.NAME` are: parameters of the case, facts of the agent, values of graders."""

MARK = "mark"

Relation: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">=", "~"]

_TERM = re.compile(r"(?P<name>[A-Za-z_][\w.-]*)(?P<relation>!=|<=|>=|=|<|>|~)(?P<value>.*)", re.DOTALL)


@dataclass(frozen=True)
class Filter:
    """A filter as SQL: the condition, its values, the words to be found in the text of an episode, and marks (`mark=good`).

    `fields` are those of its conditions that lists do not show by themselves, such as `case.plan`.
    """

    condition: str = "1"
    values: Mapping[str, object] = field(default_factory=dict[str, object])
    words: tuple[str, ...] = ()
    marks: tuple[tuple[str, bool], ...] = ()
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class Field:
    """What a list is filtered, sorted and shown by, as SQL, with the values that the SQL needs."""

    sql: str
    values: Mapping[str, object]
    kind: Literal["text", "number", "json"]


def parse(text: str) -> Filter:
    """Return the filter in a text. Raises InputError for an unknown name, and for a value that is not a number where one is needed."""
    conditions, values, words, marks = list[str](), dict[str, object](), list[str](), list[tuple[str, bool]]()
    fields = dict[str, None]()
    for term in _terms(text):
        found = _TERM.fullmatch(term)
        if found is None:
            words.append(term)
            continue
        name: str = found["name"]
        relation: Relation = found["relation"]  # pyright: ignore[reportAssignmentType]
        if name == MARK:
            marks.append(_marked(relation, found["value"]))
            continue
        condition, value = _condition(name, relation, found["value"], f"v{len(values)}")
        conditions.append(condition)
        values |= value
        if "." in name or name in COLUMNS:
            fields[name] = None
    return Filter(" and ".join(conditions) or "1", values, tuple(words), tuple(marks), tuple(fields))


def order(text: str) -> tuple[str, Mapping[str, object]]:
    """Return the SQL that sorts by a field, backwards after a minus, and its values; the order of playing if it names none."""
    found = _sorted(text)
    if found is None:
        return "id", {}
    way = " desc" if text.startswith("-") else ""
    return f"{found.sql}{way}, id{way}", found.values


def sort_keys(text: str) -> tuple[Sequence[str], Mapping[str, object], bool]:
    """Return the same order as SQL that is never null and never the same for two episodes, its values, and whether backwards."""
    found = _sorted(text)
    if found is None:
        return ("id",), {}, False
    keys = (f"{found.sql} is not null", f"coalesce({found.sql}, '')", "id")
    return (
        keys if found.sql in NULLABLE or found.kind == "json" else (found.sql, "id"),
        found.values,
        text.startswith("-"),
    )


def _sorted(text: str) -> Field | None:
    try:
        return field_of(text.removeprefix("-"), "sorted")
    except InputError:
        return None


def field_of(name: str, key: str) -> Field:
    """Return a field by its name. Its values are named after `key`. Raises InputError for a name that is no field."""
    if name in COLUMNS:
        return Field(name, {}, "number" if name in NUMBERS else "text")
    room, _, rest = name.partition(".")
    if room not in NAMED or not rest:
        raise InputError(f"there is no {name!r} to filter by", remedy=nearest(name, _names()))
    column, path = NAMED[room]
    # Quoted, so that a name may hold any sign but the quotation mark.
    place = f'{path}."{rest.replace(chr(34), "")}"'
    return Field(f"json_extract({column}, :{key}p)", {f"{key}p": place}, "json")


def _names() -> Sequence[str]:
    return ("solved", MARK, *LISTS, *(f"{room}.NAME" for room in NAMED), *COLUMNS)


def _terms(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        raise InputError("a quotation mark is not closed", remedy='write "two words"') from None


def _condition(name: str, relation: Relation, value: str, key: str) -> tuple[str, Mapping[str, object]]:
    if name == "solved":
        wanted = int(value in ("yes", "true", "1") and relation == "=")
        return f"(coalesce(reward, 0) >= {SUCCESS}) = :{key}", {key: wanted}
    if name in LISTS:
        return _listed(name, relation, value, key)
    found = field_of(name, key)
    if value == "none" and relation in ("=", "!="):
        return f"{found.sql} is {'not ' if relation == '!=' else ''}null", found.values
    if found.kind == "number" and relation != "~":
        return f"{name} {relation} :{key}", {key: _number(name, value)}
    return _compared(name, found, relation, value, key)


def _listed(name: str, relation: Relation, value: str, key: str) -> tuple[str, Mapping[str, object]]:
    if relation not in ("=", "!=", "~"):
        raise InputError(f"{name} is a name, not a number", remedy=f"write {name}=refund* or {name}!=refund*")
    some = f"exists (select 1 from json_each({LISTS[name]}) where"
    if value == "none":
        return f"{'' if relation == '!=' else 'not '}{some} 1)", {}
    glob = f"{some} value glob :{key})"
    return glob if relation != "!=" else f"not {glob}", {key: f"*{value}*" if relation == "~" else value}


def _marked(relation: Relation, value: str) -> tuple[str, bool]:
    wanted = "" if value == "none" else value
    if wanted not in MARKS or relation not in ("=", "!="):
        raise InputError(f"there is no mark {value!r}", remedy="write mark=good, mark=bad, mark=look or mark=none")
    return wanted, relation == "="


def _compared(name: str, found: Field, relation: Relation, value: str, key: str) -> tuple[str, Mapping[str, object]]:
    place, values = found.sql, found.values
    if relation == "~":
        return f"instr(lower({place}), lower(:{key})) > 0", {**values, key: value}
    if relation in ("<", "<=", ">", ">="):
        if name == "started":
            # As ISO 8601, times are in order as texts.
            return f"{place} {relation} :{key}", {**values, key: value}
        return f"cast({place} as real) {relation} :{key}", {**values, key: _number("this", value)}
    if found.kind == "json" and (number := _json_number(value)) is not None:
        equal = f"({place} is :{key} or cast({place} as text) is :{key}w)"
        return equal if relation == "=" else f"not {equal}", {**values, key: number, f"{key}w": value}
    # With a star, names are matched as file names are.
    operator = {"=": "glob", "!=": "not glob"}[relation] if "*" in value else relation
    return f"cast({place} as text) {operator} :{key}", {**values, key: value}


def _json_number(value: str) -> float | None:
    """Return the number that JSON of this word is read as by SQLite, to which true is 1; None for another word."""
    if value in ("true", "false"):
        return float(value == "true")
    # Digits with a zero before them are a name, such as an account.
    return float(value) if re.fullmatch(r"-?(0|[1-9]\d{0,14})(\.\d+)?", value) else None


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise InputError(f"{name} is compared with {value!r}, which is not a number") from None
