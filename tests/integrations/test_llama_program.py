"""A llama-server that the user compiled: what it is started with, and that it never outlives who started it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

STUB = """#!{python}
import json, os, sys, time
with open({told!r} + ".new", "w") as file:
    json.dump({{"pid": os.getpid(), "argv": sys.argv[1:]}}, file)
os.rename({told!r} + ".new", {told!r})
time.sleep({seconds})
sys.exit(7)
"""


def stub(folder: Path, *, seconds: float) -> tuple[Path, Path]:
    """Write a program that tells how it was started; return it, and the file in which it tells."""
    told, program = folder / "told.json", folder / "llama-server"
    program.write_text(STUB.format(python=sys.executable, told=str(told), seconds=seconds))
    program.chmod(0o755)
    return program, told


def started(program: Path) -> subprocess.Popen[bytes]:
    options = ["--slots", "2", "--context", "512", "--threads", "1", "--program", str(program)]
    command = [
        sys.executable,
        "-m",
        "simtrain.integrations.train.llama_server",
        "model.gguf",
        "1234",
        "trained",
        *options,
    ]
    return subprocess.Popen(command, stdin=subprocess.PIPE)


def wait(met: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not met():
        assert time.monotonic() < until
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_it_is_told_model_port_and_the_context_of_all_slots(tmp_path: Path) -> None:
    program, told = stub(tmp_path, seconds=0)
    with started(program) as process:
        assert process.wait(30) == 7
    argv = json.loads(told.read_text())["argv"]
    given = dict(zip(argv[:-1:2], argv[1::2], strict=True))
    assert given["--model"] == "model.gguf"
    assert (given["--port"], given["--alias"]) == ("1234", "trained")
    assert (given["--ctx-size"], given["--parallel"]) == ("1024", "2")


def test_it_ends_when_its_starter_does(tmp_path: Path) -> None:
    program, told = stub(tmp_path, seconds=100)
    with started(program) as process:
        wait(told.exists)
        pid = json.loads(told.read_text())["pid"]
        assert alive(pid)
        assert process.stdin is not None
        # What the end of a killed process does to its pipes.
        process.stdin.close()
        process.wait(30)
    wait(lambda: not alive(pid))
