"""The reference server `sequential-thinking`: thoughts and branches, kept in the memory of its process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from simtrain.mcp.verify.draw import Draw, Past
from simtrain.mcp.verify.subject import GeneratedCall, Subject, makes
from simtrain.values.types import JsonObject, JsonValue

TOOL = "sequentialthinking"
BRANCHES = ("main", "alternative", "10", "2", "02", "-1", "4294967294", "4294967295", "", "toString", "__proto__")
NUMBERS: tuple[JsonValue, ...] = ("2", " 3 ", "4.0", "1e1", "0x10", "0b11", "+5", True, [6], ["7"], [[8]])
NO_NUMBERS: tuple[JsonValue, ...] = (
    "",
    "abc",
    "1.5",
    0,
    -3,
    2.5,
    None,
    False,
    [],
    [1, 2],
    {},
    "1e1000",
    "9007199254740993",
    "1_0",
)
FLAGS = ("true", "false", "TRUE", "False")
NO_FLAGS: tuple[JsonValue, ...] = ("yes", " true", "", 1, 0, None, [], {})
FLAG_NAMES = ("nextThoughtNeeded", "isRevision", "needsMoreThoughts")
NUMBER_NAMES = ("thoughtNumber", "totalThoughts", "revisesThought", "branchFromThought")


class SequentialThinking(Subject):
    """Kinds of values: `thought` the number of one, `branch` the name of one."""

    tables = ("thoughts",)

    # Thoughts cannot be taken back, so each sequence needs a process of its own.
    restart = True

    def environment(self, root: Path) -> Mapping[str, str]:
        """No boxes on the error stream."""
        return {"DISABLE_THOUGHT_LOGGING": "true"}

    def learn(self, past: Past, call: GeneratedCall, reply: JsonObject) -> None:
        """The number of the thought, and the branches that there are."""
        told: JsonObject = reply["structuredContent"]
        past.note("thought", told["thoughtNumber"])
        past.note("branch", *told["branches"])

    @makes(TOOL, weight=2)
    def next_thought(self, draw: Draw) -> JsonObject:
        """Return the thought after the last, or the first."""
        known = draw.past.earlier("thought")
        return _thought(draw, int(draw.earlier("thought")) + 1 if known else 1)

    @makes(TOOL)
    def revision(self, draw: Draw) -> JsonObject:
        """Return a thought about an earlier one."""
        earlier = draw.earlier("thought")
        return {**_thought(draw, int(earlier) + 1), "isRevision": True, "revisesThought": earlier}

    @makes(TOOL, weight=2)
    def branch(self, draw: Draw) -> JsonObject:
        """Return a thought on a branch, a new one or one that there is."""
        known = draw.past.earlier("branch")
        name = draw.earlier("branch") if known and draw.chance(0.4) else draw.one((draw.word(), *BRANCHES[:6]))
        start = draw.existing("thought")
        return {**_thought(draw, int(start) + 1), "branchFromThought": start, "branchId": name}

    @makes(TOOL, "edge", weight=2)
    def coerced(self, draw: Draw) -> JsonObject:
        """Numbers and flags written as something else."""
        thought: JsonObject = {**_thought(draw, 1), "nextThoughtNeeded": draw.one(FLAGS)}
        names = draw.some(NUMBER_NAMES)
        return {**thought, **{name: draw.one(NUMBERS) for name in names}}

    @makes(TOOL, "edge")
    def odd_branch(self, draw: Draw) -> JsonObject:
        """Branches named like numbers, like nothing, or like what every JavaScript object has; and a branch from nowhere."""
        thought = {**_thought(draw, 1), "branchId": draw.one(BRANCHES), "thought": draw.odd_text()}
        return {**thought, "branchFromThought": draw.integer(1, 9)} if draw.chance(0.8) else thought

    @makes(TOOL, "invalid", weight=2)
    def uncoercible(self, draw: Draw) -> JsonObject:
        """Numbers and flags that are none."""
        wrong: dict[str, JsonValue] = {name: draw.one(NO_NUMBERS) for name in draw.some(NUMBER_NAMES)}
        if draw.chance(0.5):
            wrong |= {name: draw.one(NO_FLAGS) for name in draw.some(FLAG_NAMES)}
        return {**_thought(draw, 1), **wrong}


def _thought(draw: Draw, number: int) -> JsonObject:
    total = max(1, number + draw.integer(-2, 5))
    needed = draw.chance(0.8)
    return {"thought": draw.words(), "nextThoughtNeeded": needed, "thoughtNumber": number, "totalThoughts": total}
