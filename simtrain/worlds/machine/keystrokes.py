"""The tool `keystrokes`: keys that are typed at a terminal, each with the time to wait, and the screen as the answer.

The form is that of terminal benchmarks (AgentWorldBench, Terminal-Bench): a list of `{"keystrokes": ..., "duration": ...}`.
"""

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from simtrain.values.types import JsonObject, Observation, ToolSpec, arguments_of, is_list, is_object, object_schema
from simtrain.worlds.machine.terminal.screen import COLUMNS, ROWS
from simtrain.worlds.machine.terminal.terminal import LoginSession, Terminal

NAME = "keystrokes"
LONGEST = 3600.0
"""Most seconds that one entry may wait."""
MOST = 100
DURATION = 1.0

_DESCRIPTION = (
    "Type at a terminal on {host}, where {user} is logged in to bash, and see its screen of {rows} lines. Each entry is typed and then "
    "waits for its duration; commands that take longer go on running. A newline is Enter. An entry that is the name of a key as a "
    "whole is that key, as in tmux: C-c, C-d, Tab, Escape, Up. Empty keystrokes only wait. An empty list says that the task is "
    "complete."
)


@dataclass(frozen=True)
class KeystrokesTool(ToolSpec):
    """The descriptor, which knows how an agent ends its work."""

    ending: ClassVar[str] = "commands"


def keystrokes_tool(host: str, user: str) -> ToolSpec:
    """Return the descriptor of the tool."""
    entry: JsonObject = {
        "type": "object",
        "properties": {
            "keystrokes": {"type": "string", "description": "What is typed, or the name of a key."},
            "duration": {
                "type": "number",
                "minimum": 0,
                "maximum": LONGEST,
                "description": f"Seconds to wait afterwards; {DURATION:g} by default.",
            },
        },
        "required": ["keystrokes"],
        "additionalProperties": False,
    }
    return KeystrokesTool(
        NAME,
        _DESCRIPTION.format(host=host, user=user, rows=ROWS),
        arguments_of(("commands",), commands={"type": "array", "items": entry, "maxItems": MOST}),
        object_schema(
            ("screen", "cursor", "running"),
            screen={"type": "string", "description": f"The lines of the screen, of {COLUMNS} columns each."},
            cursor={"type": "array", "items": {"type": "integer"}, "description": "Row and column, from 0."},
            running={"type": "boolean", "description": "Whether a command is still running."},
        ),
        writes=True,
    )


S = TypeVar("S", bound=LoginSession)


def typed(terminal: Terminal[S], arguments: JsonObject) -> Observation:
    """Type what a call asks for, and return the screen."""
    entries = arguments["commands"]
    for entry in entries if is_list(entries) else ():
        if is_object(entry):
            duration = entry.get("duration", DURATION)
            terminal.press(str(entry["keystrokes"]), float(duration) if isinstance(duration, int | float) else DURATION)
    return seen(terminal)


def seen(terminal: Terminal[S]) -> Observation:
    """Return the screen."""
    text = terminal.screen.text()
    row, column = terminal.screen.cursor
    return Observation(
        text, structured={"screen": text, "cursor": [row, min(column, COLUMNS - 1)], "running": terminal.is_busy}
    )
