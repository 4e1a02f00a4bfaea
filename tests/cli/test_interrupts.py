"""Ctrl-C while a command is not yet, or no longer, playing: real processes, interrupted at many moments, end in one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from real_runs import COMMAND, ended, until

pytestmark = pytest.mark.slow

TICK = os.sysconf("SC_CLK_TCK")
MOMENTS = range(10, 130, 4 if os.environ.get("SIMTRAIN_FULL") else 15)
"""Hundredths of a second of processor time, from the first imports to the last worlds."""


def started(*arguments: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, start_new_session=True,
        preexec_fn=hears_interrupts,
    )  # fmt: skip


def hears_interrupts() -> None:
    """What a shell starts in the background is deaf to Ctrl-C, and so would be whatever the tests start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def processor_time(process: subprocess.Popen[str]) -> float:
    """Hundredths of a second that a process has computed so far; endless for one that has ended."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return float("inf")
    return (int(fields[11]) + int(fields[12])) * 100 / TICK


@pytest.mark.parametrize("module", ["typer", "simtrain.cli", "simtrain.files.yaml_files", "simtrain.runs.run"])
def test_an_interrupt_among_the_imports_is_one_line(module: str, tmp_path: Path) -> None:
    command = (COMMAND[0], "-X", "importtime", *COMMAND[1:])
    process = started(*command, "run", "helpdesk", "--out", "run", folder=tmp_path)
    assert process.stderr is not None
    while process.stderr.readline().rpartition("|")[2].strip() != module:
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    code, said = ended(process)
    assert (code, said.splitlines()[-1]) == (130, "interrupted")
    assert "Traceback" not in said
    assert not (tmp_path / "run").exists()


def test_nothing_of_others_is_imported_before_an_interrupt_is_heard(tmp_path: Path) -> None:
    """Until then it ends in Python's traceback."""
    process = started(sys.executable, "-X", "importtime", "-c", "import simtrain.__main__", folder=tmp_path)
    _, said = process.communicate(timeout=60)
    names = [line.rpartition("|")[2].strip() for line in said.splitlines()]
    last = names.index("site")
    assert {*names[last + 1 :]} <= {"__future__", "simtrain", "simtrain.__main__"}


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_interrupt_while_worlds_are_built_is_one_line(moment: int, tmp_path: Path) -> None:
    process = started(*COMMAND, "run", "helpdesk", "office", "airline", "--out", "run", folder=tmp_path)
    until(lambda: processor_time(process) >= moment or (tmp_path / "run").exists())
    process.send_signal(signal.SIGINT)
    code, said = ended(process)
    # Whoever was quick enough to play has stopped as a run stops.
    assert (code, said) == ((1, "") if (tmp_path / "run" / "summary.json").exists() else (130, "interrupted\n"))


def test_an_interrupted_proof_is_one_line(tmp_path: Path) -> None:
    process = started(*COMMAND, "validate", "helpdesk", folder=tmp_path)
    until(lambda: processor_time(process) >= 110)
    process.send_signal(signal.SIGINT)
    assert ended(process) == (130, "interrupted\n")


@pytest.mark.full
def test_an_interrupted_bug_factory_keeps_the_tasks_that_it_has(tmp_path: Path) -> None:
    command = (*COMMAND, "world", "bugs", "rota", "--count", "60", "--out", "rota.jsonl")
    process = started(*command, folder=tmp_path)
    assert process.stderr is not None
    while "candidates tried" not in process.stderr.readline():
        assert process.poll() is None
    # As a terminal does: to all processes of the command.
    os.killpg(process.pid, signal.SIGINT)
    shown, said = process.communicate(timeout=120)
    assert process.returncode == 1, said
    assert {line.partition(":")[0] for line in said.splitlines()} <= {"making tasks"}
    assert "interrupted: these are the tasks found so far" in shown
    assert 1 <= len((tmp_path / "rota.jsonl").read_text().splitlines()) <= 60


def test_an_interrupt_that_was_switched_off_stays_so(tmp_path: Path) -> None:
    """As under nohup: the shell has said that Ctrl-C is not for this process."""
    deaf = (
        "import os, signal, sys\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nopen('deaf', 'w').close()\n"
        "os.execv(sys.executable, sys.argv[1:])"
    )
    process = started(sys.executable, "-c", deaf, *COMMAND, "list", "worlds", folder=tmp_path)
    until((tmp_path / "deaf").exists)
    since = processor_time(process)
    until(lambda: processor_time(process) >= since + 5)
    process.send_signal(signal.SIGINT)
    assert ended(process) == (0, "")
