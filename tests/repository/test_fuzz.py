"""Hostile inputs, a part of those that `make fuzz` tries; and that the trying finds what it is for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.full
def test_hostile_inputs_end_in_no_traceback_no_hang_and_no_gigabyte() -> None:
    command = [sys.executable, "-m", "tests.fuzz.run", "--inputs", "400", "--seed", "1", "--seconds", "240"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout[-8000:]


PLANTED = {
    "a traceback": ("raise KeyError('planted')", "KeyError: 'planted'"),
    "a hang": ("__import__('threading').Event().wait()", "it took more than 5 s"),
    "more than a gigabyte": ("bytearray(1 << 30)", "MemoryError"),
    "a death": ("__import__('os').abort()", "the process died"),
    "a code for the terminal": ("doors.command(['planted'])", "was printed"),
    "two lines": ("doors.command(['planted', 'planted'])", "AssertionError"),
}


@pytest.mark.full
@pytest.mark.parametrize("name", PLANTED)
def test_what_the_trying_is_for_is_found(name: str) -> None:
    code, said = PLANTED[name]
    planted = (
        "import sys, tests.fuzz.run as run\n"
        "run.PATIENCE = 5.0\n"
        f"run.MODULE = ['-c', {PLANT.format(code=code)!r}]\n"
        "sys.argv = ['run', '--only', '3']\n"
        "run.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", planted], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 1 and said in done.stdout, done.stdout + done.stderr


PLANT = """
import tests.fuzz.doors as doors
def planted(random, folder):
    {code}
def main(words):
    import sys
    sys.stderr.write("error: \\x9b1m\\n" if len(words) == 1 else "error: a\\nb\\n")
    sys.exit(2)
doors.main = main
doors.door_of = lambda number: planted
import tests.fuzz.child as child
child.main()
"""
