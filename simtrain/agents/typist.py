"""Plans of command lines, played where the agent types keys: each `bash` step is typed, waited for, and read from the screen.

A plan may say what to run with `bash` whichever way the agent acts. Typed out, a step is: clear the screen, the command, Enter, and `echo
"[$?]"`, which marks the end of the output and shows the exit code. Both streams are one on a screen, and what has left it cannot be read.
"""

import re
from collections.abc import Generator, Sequence
from dataclasses import replace

from simtrain.agents.planned import Planned, Walking
from simtrain.contracts.agent import Briefing
from simtrain.values.types import JsonObject, JsonValue, Observation, ToolSpec, arguments_of

BASH, KEYSTROKES = "bash", "keystrokes"
COLUMNS = 160
_MARK = 'echo "[$?]"'
_CODE = re.compile(r"\[(\d+)\]")
_PROMPT = re.compile(r"[\w.-]+@[\w.-]+:[^$#]*[$#] \Z|[$#] \Z")
_WAITS = (1.0, 2.0, 5.0, 15.0, 60.0, 300.0, 3600.0)


def types(tools: Sequence[ToolSpec]) -> bool:
    """Return whether an agent with these tools types keys and has no `bash`."""
    names = {tool.name for tool in tools}
    return KEYSTROKES in names and BASH not in names


def step_tool() -> ToolSpec:
    """Return the tool that steps of a plan name where the agent types keys."""
    properties: dict[str, JsonObject] = {"command": {"type": "string"}, "timeout": {"type": "number"}}
    return ToolSpec(BASH, "", arguments_of(("command",), **properties), writes=True)


def with_steps(briefing: Briefing) -> Briefing:
    """Return a briefing as a plan sees it: with the tool that its steps name, if the agent types keys."""
    return replace(briefing, tools=(*briefing.tools, step_tool())) if types(briefing.tools) else briefing


def typed_out(walking: Walking, tools: Sequence[ToolSpec]) -> Walking:
    """Return a walk whose `bash` steps are typed, if the agent types keys; else the walk itself."""
    return _typed_out(walking) if types(tools) else walking


def _typed_out(walking: Walking) -> Walking:
    try:
        planned = next(walking)
        while True:
            if planned.tool == BASH:
                reply = yield from _carried_out(str(planned.arguments.get("command", "")))
            else:
                reply = yield planned
            planned = walking.send(reply)
    except StopIteration as finished:
        return finished.value


def _carried_out(command: str) -> Generator[Planned, Observation, Observation]:
    """Type a command, wait until it has ended, and return what `bash` would: output and exit code."""
    lines = command.strip("\n").split("\n")
    if len(lines) > 1:
        # Typed as one command, so that no prompt comes between the outputs.
        lines = ["{", *lines, "}"]
    typed = "".join(f"{line}\n" for line in lines)
    found = yield Planned(KEYSTROKES, _entries(("C-l", 0.0), (typed, 1.0), (f"{_MARK}\n", 1.0)))
    for wait in _WAITS:
        if found.is_error or not (found.content or {}).get("running"):
            break
        found = yield Planned(KEYSTROKES, _entries(("", wait)))
    if not found.is_error and _end(found.text.split("\n")) is None:
        # A pager has taken the keys: it is left, and the mark typed at the prompt.
        found = yield Planned(KEYSTROKES, _entries(("C-c", 0.0), ("q", 0.0), (f"{_MARK}\n", 1.0)))
    return found if found.is_error else read(found.text, lines)


def _entries(*entries: tuple[str, float]) -> JsonObject:
    commands: list[JsonValue] = [{"keystrokes": keystrokes, "duration": duration} for keystrokes, duration in entries]
    return {"commands": commands}


def _end(rows: Sequence[str]) -> int | None:
    """Return the row in which the mark was typed, if its answer is below."""
    for place in range(len(rows) - 2, -1, -1):
        if rows[place].endswith(_MARK) and _CODE.fullmatch(rows[place + 1]):
            return place
    return None


def read(screen: str, lines: Sequence[str]) -> Observation:
    """Return the reply of `bash` as it can be read from a screen on which lines were typed."""
    rows = screen.split("\n")
    end = _end(rows)
    if end is None:
        return Observation(screen, structured={"stdout": screen, "stderr": screen, "exit_code": 1})
    code = _CODE.fullmatch(rows[end + 1])
    assert code is not None, "the row was found by it"
    left = _PROMPT.sub("", rows[end].removesuffix(_MARK))
    shown = [*rows[_rows_typed(rows, lines) : end], *([left] if left else [])]
    text = ""
    for row in shown:
        # A full row goes on in the next one.
        text += row if len(row) == COLUMNS else f"{row}\n"
    text = text.removesuffix("\n") if left else text
    return Observation(text, structured={"stdout": text, "stderr": text, "exit_code": int(code[1])})


def _rows_typed(rows: Sequence[str], lines: Sequence[str]) -> int:
    """Return how many rows the typed lines take; 0 if they have left the screen."""
    place = 0
    for number, line in enumerate(lines):
        begin = rows[place].find(line[:20].rstrip()) if place < len(rows) else -1
        if begin < 0 or (number and begin != 2):
            return 0 if number == 0 else place
        place += max(1, -(-(begin + len(line)) // COLUMNS))
    return place
