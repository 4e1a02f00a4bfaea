"""Named pipes in the place of files: one line where nobody writes to them, their content where somebody does."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from simtrain.files import file_bytes as module
from simtrain.files.file_bytes import file_bytes
from simtrain.files.jsonl import whole_lines
from simtrain.values.errors import InputError


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def wait(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Give the writer of a pipe so long to come."""
    monkeypatch.setattr(module, "WRITER_WAIT", seconds)


def test_a_pipe_that_nobody_writes_to_is_refused(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wait(monkeypatch, 0.01)
    with pytest.raises(InputError, match="this is an empty pipe that no process writes to; name a file"):
        file_bytes(pipe)
    with pytest.raises(InputError, match="this is an empty pipe"):
        next(whole_lines(pipe))


@pytest.mark.parametrize("content", [b"x", b"one\ntwo\n" * 50_000])
def test_a_pipe_is_read_to_its_end(content: bytes, pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wait(monkeypatch, 60)
    writing = threading.Thread(target=pipe.write_bytes, args=(content,))
    writing.start()
    assert file_bytes(pipe) == content
    writing.join()


def test_a_writer_who_is_there_may_take_time(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wait(monkeypatch, 0.01)
    writer = os.open(pipe, os.O_RDWR)

    def write() -> None:
        os.write(writer, b"at last")
        os.close(writer)

    threading.Timer(0.2, write).start()
    assert file_bytes(pipe) == b"at last"


def test_no_more_of_a_pipe_is_read_than_the_limit(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wait(monkeypatch, 60)

    def write() -> None:
        with pytest.raises(BrokenPipeError), pipe.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 1000)

    writing = threading.Thread(target=write)
    writing.start()
    with pytest.raises(InputError, match="larger than 1 MB"):
        file_bytes(pipe, most=1_000_000)
    writing.join()


COMMANDS = [
    "show run", "grade run", "grade played", "export played --format trl --out x.jsonl", "drill --report played",
    "run helpdesk/refund --curriculum p.yaml --episodes 2", "capture --config p.yaml --out x.json",
    "capture true --out x.json --probes p.yaml", "capture --config mcp.json --out x.json", "verify p.yaml --against true",
    "serve p.yaml --stdio", "serve git --replay p.yaml --stdio", "episode list --control p.yaml",
    "world draft p.yaml --out x.yaml", "curriculum p.yaml", "score-widesearch --questions p.yaml --gold . --responses .",
]  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("words", COMMANDS)
def test_no_command_waits_for_a_pipe(words: str, tmp_path: Path) -> None:
    for folder in ("run", "played"):
        (tmp_path / folder).mkdir()
    for name in ("p.yaml", "run/run.json", "played/trajectories-000.jsonl"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "played" / "run.json").write_text('{"format": "simtrain-run/2", "scenarios": [{"name": "s"}]}')
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"a": {"command": "true", "envFile": "%s"}}}' % (tmp_path / "p.yaml"))  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "simtrain", *words.split()], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2 and "this is an empty pipe" in done.stderr and done.stderr.count("\n") == 1, done.stderr
