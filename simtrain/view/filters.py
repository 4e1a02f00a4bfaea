"""The filter of a list of episodes: `scenario=helpdesk/* reward<1 case.plan~pro "late reply"`."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from simtrain.contracts.trajectory import SUCCESS
from simtrain.runs.notes import MARKS
from simtrain.values.errors import InputError, nearest

TEXTS = ("scenario", "episode", "agent", "arm", "world", "stop", "blame", "solvability")
NUMBERS = (
    "seed", "attempt", "world_seed", "reward", "turns", "steps", "errors", "perturbed", "noticeable", "impossible",
    "tokens", "cost", "seconds",
)  # fmt: skip
COLUMNS = (*TEXTS, *NUMBERS)
"""What episodes are filtered and sorted by; beside them `solved`, `fired` for the perturbations that took effect, `mark` for what a
reader noted, and `case.NAME` for any parameter of a case."""

CASE, FIRED, MARK = "case.", "fired", "mark"

_TERM = re.compile(r"(?P<name>[A-Za-z_][\w.]*)(?P<relation>!=|<=|>=|=|<|>|~)(?P<value>.*)", re.DOTALL)


@dataclass(frozen=True)
class Filter:
    """A filter as SQL: the condition, its values, the words to be found in the text of an episode, and marks (`mark=good`)."""

    condition: str = "1"
    values: Mapping[str, object] = field(default_factory=dict[str, object])
    words: tuple[str, ...] = ()
    marks: tuple[tuple[str, bool], ...] = ()


def parse(text: str) -> Filter:
    """Return the filter in a text. Raises InputError for an unknown name, and for a value that is not a number where one is needed."""
    conditions, values, words, marks = list[str](), dict[str, object](), list[str](), list[tuple[str, bool]]()
    for term in _terms(text):
        found = _TERM.fullmatch(term)
        if found is None:
            words.append(term)
            continue
        if found["name"] == MARK:
            marks.append(_marked(found["relation"], found["value"]))
            continue
        key = f"v{len(values)}"
        condition, value = _condition(found["name"], found["relation"], found["value"], key)
        conditions.append(condition)
        values |= value
    return Filter(" and ".join(conditions) or "1", values, tuple(words), tuple(marks))


def order(text: str) -> str:
    """Return the SQL that sorts by a column, backwards after a minus; the order in which they were played if it names none."""
    name = text.removeprefix("-")
    if name not in COLUMNS:
        return "id"
    return f"{name} {'desc' if text.startswith('-') else 'asc'}, id"


def _terms(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        raise InputError("a quotation mark is not closed", remedy='write "two words"') from None


def _condition(name: str, relation: str, value: str, key: str) -> tuple[str, dict[str, object]]:
    if name == "solved":
        return f"(coalesce(reward, 0) >= {SUCCESS}) = :{key}", {
            key: int(value in ("yes", "true", "1") and relation == "=")
        }
    if name == FIRED:
        return _fired(relation, value, key)
    if name.startswith(CASE):
        path = f"{key}p"
        place = "$." + "".join(f'"{part}"' for part in [name.removeprefix(CASE).replace('"', "")])
        return _compared(f"json_extract(case_json, :{path})", relation, value, key, {path: place})
    if name not in COLUMNS:
        raise InputError(f"there is no {name!r} to filter by", remedy=nearest(name, ("solved", FIRED, MARK, *COLUMNS)))
    if value == "none" and relation in ("=", "!="):
        return f"{name} is {'not ' if relation == '!=' else ''}null", {}
    if name in NUMBERS and relation != "~":
        return f"{name} {relation} :{key}", {key: _number(name, value)}
    return _compared(name, relation, value, key, {})


def _fired(relation: str, value: str, key: str) -> tuple[str, dict[str, object]]:
    if relation not in ("=", "!=", "~"):
        raise InputError(f"{FIRED} is a label, not a number", remedy="write fired=timeout* or fired!=timeout*")
    if value == "none":
        return f"fired_json {relation if relation != '~' else '='} '[]'", {}
    some = f"exists (select 1 from json_each(fired_json) where value glob :{key})"
    return some if relation != "!=" else f"not {some}", {key: f"*{value}*" if relation == "~" else value}


def _marked(relation: str, value: str) -> tuple[str, bool]:
    wanted = "" if value == "none" else value
    if wanted not in MARKS or relation not in ("=", "!="):
        raise InputError(f"there is no mark {value!r}", remedy="write mark=good, mark=bad, mark=look or mark=none")
    return wanted, relation == "="


def _compared(
    place: str, relation: str, value: str, key: str, values: dict[str, object]
) -> tuple[str, dict[str, object]]:
    if relation in ("<", "<=", ">", ">="):
        return f"cast({place} as real) {relation} :{key}", {**values, key: _number("this", value)}
    if relation == "~":
        return f"instr(lower({place}), lower(:{key})) > 0", {**values, key: value}
    # With a star, names are matched as file names are.
    operator = {"=": "glob", "!=": "not glob"}[relation] if "*" in value else relation
    return f"cast({place} as text) {operator} :{key}", {**values, key: value}


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise InputError(f"{name} is compared with {value!r}, which is not a number") from None
