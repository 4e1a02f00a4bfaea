"""A reader of exports of its own: what rows say is held against the lines of the run folder and the database of the world.

It shares no code with graders, solvers or exporters. Reward: the rubric is read from the scenario's file, and its SQL is run by Python's
own `sqlite3` on the dumped database, before and after the recorded changes. What was seen: an agent without chance does the same as long
as it is told the same, so that its transcript parts from that of its clean twin just where it was told something else. That a task can
be done: somebody did it, or the calls of a stored proof, made again, do it, or those that do it in the clean twin, each made until it is
answered. That it cannot: one of those last is a write that is refused however often it is made.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter

from simtrain import load_scenario, open_episode
from simtrain.arm import Arm
from simtrain.arms import armed
from simtrain.scenario import Episode
from simtrain.types import Action
from simtrain.world import Variant

Json = Any
Line = dict[str, Json]
Row = dict[str, Json]
Place = tuple[str, str, str, int]
"""Scenario, arm, episode, seed."""

STUBBORN = 6
FULL = 1 - 1e-6
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d[:.\d]*Z?")
_ROOT = Path(__file__).parent.parent


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


def lines_behind(runs: Runs, messages: Sequence[Row]) -> list[Line]:
    """The lines that a conversation may have been made of: same task, same words and calls, same replies as far as they go."""
    prompt = next(message["content"] for message in messages if message["role"] == "user")
    said, heard = said_in(messages), heard_in(messages)
    return [
        line
        for line in runs.lines
        if line["prompt"] == prompt
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
    opened = sqlite3.connect(":memory:")
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


def reward_of(line: Line) -> float:
    """The reward as the documentation of graders has it: others averaged, times every gate; guesses and harm earn nothing."""
    # A line lives as long as the runs that it is one of; what is only tried has no place there.
    if id(line) not in _KNOWN.rewards:
        reward = _reward(line)
        if not any(line is other for other in _KNOWN.runs.lines):
            return reward
        _KNOWN.rewards[id(line)] = reward
    return _KNOWN.rewards[id(line)]


def _reward(line: Line) -> float:
    stop = line["stop"]["reason"]
    values = {item["use"]: (item, _value(item, line)) for item in rubric(line["scenario"])}
    # That the word is true is looked at for itself.
    if stop == "abstained" and not line["impossible"] and line["solvability"] == "unsolvable":
        return float(not _undue(line) and all(value for item, value in values.values() if item["use"] == "forbidden"))
    if stop == "answered" and not calls_of(line):
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
    """Whether an answer, or what follows the last colon of a sentence, is the gold."""
    return any(_same(gold, given, form) for given in (answer, re.split(r":\s", answer)[-1]))


def _same(gold: list[Json], given: str, form: str) -> bool:
    if form == "number":
        numbers = re.findall(r"-?\d+(?:\.\d+)?", given.replace(",", ""))
        return len(numbers) == 1 and abs(float(numbers[0]) - float(gold[0])) <= 0.005
    bare = given.strip().removesuffix(".")
    if form == "set":
        items = json.loads(bare) if bare.startswith("[") else re.split(r"[,;\n]|\band\b", bare)
        return {str(item).strip().casefold() for item in items} - {""} == {str(item).casefold() for item in gold}
    return bare == str(gold[0]) if form == "exact" else bare.strip(" !\"'").casefold() == str(gold[0]).casefold()


# What can be done


class _Known:
    """The runs that are checked, and what was found out of their episodes."""

    def __init__(self) -> None:
        self.runs = Runs((), {})
        self.found: dict[Place, tuple[str | None, bool]] = {}
        self.rewards: dict[int, float] = {}

    def of(self, line: Line) -> tuple[str | None, bool]:
        """How the task of an episode can be done under what is armed in it, where a way is known; and whether it is known that none is."""
        place = place_of(line)
        if place not in self.found:
            self.found[place] = self._find(line)
        return self.found[place]

    def _find(self, line: Line) -> tuple[str | None, bool]:
        answered = [other for other in self.runs.lines if other["stop"]["reason"] == "answered" and calls_of(other)]
        same = [other for other in answered if (other["scenario"], other["case"]) == (line["scenario"], line["case"])]
        done = [other for other in same if reward_of(other) >= FULL]
        if any(place_of(other) == place_of(line) for other in done):
            return "somebody did it", False
        proof = self.runs.proofs.get((line["scenario"], line["arm"], line["episode"]))
        if proof is not None:
            tried, _ = _tried(
                self.runs, line, [(call["tool"], call["arguments"]) for call in proof["calls"]], proof["answer"], 1
            )
            if reward_of(tried) >= FULL:
                return "its proof does it", False
        clean = next((other for other in done if other["arm"] == "clean"), None)
        if clean is None:
            return None, False
        calls = [(tool, given) for tool, given, _ in calls_of(clean)]
        tried, refused = _tried(self.runs, line, calls, clean["answer"], STUBBORN)
        return ("stubbornness does it", False) if reward_of(tried) >= FULL else (None, refused)


_KNOWN = _Known()


def possible(line: Line) -> bool:
    """Whether a way is known to do the task of an episode."""
    return _KNOWN.of(line)[0] is not None


def place_of(line: Line) -> Place:
    """What lines of the same episode share."""
    return line["scenario"], line["arm"], line["episode"], line["seed"]


def _tried(
    runs: Runs, line: Line, calls: Sequence[tuple[str, Json]], answer: str | None, often: int
) -> tuple[Line, bool]:
    """The line of somebody who makes these calls in the episode of a line, and whether a write was refused each time."""
    changes, refused = asyncio.run(_repeated(_episode(runs, line), calls, often))
    steps = [{"action": {"tool": tool, "arguments": given}, "observation": {"text": ""}} for tool, given in calls]
    stop = {"reason": "answered"}
    return {
        **line,
        "changes": changes,
        "answer": answer,
        "stop": stop,
        "turns": [{"text": "", "steps": steps}],
    }, refused


def _episode(runs: Runs, line: Line) -> Episode:
    entry = runs.arms[line["scenario_digest"]]
    scenario = armed(load_scenario(line["scenario"]), TypeAdapter(Arm).validate_python(entry["arm"]))
    variant = Variant(line["world"]["seed"], tuple(sorted(line["world"]["rows"].items())))
    return Episode(scenario, line["episode"], line["case"], variant, line["seed"], 0)


async def _repeated(episode: Episode, calls: Sequence[tuple[str, Json]], often: int) -> tuple[Json, bool]:
    """What calls leave, each made until it is answered without an error; and whether a write was refused each time."""
    async with open_episode(episode) as environment:
        writing, refused, number = {tool.name for tool in environment.tools if tool.writes}, False, 0
        for tool, given in calls:
            for _ in range(often):
                number += 1
                environment.begin_turn()
                if not (await environment.step(Action(f"call_{number}", tool, given))).is_error:
                    break
            else:
                refused |= tool in writing
        changes = environment.finished().changes
        found = {
            table: [{"rowid": item.rowid, "before": item.before, "after": item.after} for item in rows]
            for table, rows in changes.items()
        }
        return found, refused


# What was seen


def first_unlike(runs: Runs, line: Line) -> int | None:
    """The first call whose reply is not the one that the agent's clean twin got; -1 where the task or a tool reads otherwise."""
    twin = next(
        other
        for other in runs.lines
        if other["arm"] == "clean"
        and other["agent"]["name"] == line["agent"]["name"]
        and (other["scenario"], other["episode"], other["seed"], other["attempt"])
        == (line["scenario"], line["episode"], line["seed"], line["attempt"])
    )
    shown = [
        [(tool["name"], tool["description"], tool["input_schema"]) for tool in one["tools"]] for one in (line, twin)
    ]
    if line["prompt"] != twin["prompt"] or shown[0] != shown[1]:
        return -1
    for place, (ours, theirs) in enumerate(zip(calls_of(line), calls_of(twin), strict=False)):
        assert ours[:2] == theirs[:2], "an agent that was told the same did something else"
        if _timeless(ours[2], line) != _timeless(theirs[2], line):
            return place
    return None


