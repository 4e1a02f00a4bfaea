"""One session of typing in a real terminal and in one of a machine, screen by screen."""

import re
from collections.abc import Sequence
from pathlib import Path

from simtrain.contracts.request import Request
from simtrain.files.yaml_files import parse_document
from simtrain.worlds.machine.source import MachineSource
from simtrain.worlds.machine.world import MachineState
from tests.worlds.machine.keyboard.real_terminal import RealTerminal
from tests.worlds.machine.keyboard.sessions import FILES, SESSIONS

_WORLD = """
kind: machine
name: bench
clock: {start: 2031-03-03T09:00:00Z, per_step: 0s}
hostname: oak
user: ann
users: {ann: {}}
prompt: "$ "
"""


def session_on_a_machine() -> MachineState:
    """Return a machine with the files of the sessions, and a terminal on it."""
    document = parse_document(_WORLD, Path("bench.yaml"))
    state = MachineSource.load(document).configured(document, {"actions": "keystrokes"}, ()).build().open()
    assert isinstance(state, MachineState)
    for name, text in FILES.items():
        path = f"/home/ann/{name}"
        files = state.own_files
        files.make_directory(path.rpartition("/")[0], parents=True)
        files.write(path, text.encode())
    return state


def press(state: MachineState, keystrokes: str, seconds: float) -> None:
    """Type one entry."""
    entry = {"keystrokes": keystrokes, "duration": seconds}
    state.answer(Request(state.world.tools[0], {"commands": [entry]}, 0, 0))


def compare(name: str, folder: Path) -> str | None:
    """Play a session in both; return what differs first, or None."""
    for path, text in FILES.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    state = session_on_a_machine()
    with RealTerminal(folder) as real:
        for number, (keystrokes, seconds) in enumerate(SESSIONS[name], start=1):
            real.press(keystrokes, seconds)
            press(state, keystrokes, seconds)
            theirs, ours = _comparable(real.screen), _comparable(state.terminal.screen.lines())
            if theirs != ours or real.cursor != _cursor(state):
                shown = "\n".join(
                    f"{row:2}  {a!r}\n    {b!r}" for row, (a, b) in enumerate(zip(theirs, ours, strict=True)) if a != b
                )
                return f"after entry {number}, {keystrokes!r}: cursors {real.cursor} {_cursor(state)}\n{shown}"
    return None


def _comparable(lines: Sequence[str]) -> list[str]:
    """Return the lines of a screen with another number in place of the numbers of processes."""
    return [re.sub(r"^(\[\d+\]) \d+$", r"\1 1234", line) for line in lines]


def _cursor(state: MachineState) -> tuple[int, int]:
    row, column = state.terminal.screen.cursor
    return row, min(column, 159)
