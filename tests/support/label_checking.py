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
from collections.abc import Iterator, Mapping, Sequence

from pydantic import TypeAdapter
from run_reading import Json, Line, Row, Runs, calls_of, lines_behind, recomputed, said_by, said_in, said_last
from run_reading import read_rows as read_rows
from run_reading import read_runs as read_runs

from simtrain import load_scenario, open_episode
from simtrain.contracts.scenario import Episode
from simtrain.contracts.world import Variant
from simtrain.scenarios.arms import armed
from simtrain.values.arm import Arm
from simtrain.values.types import Action

Place = tuple[str, str, str, int]
"""Scenario, arm, episode, seed."""

STUBBORN = 6
FULL = 1 - 1e-6
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d[:.\d]*Z?")


def reward_of(line: Line) -> float:
    """The reward as the documentation of graders has it: others averaged, times every gate; guesses and harm earn nothing."""
    # A line lives as long as the runs that it is one of; what is only tried has no place there.
    if id(line) not in _KNOWN.rewards:
        reward = recomputed(line, lambda: first_unlike(_KNOWN.runs, line) is not None)
        if not any(line is other for other in _KNOWN.runs.lines):
            return reward
        _KNOWN.rewards[id(line)] = reward
    return _KNOWN.rewards[id(line)]


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
        same = [other for other in answered if _task(other) == _task(line)]
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


def _task(line: Line) -> tuple[Json, ...]:
    """What is to be done, in which world."""
    return line["scenario"], line["case"], line["world"]["seed"], line["world"]["rows"]


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


def _behind(runs: Runs, row: Row, messages: Sequence[Row], reward: float) -> Line | None:
    """A line behind a conversation, with that reward where there is one: who declines at once reads alike whatever is armed."""
    lines = lines_behind(runs, row, messages)
    return next((line for line in lines if abs(reward_of(line) - reward) < 1e-6), next(iter(lines), None))


def _trained_on(runs: Runs, row: Row) -> Iterator[str]:
    """Rows of `--min-reward 1`."""
    messages = row.get("messages") or _from_sharegpt(row)
    line = _behind(runs, row, messages, 1)
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
    line = _behind(runs, row, row["messages"], 1)
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
    if not any(mark["weight"] for mark in row["turns"]):
        yield "no turn weighs anything"


def _hard_negative(runs: Runs, row: Row) -> Iterator[str]:
    line = _behind(runs, row, [*row["prompt"], *row["completion"]], row["reward"])
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
    pairs = [
        (good, bad)
        for good in lines_behind(runs, row, [*row["prompt"], *row["chosen"]])
        for bad in _alike(runs, row, good)
    ]
    if not pairs:
        yield "no lines of one case behind it"
        return
    # Whoever declines at once reads alike whatever is armed.
    yield from min((list(_of_pair(runs, row, good, bad)) for good, bad in pairs), key=len)


def _of_pair(runs: Runs, row: Row, good: Line, bad: Line) -> Iterator[str]:
    for side, line in (("chosen", good), ("rejected", bad)):
        if abs(row["rewards"][side] - reward_of(line)) > 1e-6:
            yield f"reward of {side} {row['rewards'][side]}, recomputed {reward_of(line)}"
    if reward_of(good) < FULL or reward_of(bad) > reward_of(good) - 0.25:
        yield "the chosen one did not earn all, or the rejected one nearly as much"
    if bad["stop"]["reason"] == "abstained" and not possible(bad):
        yield "declining is rejected, though the task is not known to be possible"
    if row["kind"] == "recovery" and good["arm"] != bad["arm"]:
        yield "two different arms"
    if row["kind"] == "twin" and first_unlike(runs, good) is not None:
        yield "the clean twin was told something else"


def _alike(runs: Runs, row: Row, good: Line) -> list[Line]:
    """The lines behind the rejected side, of the case of the chosen one; a twin may have been shown other tools or another task."""
    key = ("scenario", "episode", "seed")
    same = Runs(tuple(line for line in runs.lines if all(line[name] == good[name] for name in key)), runs.arms)
    said = [*row["prompt"], *row["rejected"]]
    if row["kind"] != "twin":
        return lines_behind(same, row, said)
    return [line for line in same.lines if line["arm"] != "clean" and _ends_as(line, row["rejected"])]


def _ends_as(line: Line, messages: Sequence[Row]) -> bool:
    said = said_in(messages)
    return said_by(line, beside=False) == [one for one in said if isinstance(one, list)] + said_last(said)


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