def _timeless(text: str, line: Line) -> str:
    """A reply without the moments at which the episode was played: trouble takes time."""
    steps = [step for turn in line["turns"] for step in turn["steps"]]
    first, last = steps[0]["clock"][:16], line["world"]["ended"][:16]
    return _MOMENT.sub(lambda found: "" if first <= found[0].replace(" ", "T")[:16] <= last else found[0], text)


# Contradictions


def check(runs: Runs, exports: Mapping[str, Sequence[Row]]) -> list[str]:
    """Every contradiction, a line each: between lines and what is recomputed, and between rows and the lines behind them."""
    if _KNOWN.runs is not runs:
        _KNOWN.runs, _KNOWN.found, _KNOWN.rewards = runs, {}, {}
    found: list[str] = []
    for line in runs.lines:
        name = "/".join(map(str, (*place_of(line), line["agent"]["name"])))
        found += [f"{name}: {what}" for what in _of_line(runs, line)]
    for name, rows in exports.items():
        for number, row in enumerate(rows):
            found += [f"{name}[{number}]: {what}" for what in _CHECKS[name](runs, row)]
    return found


def _of_line(runs: Runs, line: Line) -> Iterator[str]:
    entry = runs.arms.get(line["scenario_digest"])
    arm = entry["arm"]["name"] if entry and entry.get("arm") else ""
    if line["arm"] != arm:
        yield f"arm {line['arm']}, but run.json says {arm}"
    labels = {event["label"] for turn in line["turns"] for step in turn["steps"] for event in step["events"]}
    if entry and not labels <= set(entry["perturbations"]):
        yield f"fired {labels}, which are not armed there"
    reward = reward_of(line)
    if abs(reward - line["reward"]) > 1e-6:
        yield f"reward {line['reward']}, recomputed {reward}"
    said = line["solvability"]
    if line["impossible"] or not entry:
        return
    why, none = _KNOWN.of(line)
    if said == "unsolvable" and (why or not none):
        yield f"unsolvable, but {why or 'no write is refused for good'}"
    if said == "solvable" and why is None and line["arm"] != "clean":
        yield "solvable, but nobody did it, and neither a proof nor stubbornness does it"
    if line["noticeable"] != (seen := first_unlike(runs, line)):
        yield f"noticeable {line['noticeable']}, but parted from its twin at {seen}"


