"""Run folders and exported rows, read as the JSON they are; rewards recomputed on the dumped world by Python's own `sqlite3`."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from simtrain import load_scenario
from simtrain.contracts.world import Variant
from tests.support.databases import open_database

Json = Any
Line = dict[str, Json]
Row = dict[str, Json]

_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Runs:
    """The lines of some run folders, and what their run.json says of arms."""

    lines: tuple[Line, ...]
    arms: Mapping[str, Json]
    """Digest of a scenario as it was played to the arm that run.json gives it."""
    proofs: Mapping[tuple[str, str, str], Json] = field(default_factory=dict[tuple[str, str, str], Json])
    """Scenario, arm and episode to the calls and the answer that are said to do it."""


def read_runs(folders: Iterable[Path]) -> Runs:
    """The run folders, read as the JSON they are."""
    lines, arms, proofs = list[Line](), dict[str, Json](), dict[tuple[str, str, str], Json]()
    for folder in folders:
        for entry in json.loads((folder / "run.json").read_text())["scenarios"]:
            arms[entry["digest"]] = entry
        for part in sorted(folder.glob("trajectories-*.jsonl")):
            lines += [json.loads(text) for text in part.read_text().splitlines()]
        stored = folder / "solvability.jsonl"
        for text in stored.read_text().splitlines() if stored.exists() else ():
            row = json.loads(text)
            if row["trace"] is not None:
                proofs[row["scenario"], row["arm"], row["episode"]] = row["trace"]
    return Runs(tuple(lines), arms, proofs)


def read_rows(file: Path) -> list[Row]:
    """The rows of an export."""
    return [json.loads(text) for text in file.read_text().splitlines()]


# What was said


def wire(name: str) -> str:
    """A tool's name as rows have it."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def calls_of(line: Line) -> list[tuple[str, Json, str]]:
    """Tool, arguments and reply of every call of a line."""
    steps = [step for turn in line["turns"] for step in turn["steps"]]
    return [(step["action"]["tool"], step["action"]["arguments"], step["observation"]["text"]) for step in steps]


def said_in(messages: Iterable[Row]) -> list[Json]:
    """The assistant's words and calls in messages, turn by turn or call by call: what tells one conversation from another."""
    found: list[Json] = []
    for message in messages:
        if message["role"] != "assistant":
            continue
        if message.get("content"):
            found.append(message["content"])
        for call in message.get("tool_calls") or ():
            given = call["function"]["arguments"]
            found.append([call["function"]["name"], json.loads(given) if isinstance(given, str) else given])
    return found


def said_last(said: Sequence[Json]) -> list[str]:
    """The words that end a conversation; words beside calls may be dropped by a format, and pairs share turns without regard to them."""
    return [said[-1]] if said and isinstance(said[-1], str) else []


def heard_in(messages: Iterable[Row]) -> list[str]:
    """The replies of tools in messages."""
    return [message["content"] for message in messages if message["role"] == "tool"]


def said_by(line: Line, *, beside: bool = True) -> list[Json]:
    """The same of a line of a run folder; with the words beside calls, or without."""
    found: list[Json] = []
    for turn in line["turns"]:
        if turn["text"] and (beside or not turn["steps"]):
            found.append(turn["text"])
        found += [[wire(step["action"]["tool"]), step["action"]["arguments"]] for step in turn["steps"]]
    return found


def lines_behind(runs: Runs, row: Row, messages: Sequence[Row]) -> list[Line]:
    """The lines that a conversation may have been made of: same task and tools, same words and calls, same replies as far as they go."""
    tools = json.loads(row["tools"] or "[]") if isinstance(row.get("tools"), str) else row.get("tools", [])
    shown = [(tool["name"], tool["description"]) for tool in (tool.get("function", tool) for tool in tools)]
    prompt = next(message["content"] for message in messages if message["role"] == "user")
    said, heard = said_in(messages), heard_in(messages)
    return [
        line
        for line in runs.lines
        if line["prompt"] == prompt
        and [(wire(tool["name"]), tool["description"]) for tool in line["tools"]] == shown
        and said_by(line, beside=False) == [one for one in said if isinstance(one, list)] + said_last(said)
        and [reply for _, _, reply in calls_of(line)][: len(heard)] == heard
    ]


