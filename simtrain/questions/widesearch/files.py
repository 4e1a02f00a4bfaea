"""The files of WideSearch: questions and responses as JSON Lines, gold tables as CSV, and a file of known aliases."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from simtrain.contracts.question import normal_name
from simtrain.files.file_bytes import file_text
from simtrain.questions.widesearch.arbiter import Known
from simtrain.questions.widesearch.rules import TableRules, read_rules
from simtrain.values.errors import InputError, nearest
from simtrain.values.types import JsonObject, JsonValue, is_object

ANY = "*"
"""The entry of an alias file that applies to every question."""


@dataclass(frozen=True, slots=True)
class BenchmarkQuestion:
    """A question with its rules and its gold table as CSV text."""

    id: str
    query: str
    rules: TableRules
    gold: str


@dataclass(frozen=True, slots=True)
class TrialResponse:
    """One trial of a question; `response` is None if none was recorded."""

    id: str
    trial: int
    response: str | None


def read_questions(path: Path, gold: Path) -> list[BenchmarkQuestion]:
    """Return the questions of a JSONL file with their tables, `{instance_id}.csv` in the folder `gold`. Raises InputError."""
    if not gold.is_dir():
        raise InputError("there is no such folder of gold tables", file=gold)
    found: dict[str, BenchmarkQuestion] = {}
    for line, row in _rows(path):
        name = _text(row, "instance_id", path, line)
        if name in found:
            raise InputError(f"the question {name!r} comes twice", file=path, line=line)
        # The id names the gold file: `../x` would read outside of the folder.
        if Path(name).name != name or name in (".", ".."):
            raise InputError(f"{name!r} is not a file name", file=path, line=line, place="instance_id")
        try:
            rules = read_rules(row.get("evaluation"))
        except InputError as error:
            raise error.at(file=path, line=line) from None
        table = gold / f"{name}.csv"
        text = file_text(table)
        gold_rows(text, rules, file=table)
        found[name] = BenchmarkQuestion(name, str(row.get("query", "")), rules, text)
    if not found:
        raise InputError("no question in it", file=path)
    return list(found.values())


def read_responses(path: Path, known: Sequence[str]) -> list[TrialResponse]:
    """Return the responses in a JSONL file, or in all `*.jsonl` files of a folder, by name. Raises InputError.

    A line holds `instance_id`, `response` and optionally `trial_idx`; without it, the lines of a question are its trials in order.
    """
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise InputError("no *.jsonl file in it", file=path)
    found: list[TrialResponse] = []
    seen: dict[tuple[str, int], str] = {}
    for file in files:
        for line, row in _rows(file):
            name = _text(row, "instance_id", file, line)
            if name not in known:
                raise InputError(f"no question is called {name!r}", remedy=nearest(name, known), file=file, line=line)
            response = row.get("response")
            if response is not None and not isinstance(response, str):
                raise InputError("`response` is not a text", file=file, line=line)
            trial = row.get("trial_idx")
            if not isinstance(trial, int):
                trial = sum(own == name for own, _ in seen)
            if (name, trial) in seen:
                raise InputError(
                    f"trial {trial} of {name!r} comes twice", remedy=f"see {seen[name, trial]}", file=file, line=line
                )
            seen[name, trial] = f"{file}:{line}"
            found.append(TrialResponse(name, trial, response))
    return found


def gold_rows(text: str, rules: TableRules, *, file: Path | None = None) -> list[tuple[str, ...]]:
    """Return the rows of a gold table as texts, in the order of the rules' columns. Raises InputError."""
    try:
        rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff")), strict=True))
    except csv.Error as error:
        raise InputError(f"not CSV: {error}", file=file) from None
    heading = [normal_name(cell) for cell in rows[0]] if rows else []
    for name in rules.names:
        if name not in heading:
            raise InputError(f"the gold table has no column {name!r}", remedy=nearest(name, heading), file=file)
    places = [heading.index(name) for name in rules.names]
    for number, row in enumerate(rows[1:], start=2):
        if row and len(row) != len(heading):
            raise InputError(f"{len(row)} cells under {len(heading)} headings", file=file, line=number)
    return [tuple(row[place].strip() for place in places) for row in rows[1:] if row]


def read_known(path: Path) -> dict[str, Known]:
    """Return prior knowledge by question or `*`: `{"columns": {...}, "keys": {...}, "accepted": [[given, gold], ...]}`.

    Raises InputError.
    """
    try:
        value: JsonValue = orjson.loads(file_text(path))
    except orjson.JSONDecodeError as error:
        raise InputError(f"not JSON: {error}", file=path) from None
    if not is_object(value):
        raise InputError("not an object of questions", file=path)
    return {name: _known(entry, path, name) for name, entry in value.items()}


def known_for(name: str, known: Mapping[str, Known], *, exact: bool = False) -> Known:
    """Return what is known for one question: its own entry merged over the one for all. `exact` as in `Known`."""
    common, own = known.get(ANY, Known()), known.get(name, Known())
    return Known(
        {**common.columns, **own.columns},
        {**common.aliases, **own.aliases},
        common.accepted | own.accepted,
        exact=exact,
    )


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    columns: dict[str, str] = Field(default_factory=dict[str, str])
    keys: dict[str, str] = Field(default_factory=dict[str, str])
    accepted: list[list[str]] = Field(default_factory=list[list[str]])

    @field_validator("accepted")
    @classmethod
    def _pairs(cls, value: list[list[str]]) -> list[list[str]]:
        if any(len(pair) != 2 for pair in value):
            raise ValueError("not a list of pairs [given, gold]")
        return value


def _known(entry: JsonValue, path: Path, name: str) -> Known:
    try:
        read = _Entry.model_validate(entry)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in (name, *first["loc"]))
        raise InputError(first["msg"].lower(), file=path, place=place) from None
    return Known(read.columns, read.keys, frozenset((given, gold) for given, gold in read.accepted))


def _rows(path: Path) -> Iterator[tuple[int, JsonObject]]:
    # Not splitlines: JSON text may hold U+2028 as it is, which ends no line here.
    for number, line in enumerate(file_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row: JsonValue = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise InputError(f"not JSON: {error}", file=path, line=number) from None
        if not is_object(row):
            raise InputError("not a JSON object", file=path, line=number)
        yield number, row


def _text(row: JsonObject, field: str, path: Path, line: int) -> str:
    value = row.get(field)
    if not isinstance(value, str) or not value:
        raise InputError(f"no text `{field}`", file=path, line=line)
    return value
