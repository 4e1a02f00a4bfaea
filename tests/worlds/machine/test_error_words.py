"""Errors of text programs against those of this machine's: letter for letter."""

import os
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from tests.support.machines import run

FILES = {"/home/ann/x": "a b\nc d e\n", "/home/ann/d/y": "q\n"}
LINES = (
    *(f"{name} nope" for name in ("head", "tail", "wc", "sort", "uniq", "nl", "tac", "rev", "paste", "column", "cat", "md5sum", "fold")),
    *(f"{name} -Q x" for name in ("cat", "head", "sort", "wc", "uniq", "cut", "tr", "nl", "tac", "od", "paste", "comm", "seq", "truncate")),
    *(f"{name} d" for name in ("head", "tail", "sort", "uniq", "nl", "tac", "paste", "cat")),
    "cut x", "comm x", "tr", "join", "truncate x", "sort d/nope", "cd d && head ../nope", "for name in p q; do tail $name; done", 
    "head -n 1 x nope", "shuf nope", "comm x nope", "base64 x nope",
)  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux" or which("dpkg") is None, reason="compares with the programs of Debian")
@pytest.mark.parametrize("line", LINES)
def test_errors_are_worded_as_those_of_this_machine(line: str, tmp_path: Path) -> None:
    for path, text in FILES.items():
        file = tmp_path / path.removeprefix("/home/ann/")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
    words = ["bash", "-c", line]
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment, timeout=20
    )
    found = run(f"{line} < /dev/null" if " " in line and ";" not in line else line, FILES)
    assert found.stderr == done.stderr and (found.exit_code == 0) == (done.returncode == 0)
    merged = run(f"{{ {line}; }} 2>&1", FILES)
    assert done.stderr in merged.stdout and done.stderr in merged.screen


def test_what_only_looks_like_an_error_is_left_as_it_is() -> None:
    log = "sort: /home/ann/gone: No such file or directory\nhead: invalid option -- 'q'\n"
    for line in (
        "cat log",
        "cat log 2>&1",
        "cat log 2>&1 | tac | tac",
        "tail -n 2 log",
        "wc nope; cat log 2>/dev/null",
    ):
        assert run(line, {"/home/ann/log": log}).stdout == log


def test_a_path_that_was_typed_stays_as_it_was_typed() -> None:
    assert run("sort /home/ann/nope").stderr == "sort: cannot read: /home/ann/nope: No such file or directory\n"
    assert run("cd /; wc home/ann/nope").stderr == "wc: home/ann/nope: No such file or directory\n"
    assert (
        run("date -r nope; shuf /etc/nope").stderr
        == "date: nope: No such file or directory\nshuf: /etc/nope: No such file or directory\n"
    )