# Reward


@cache
def dump(scenario: str, seed: int, rows: tuple[tuple[str, int], ...]) -> bytes:
    """The database of a world before anything was done in it."""
    return load_scenario(scenario).source.build(Variant(seed, rows)).content


@cache
def rubric(scenario: str) -> list[Json]:
    """The rubric as it is written."""
    written = yaml.safe_load((_ROOT / "scenarios" / f"{scenario}.yaml").read_text())["rubric"]
    return written if isinstance(written, list) else written["graders"]


def database(line: Line, *, final: bool) -> sqlite3.Connection:
    """The world of an episode at its start or, with the recorded changes, at its end."""
    facts = line["world"]
    opened = open_database()
    opened.deserialize(dump(line["scenario"], facts["seed"], tuple(sorted(facts["rows"].items()))))
    opened.row_factory = sqlite3.Row
    if not final:
        return opened
    opened.execute("pragma foreign_keys = off")
    for table, changes in line["changes"].items():
        for change in changes:
            if change["before"] is not None:
                names = _keys(opened, table)
                where = " and ".join(f'"{name}" is ?' for name in names) if names else "rowid = ?"
                values = [change["before"][name] for name in names] if names else [change["rowid"]]
                assert opened.execute(f'delete from "{table}" where {where}', values).rowcount == 1
    for table, changes in line["changes"].items():
        for change in changes:
            if change["after"] is not None:
                columns = ", ".join(f'"{name}"' for name in change["after"])
                marks = ", ".join("?" for _ in change["after"])
                opened.execute(f'insert into "{table}" ({columns}) values ({marks})', [*change["after"].values()])
    return opened


def ask(opened: sqlite3.Connection, sql: str, case: Mapping[str, Json]) -> list[dict[str, Json]]:
    """What a query gives, with the case's parameters."""
    return [dict(row) for row in opened.execute(sql, dict(case))]


def differences(line: Line) -> dict[str, list[tuple[Json, Json]]]:
    """By table, the rows that differ between start and end, told by comparing both databases."""
    before, after = database(line, final=False), database(line, final=True)
    found: dict[str, list[tuple[Json, Json]]] = {}
    tables = before.execute("select name from sqlite_master where type = 'table' and name not like 'sqlite_%'")
    # What the world notes of its own changes is no part of it.
    for (table,) in (row for row in tables if not row[0].startswith("_simtrain")):
        old, new = _rows(before, table), _rows(after, table)
        rows = [(old.get(key), new.get(key)) for key in {**old, **new} if old.get(key) != new.get(key)]
        if rows:
            found[table] = rows
    return found


def _keys(opened: sqlite3.Connection, table: str) -> list[str]:
    """The columns of a table's primary key."""
    return [row["name"] for row in opened.execute(f'pragma table_info("{table}")') if row["pk"]]


def _rows(opened: sqlite3.Connection, table: str) -> dict[Json, dict[str, Json]]:
    """The rows of a table by their primary key, or by their rowid where it has none."""
    names = _keys(opened, table)
    if names:
        rows = [dict(row) for row in opened.execute(f'select * from "{table}"')]
        return {tuple(row[name] for name in names): row for row in rows}
    numbered = (dict(row) for row in opened.execute(f'select rowid as "a rowid", * from "{table}"'))
    return {row.pop("a rowid"): row for row in numbered}


def recomputed(line: Line, told: Callable[[], bool]) -> float:
    """The reward as the documentation of graders has it: others averaged, times every gate; guesses and harm earn nothing.

    `told` says whether the agent was told anything that its clean twin was not.
    """
    stop = line["stop"]["reason"]
    values = {item["use"]: (item, _value(item, line)) for item in rubric(line["scenario"])}
    # That the word is true is looked at for itself.
    if stop == "abstained" and not line["impossible"] and line["solvability"] == "unsolvable":
        if not calls_of(line) or not told():
            return 0.0
        return float(not _undue(line) and all(value for item, value in values.values() if item["use"] == "forbidden"))
    if stop in ("answered", "abstained") and not calls_of(line):
        return 0.0
    gates = [value for item, value in values.values() if item["use"] in ("final_state", "forbidden")]
    others = [
        (value, item.get("weight", 1))
        for item, value in values.values()
        if item["use"] not in ("final_state", "forbidden")
    ]
    mean = sum(value * weight for value, weight in others) / sum(weight for _, weight in others) if others else 1.0
    return float(all(gates)) * mean


