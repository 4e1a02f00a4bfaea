"""The sandbox `wasm` beside native pytest: a start with a repository in place, 30 tests, eight runs at once. Linux only."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import mean, median

from report import Figure, arguments, show

from simtrain.contracts.sandbox_runs import File, SandboxCommand
from simtrain.worlds.sandbox.wasm.backend import WarmProcess, WasmSandbox

RUNS, TURN = 20, 5
AT_ONCE = 8
MODULE = '''"""One module of many."""

def total(prices: list[float]) -> float:
    """Add up."""
    return sum(prices)

''' + "\n".join(f"VALUE_{n} = {n}" for n in range(150))
TESTS = """
import json, re
import pytest

class Stack:
    def __init__(self): self.items = []
    def push(self, item): self.items.append(item)

@pytest.fixture
def stack(): return Stack()

@pytest.mark.parametrize("n", range(10))
def test_push(stack, n):
    for i in range(n * 100): stack.push(i)
    assert len(stack.items) == n * 100

@pytest.mark.parametrize("n", range(10))
def test_json(n):
    value = {str(i): list(range(i)) for i in range(n * 10)}
    assert json.loads(json.dumps(value)) == value

@pytest.mark.parametrize("n", range(10))
def test_files(tmp_path, n):
    (tmp_path / "x").write_text("\\n".join(map(str, range(n * 100))))
    assert len(re.findall(r"\\d+", (tmp_path / "x").read_text())) == n * 100
"""
REPOSITORY = {f"/repo/pack/module_{n}.py": File(MODULE.encode()) for n in range(120)}


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__ or "")
    with WasmSandbox().opened() as box:
        assert isinstance(box, WarmProcess)
        _cpu(box, _command("-c", "pass"), 2)
        empty = min(_cpu(box, _command("-c", "pass", files={}), RUNS) for _ in range(options.rounds))
        start = min(_cpu(box, _command("-c", "pass"), RUNS) for _ in range(options.rounds))
        written = min(_cpu_of_new_files(box) for _ in range(options.rounds))
        files = {**REPOSITORY, "/repo/test_all.py": File(TESTS.encode())}
        tests = _command("-m", "pytest", "-q", files=files)
        told = box.run(tests)
        assert b"30 passed" in told.stdout, told
        # In turns: what else this machine does from one second to the next weighs more than what is compared.
        turns = [(_cpu(box, tests, TURN), mean(_native() for _ in range(TURN))) for _ in range(options.rounds)]
        memory = _memory(box)
    played, native = (median(column) for column in zip(*turns, strict=True))
    figures = [
        Figure("a start without files", empty, "s"),
        Figure("a start with 120 files in place", start, "s", 0.015),
        Figure("  with 120 files that are all to be written", written, "s"),
        Figure("30 tests in a fresh sandbox, median of the turns", played, "s", floor=native),
        Figure("30 tests, native pytest", native, "s"),
        Figure(
            "  sandbox as a multiple of native, median of the turns", median(one / two for one, two in turns), "x", 1.5
        ),
        Figure("eight sandboxes at once", memory / (1 << 20), "MiB", 1024),
    ]
    show("sandbox", figures, as_json=options.json)


def _command(*argv: str, files: dict[str, File] | None = None) -> SandboxCommand:
    return SandboxCommand(
        ("python3", *argv), files=REPOSITORY if files is None else files, cwd="/repo", env={"HOME": "/root"}
    )


def _spent(pid: int) -> float:
    """CPU seconds of a process and of its children that have ended; of this process as well."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") + time.process_time()


def _cpu(box: WarmProcess, command: SandboxCommand, runs: int) -> float:
    """CPU seconds of one run, with what the asking process and the warm process do for it."""
    before = _spent(box.pid)
    for _ in range(runs):
        outcome = box.run(command)
        assert outcome.exit_code == 0, outcome
    return (_spent(box.pid) - before) / runs


def _cpu_of_new_files(box: WarmProcess) -> float:
    """CPU seconds of one run over files of which no run before has had any."""
    before = _spent(box.pid)
    for _ in range(RUNS):
        files = {path: File(file.content + b"\n# " + os.urandom(8).hex().encode()) for path, file in REPOSITORY.items()}
        assert box.run(_command("-c", "pass", files=files)).exit_code == 0
    return (_spent(box.pid) - before) / RUNS


def _native() -> float:
    """CPU seconds of the same tests in a process of their own."""
    with tempfile.TemporaryDirectory() as folder:
        for path, file in REPOSITORY.items():
            there = Path(folder, path.lstrip("/"))
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes(file.content)
        (Path(folder) / "test_all.py").write_text(TESTS)
        before = getrusage(RUSAGE_CHILDREN)
        # Without the plug-ins of this environment, which the sandbox does not have either.
        env = {"PATH": "/usr/bin:/bin", "HOME": folder, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        line = [sys.executable, "-m", "pytest", "-q", "test_all.py"]
        ran = subprocess.run(line, cwd=folder, stdout=subprocess.PIPE, env=env)
        after = getrusage(RUSAGE_CHILDREN)
    assert b"30 passed" in ran.stdout, ran
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _memory(box: WarmProcess) -> int:
    """Bytes of memory of eight runs that have loaded pytest, with the warm process: shared pages count once."""
    command = _command("-c", "import pytest, select; print('ready', flush=True); select.select([], [], [], 4)")
    threads = [threading.Thread(target=box.run, args=(command,)) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    most = 0
    while any(thread.is_alive() for thread in threads):
        children = Path(f"/proc/{box.pid}/task/{box.pid}/children").read_text().split()
        most = max(most, sum(_share(int(pid)) for pid in (box.pid, *children)))
        time.sleep(0.1)
    return most


def _share(pid: int | str) -> int:
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in rollup.splitlines() if line.startswith("Pss:")), 0)


if __name__ == "__main__":
    main()
