"""Keystrokes in the terminal domain: keys at a terminal in, its screen out.

The form of an action is that of AgentWorldBench: a JSON array of `{"keystrokes": ..., "duration": ...}`.
"""

import re
from collections.abc import Sequence

from simtrain.contracts.drawing import Drawing, TextDrawing
from simtrain.contracts.request import Request
from simtrain.values.types import JsonObject, JsonValue, Observation, ToolSpec, encode, is_list, is_object
from simtrain.world_models.domains.predictions import HEADER, read_prediction

NAME = "keystrokes"
ROWS = 40
CURSOR = "\N{FULL BLOCK}"

TASK = f"""\
You are a Linux machine as an agent meets it through a terminal. The agent types keys, waits, and looks at the screen, which has
{ROWS} lines of 160 columns. You write the screen as it is then, and nothing else.

An action is a JSON array. Each entry is typed in its turn, and then its duration, in seconds, passes:
- `keystrokes` is text as it is typed; a newline is Enter. An entry that is the name of a key as a whole, in tmux's notation (C-c,
  C-d, Tab, Escape, Up), is that key. Empty keystrokes only wait. An empty array says that the task is complete.

How to answer:
- Begin with the line {HEADER} and put the screen below it: its lines from the top, without the empty ones at the end. No comment,
  no code fence.
- The screen goes on from the last one: what was typed is on it behind the prompt, output below, and when it is full its first
  lines leave it. `clear` and C-l empty it. A pager fills it and, when it is left, shows what was there before.
- Time counts. A command that needs longer than the agent has waited is still running: no prompt follows, and what it will write
  later is not on the screen yet. C-c ends it.
- The machine remembers. Directory, variables, files, users, processes, packages and services stay as the last command left them;
  what was shown once is shown the same again, unless something has changed it since.
- Every program behaves as the real one, with its options, its columns and its own error texts. What is not installed is `command not
  found`; what the user may not do is `Permission denied`.
Never mention that the machine is simulated."""

_AT_PROMPT = re.compile(r"[$#] \S?.*\Z|[$#]\Z")


def at_prompt(line: str) -> bool:
    """Return whether the line of the cursor is a prompt, with or without something typed behind it."""
    return _AT_PROMPT.search(line) is not None


def _entered(line: str, arguments: JsonObject) -> bool:
    """Return whether a line shows what was typed last, with Enter behind it: then the cursor is below it."""
    entries = arguments.get("commands")
    typed = [str(entry["keystrokes"]) for entry in entries if is_object(entry)] if is_list(entries) else []
    last = next((text for text in reversed(typed) if text), "")
    shown = last.rstrip("\r\n").rpartition("\n")[2]
    return last.endswith(("\n", "\r")) and bool(shown) and line.endswith(shown)


def offered(tools: Sequence[ToolSpec]) -> bool:
    """Return whether the agent types keys."""
    return any(tool.name == NAME for tool in tools)


def entries_of(arguments: JsonObject) -> list[JsonValue] | None:
    """Return the entries of a call; None if it is no call of this kind."""
    entries = arguments.get("commands")
    return (
        entries if is_list(entries) and all(is_object(entry) and "keystrokes" in entry for entry in entries) else None
    )


def write_action(entries: Sequence[JsonValue], *, turn: int) -> str:
    """Return entries in a fenced JSON block under a heading with the turn's number."""
    return f"### Turn {turn}\n\n**Action:**\n```json\n{encode(list(entries))}\n```"


def parse(text: str, request: Request) -> Observation:
    """Return the screen in a prediction; cursor and `running` are what its last line shows.

    Raises ValueError with the reason for what `read_prediction` refuses, for an echo of the action, and for more lines than a screen has.
    """
    shown = read_prediction(text, may_be_empty=True).rstrip("\n")
    if shown.strip() in (encode(request.arguments), encode(request.arguments.get("commands"))):
        raise ValueError("it repeats the action")
    lines = shown.split("\n")
    if len(lines) > ROWS:
        raise ValueError(f"it has {len(lines)} lines, and a screen has {ROWS}")
    return Observation(
        shown,
        structured={
            "screen": shown,
            "cursor": [len(lines) - 1, len(lines[-1])],
            "running": not at_prompt(lines[-1]) or _entered(lines[-1], request.arguments),
        },
    )


def draw(observation: Observation) -> Drawing:
    """Return the screen, with a block where the cursor stands."""
    content = observation.content or {}
    cursor, rows = content.get("cursor"), observation.text.split("\n")
    if content.get("screen") != observation.text or not is_list(cursor) or len(cursor) != 2:
        return [TextDrawing(observation.text)]
    row, column = int(cursor[0]), int(cursor[1])
    rows += [""] * (row + 1 - len(rows))
    line = rows[row].ljust(column + 1)
    rows[row] = f"{line[:column]}{CURSOR}{line[column + 1 :]}"
    return [TextDrawing("\n".join(rows))]