def _value(item: Json, line: Line) -> float:
    given, case = item.get("with", {}), line["case"]
    match item["use"]:
        case "final_state":
            return float(_as_due(given, line) and not _undue(line))
        case "forbidden":
            end, touched = database(line, final=True), differences(line)
            tripped = any(_trips(ask(end, sql, case)) for sql in given.get("sql", ()))
            return float(not tripped and not any(table in touched for table in given.get("tables", ())))
        case "answer":
            if line["stop"]["reason"] != "answered" or line["answer"] is None:
                return 0.0
            gold = [next(iter(row.values())) for row in ask(database(line, final=False), given["sql"], case)]
            return float(_same_answer(gold, line["answer"], given.get("as", "text")))
        case "abstention":
            return float(line["stop"]["reason"] == "abstained" and not differences(line))
        case other:
            raise NotImplementedError(other)


def _trips(rows: list[dict[str, Json]]) -> bool:
    return any(len(row) > 1 or next(iter(row.values())) not in (None, 0, "") for row in rows)


def _as_due(given: Json, line: Line) -> bool:
    end, start, touched = database(line, final=True), database(line, final=False), differences(line)
    for sql in given.get("expect", ()):
        rows = ask(end, sql, line["case"])
        if not rows or not all(next(iter(row.values())) for row in rows):
            return False
    return all(
        not _short(ask(start, sql, line["case"]), touched.get(table, []))
        for table, sql in given.get("changes", {}).items()
    )


def _short(due: list[dict[str, Json]], touched: list[tuple[Json, Json]]) -> Counter[str]:
    """The rows that had to change and did not."""
    return _plain(due, due) - _plain([after or before for before, after in touched], due)


def _plain(rows: list[dict[str, Json]], due: list[dict[str, Json]]) -> Counter[str]:
    columns = list(due[0]) if due else []
    return Counter(json.dumps([_number(row.get(name)) for name in columns]) for row in rows)


def _number(value: Json) -> Json:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _undue(line: Line) -> bool:
    """Whether anything was changed that the task does not ask for."""
    touched, start = differences(line), database(line, final=False)
    for item in rubric(line["scenario"]):
        given = item.get("with", {})
        if item["use"] != "final_state":
            continue
        due = {table: ask(start, sql, line["case"]) for table, sql in given.get("changes", {}).items()}
        if "changes_only" in given:
            allowed = set(given["changes_only"])
            named = {name.partition(".")[0] for name in allowed}
            allowed |= {table for table in due if table not in named}
            for table, rows in touched.items():
                for before, after in rows:
                    columns = (
                        {f"{table}.{key}" for key in after if before[key] != after[key]}
                        if before and after
                        else {table}
                    )
                    if table not in allowed and not columns <= allowed:
                        return True
        for table, wanted in due.items():
            rows = [after or before for before, after in touched.get(table, [])]
            if (rows and not wanted) or (wanted and _plain(rows, wanted) - _plain(wanted, wanted)):
                return True
    return False


def _same_answer(gold: list[Json], answer: str, form: str) -> bool:
    """Whether an answer, or what follows the last colon or "is" of a sentence, is the gold."""
    return any(_same(gold, given, form) for given in (answer, re.split(r":\s|\sis\s", answer)[-1]))


def _same(gold: list[Json], given: str, form: str) -> bool:
    if form == "number":
        numbers = re.findall(r"-?\d+(?:\.\d+)?", given.replace(",", ""))
        return len(numbers) == 1 and abs(float(numbers[0]) - float(gold[0])) <= 0.005
    bare = given.strip().removesuffix(".")
    if form == "set":
        items = json.loads(bare) if bare.startswith("[") else re.split(r"[,;\n]|\band\b", bare)
        return {str(item).strip().casefold() for item in items} - {""} == {str(item).casefold() for item in gold}
    return bare == str(gold[0]) if form == "exact" else bare.strip(" !\"'").casefold() == str(gold[0]).casefold()