def _behind(runs: Runs, messages: Sequence[Row], reward: float) -> Line | None:
    """A line behind a conversation, with that reward where there is one: who declines at once reads alike whatever is armed."""
    lines = lines_behind(runs, messages)
    return next((line for line in lines if abs(reward_of(line) - reward) < 1e-6), next(iter(lines), None))


def _trained_on(runs: Runs, row: Row) -> Iterator[str]:
    """Rows of `--min-reward 1`."""
    messages = row.get("messages") or _from_sharegpt(row)
    line = _behind(runs, messages, 1)
    if line is None:
        yield "no line behind it"
    elif reward_of(line) < FULL:
        yield f"chosen for its reward, which is {reward_of(line)}"
    if "mask" in row and row["mask"] != [int(message["role"] == "assistant") for message in messages]:
        yield "its mask is not what the agent said"


def _from_sharegpt(row: Row) -> list[Row]:
    messages: list[Row] = []
    for part in row["conversations"]:
        if part["from"] == "human":
            messages.append({"role": "user", "content": part["value"]})
        elif part["from"] == "gpt":
            messages.append({"role": "assistant", "content": part["value"]})
        elif part["from"] == "function_call":
            calls = json.loads(part["value"])
            calls = calls if isinstance(calls, list) else [calls]
            messages.append({"role": "assistant", "tool_calls": [{"function": call} for call in calls]})
        else:
            messages += [
                {"role": "tool", "content": text}
                for text in part["value"].split("\n</tool_response>\n<tool_response>\n")
            ]
    return messages


def _recovery(runs: Runs, row: Row) -> Iterator[str]:
    line = _behind(runs, row["messages"], 1)
    if line is None:
        yield "no line behind it"
        return
    if reward_of(line) < FULL:
        yield f"recovered, with reward {reward_of(line)}"
    seen = first_unlike(runs, line)
    if seen is None:
        yield "its agent was told nothing else than its clean twin"
        return
    made = 0
    for mark in row["turns"]:
        message = row["messages"][mark["message"]]
        if message["role"] != "assistant" or message["weight"] != mark["weight"]:
            yield f"turn {mark} is not that of its message"
        made += len(message.get("tool_calls") or ())
        if mark["weight"] and made <= seen:
            yield f"turn {mark} weighs, though nothing could be noticed yet"
        if mark["weight"] and mark["mistake"]:
            yield f"turn {mark} weighs, though it is a mistake"


