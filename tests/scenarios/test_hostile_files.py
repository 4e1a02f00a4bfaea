"""Files that nobody would write by mistake: each ends in one line and exit code 2."""

# ruff: noqa: E501 (the table is read by its lines)

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from simtrain.files.jsonl import unwritable

BIG = "9" * 5000
FREE = 'kind: service\nname: w\nclock: {start: 2031-03-03T09:00:00Z}\nschema: "create table t (id integer primary key, word text);"\n'
TOOL = "tools:\n  - {name: t.get, description: d, input: {}, read: {rows: 'select word from t'}}\n"
SCENARIO = "name: s\nworld: w.yaml\nprompt: Say {{ word }}.\nreference: {answer: x}\nrubric: [{use: answer, with: {sql: select word from t}}]\n"

COMMAND = (
    "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)); "
    "from simtrain.__main__ import main; sys.argv = ['simtrain', *sys.argv[1:]]; main()"
)


def said(folder: Path, words: Sequence[str]) -> str:
    """The one line that a command says in that folder; it ends with 2, and neither hangs nor grows."""
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *words], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2, done.stderr[-3000:]
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1 and len(done.stderr) <= 501, done.stderr[
        -3000:
    ]
    return done.stderr


CASES: list[tuple[str, dict[str, str], str, str]] = [
    ("a manifest with a huge integer", {"m.json": json.dumps({"format": "x"})[:-1] + f', "n": {BIG}}}'}, "serve m.json", "too long"),
    ("a manifest to draft from", {"m.json": json.dumps({"format": "x"})[:-1] + f', "n": {BIG}}}'}, "world draft m.json --out w.yaml", "too long"),
    ("an mcp.json with a huge integer", {"mcp.json": f'{{"mcpServers": {{"x": {{"command": "a", "n": {BIG}}}}}}}'}, "capture --config mcp.json --out c", "too long"),
    ("blobs in the SQL of cases", {"w.yaml": FREE + TOOL, "s.yaml": SCENARIO + "cases: {sql: 'select zeroblob(3) as word'}\n"}, "run s.yaml --agent oracle", "gives bytes"),
    ("a deep template", {"w.yaml": FREE + TOOL, "s.yaml": SCENARIO.replace("{{ word }}", "{{ " + "(" * 300 + "1" + ")" * 300 + " }}") + "cases: {rows: [{word: a}]}\n"}, "run s.yaml --agent oracle", "nested too deeply"),
    ("a run.json without scenarios' names", {"r/run.json": '{"format": "simtrain-run-1", "scenarios": [{"file": "s.yaml"}]}', "r/trajectories-0.jsonl": ""}, "grade r", "run.json"),
    ("a base URL with a password", {"w.yaml": FREE + "rows: {t: {count: 1, with: {word: word}}}\n" + TOOL, "s.yaml": SCENARIO + "cases: {rows: [{word: a}]}\n"}, "run s.yaml --agent chat --with model=m --with base_url=http://me:hunter22@127.0.0.1:1/v1", "user or a password"),
    ("a device as answers", {"q.jsonl": ""}, "score-widesearch --questions /dev/zero --responses q.jsonl --gold .", "larger than"),
    ("a device as a world", {}, "serve /dev/zero", "/dev/zero"),
    ("a device as a scenario", {}, "run zero.yaml", "no file"),
    ("a device as a run", {"r/run.json": ""}, "show /dev/zero", "dev/zero"),
    ("rows of cases without end", {"w.yaml": FREE + "rows: {t: {count: 300, with: {word: word}}}\n" + TOOL, "s.yaml": SCENARIO + "cases: {sql: 'select a.word || b.word as word from t a, t b, t c, t d'}\n"}, "run s.yaml --agent oracle", "cases.sql"),
    ("long rows of cases", {"w.yaml": FREE + "rows: {t: {count: 300, with: {word: word}}}\n" + TOOL, "s.yaml": SCENARIO + "cases: {sql: 'select hex(zeroblob(200000)) || a.id as word from t a, t b'}\n"}, "run s.yaml --agent oracle", "cases.sql"),
    ("an `after` without end", {"w.yaml": FREE + "after: [\"insert into t (word) with recursive n (x) as (select 1 union all select x + 1 from n) select hex(zeroblob(200000)) from n\"]\n" + TOOL, "s.yaml": SCENARIO + "cases: {rows: [{word: a}]}\n"}, "run s.yaml --agent oracle", "after"),
]  # fmt: skip


IN_SHORT = ("a deep template", "a device as a scenario")


@pytest.mark.parametrize(
    ("files", "words", "says"),
    [pytest.param(*case[1:], id=case[0], marks=() if case[0] in IN_SHORT else pytest.mark.full) for case in CASES],
)
def test_a_hostile_file_ends_in_one_line(files: dict[str, str], words: str, says: str, tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    line = said(tmp_path, words.split())
    assert says in line and "hunter22" not in line


@pytest.mark.full
def test_a_loop_of_links_ends_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").symlink_to(tmp_path / "b.yaml")
    (tmp_path / "b.yaml").symlink_to(tmp_path / "a.yaml")
    for words in (
        "run a.yaml",
        "serve a.yaml",
        "show a.yaml",
        "grade a.yaml",
        "world build a.yaml",
        "world browse a.yaml",
    ):
        said(tmp_path, words.split())


def test_space_is_asked_for_only_where_the_disk_is_full() -> None:
    full, other = (OSError(number, os.strerror(number)) for number in (errno.ENOSPC, errno.EACCES))
    assert "free some space" in str(unwritable(Path("x"), full))
    assert "free some space" not in str(unwritable(Path("x"), other))