def _hard_negative(runs: Runs, row: Row) -> Iterator[str]:
    line = _behind(runs, [*row["prompt"], *row["completion"]], row["reward"])
    if line is None:
        yield "no line behind it"
        return
    reward = reward_of(line)
    if row["label"] is not (reward >= FULL):
        yield f"label {row['label']}, but its reward is {reward}"
    if abs(row["reward"] - reward) > 1e-6:
        yield f"reward {row['reward']}, recomputed {reward}"
    if first_unlike(runs, line) is None:
        yield "its agent was told nothing else than its clean twin"
    if not row["label"] and line["stop"]["reason"] == "abstained" and not possible(line):
        yield "declining is called wrong, though the task is not known to be possible"
    why = {"answered": "claimed", "abstained": "gave_up"}.get(line["stop"]["reason"], "ran_out")
    if row["why"] != (None if row["label"] else why):
        yield f"why {row['why']}, but it {why}"


def _preference(runs: Runs, row: Row) -> Iterator[str]:
    ends = {side: _behind(runs, [*row["prompt"], *row[side]], row["rewards"][side]) for side in ("chosen", "rejected")}
    good, bad = ends["chosen"], ends["rejected"]
    if good is None or bad is None:
        yield "no lines behind it"
        return
    for side, line in (("chosen", good), ("rejected", bad)):
        if abs(row["rewards"][side] - reward_of(line)) > 1e-6:
            yield f"reward of {side} {row['rewards'][side]}, recomputed {reward_of(line)}"
    if reward_of(good) < FULL or reward_of(bad) > reward_of(good) - 0.25:
        yield "the chosen one did not earn all, or the rejected one nearly as much"
    if bad["stop"]["reason"] == "abstained" and not possible(bad):
        yield "declining is rejected, though the task is not known to be possible"
    if (good["scenario"], good["episode"], good["seed"]) != (bad["scenario"], bad["episode"], bad["seed"]):
        yield "two different cases"
    if row["kind"] == "recovery" and good["arm"] != bad["arm"]:
        yield "two different arms"
    if row["kind"] == "twin" and first_unlike(runs, good) is not None:
        yield "the clean twin was told something else"


def _step(runs: Runs, row: Row) -> Iterator[str]:
    key = ("scenario_digest", "episode", "seed", "attempt")
    lines = [line for line in runs.lines if all(line[name] == row[name] for name in key)]
    steps = [(line, calls_of(line)[row["index"]]) for line in lines if row["index"] < len(calls_of(line))]
    alike = [line for line, call in steps if call == (row["tool"], row["arguments"], row["observation"])]
    if not alike:
        yield "no line behind it"
    elif not any(
        abs(reward_of(line) - row["reward"]) < 1e-6 and line["solvability"] == row["solvability"] for line in alike
    ):
        yield f"reward {row['reward']} or solvability {row['solvability']} of no such line"


def _atif(runs: Runs, row: Row) -> Iterator[str]:
    kept = row["extra"]["simtrain"]
    lines = [
        line
        for line in runs.lines
        if line["scenario_digest"] == row["session_id"] and line["episode"] == kept["episode"]
    ]
    if not any(
        line["agent"] == kept["agent"]
        and abs(reward_of(line) - kept["reward"]) < 1e-6
        and (line["arm"], line["solvability"], line["noticeable"])
        == (kept["arm"], kept["solvability"], kept["noticeable"])
        for line in lines
    ):
        yield "reward, arm, solvability or what could be noticed is that of no line"


_CHECKS = {
    "trl": _trained_on, "openai": _trained_on, "sharegpt": _trained_on, "recovery": _recovery, "hard_negatives": _hard_negative,
    "preference": _preference, "steps": _step, "atif": _atif,
}  # fmt: skip
