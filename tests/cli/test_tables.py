"""Tables of doctor, world, verify, capture, relay and score-widesearch on 80 columns, with the longest names that others may give."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len
from widesearching import GOLD

from simtrain.cli.tables import parted, short
from tests.cli.test_newcomers_road import broken
from tests.questions.test_widesearch_command import Bench

pytestmark = pytest.mark.slow

LONG = "the_name_of_something_that_goes_on_and_on_for_ever_and_ever_and_never_ends"
WIDE = "一个非常非常非常非常非常非常非常非常非常非常非常非常长的名字"
WORLD = f"""\
kind: service
name: w
clock: {{start: 2031-03-03T09:00:00Z}}
schema: "create table t (id integer primary key, word text);"
tools:
  - {{name: {LONG}, description: d, input: {{}}, read: {{rows: "select word from t"}}}}
  - {{name: short, description: d, input: {{}}, read: {{rows: "select word from t"}}}}
"""

Printed = Callable[..., str]


@pytest.fixture
def printed(tmp_path: Path) -> Printed:
    """A function for what a command prints, in either stream, on so many columns."""
    (tmp_path / "w.yaml").write_text(WORLD)

    def run(words: str, columns: int = 80) -> str:
        environment = {**os.environ, "COLUMNS": str(columns)}
        command = [sys.executable, "-m", "simtrain", *shlex.split(words)]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode in (0, 1) and "Traceback" not in done.stderr, done.stderr
        return done.stdout + done.stderr

    return run


def table(text: str, *headings: str) -> str:
    """What stands from a row of headings to the next free line: a table with its legend."""
    lines = text.splitlines()
    begin = next(index for index, line in enumerate(lines) if line.split() == list(headings))
    end = next((index for index, line in enumerate(lines) if index > begin and not line.strip()), len(lines))
    return "\n".join(lines[begin:end])


STATS = (("type", "kind", "rows", "attributes"), ("site", "domain", "pages", "words", "lag", "reliable"))


@pytest.mark.parametrize(
    ("words", "tables", "legend"),
    [
        pytest.param("doctor", [("check", "found")], "MISSING: simtrain does not", marks=pytest.mark.full),
        ("world stats kestrel_reach --pages 300 --sentences", [*STATS, ("pages", "sentences", "shared")], "lag: how"),
        pytest.param("world check kestrel_reach --pages 300", [("part", "read", "problems")], "read: what was", marks=pytest.mark.full),
    ],
)  # fmt: skip
def test_a_table_fits_80_columns_breaks_no_word_and_has_a_legend(
    words: str, tables: list[tuple[str, ...]], legend: str, printed: Printed
) -> None:
    # The disk fills and empties meanwhile.
    narrow, wide = (re.sub(r"[\d.]+ GB", "GB", printed(words, columns)) for columns in (80, 400))
    for headings in tables:
        assert broken(table(narrow, *headings), table(wide, *headings)) == []
    assert legend in " ".join(narrow.split())


@pytest.mark.full
def test_tables_about_servers_fit_whatever_these_call_themselves_and_their_tools(
    printed: Printed, tmp_path: Path
) -> None:
    served = [sys.executable, "-m", "simtrain", "serve", str(tmp_path / "w.yaml"), "--stdio"]
    entry = {"command": served[0], "args": served[1:]}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {f"server-{LONG}": entry}}))
    # Headings and names that are cut, or broken, are not found.
    headings = ("server", "eras", "tools", "res.", "templ.", "prompts", "surfaces", "calls")
    captured = table(printed("capture --config mcp.json -o m.json"), *headings)
    assert captured.split("2025-11-25")[0].rstrip().endswith("never_ends") and "2026-07-28" in captured
    assert "surfaces: what is shown to different clients" in " ".join(captured.split())
    verified = printed(f"verify w.yaml --against {shlex.quote(shlex.join(served))} --calls 6")
    played = table(verified, "tool", "calls", "agree", "valid", "stateful")
    shown = table(verified, "shown", "equal", "of")
    assert re.search(r"^the_name_of_\S*never_ends +3 +100.0% ", played, re.MULTILINE), played
    assert "equal: parts that both sides show alike" in " ".join(shown.split())
    assert max(len(line) for part in (captured, played, shown) for line in part.splitlines()) <= 80


def test_the_tables_of_scores_fit_whatever_columns_are_called(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path, capsys)
    columns = [f"{LONG}{WIDE}"[:70], WIDE]
    names = ["observatory", *columns]
    head = ",".join(names)
    (tmp_path / "gold" / "ws_en_001.csv").write_text(head + "\n" + "\n".join(",".join(row[:3]) for row in GOLD) + "\n")
    evaluation = {"unique_columns": ["observatory"], "required": names, "eval_pipeline": {}}
    bench.questions({"instance_id": "ws_en_001", "query": "?", "language": "en", "evaluation": evaluation})
    bench.responses({"instance_id": "ws_en_001", "response": "none", "trial_idx": 0})
    monkeypatch.setenv("COLUMNS", "80")
    code, narrow, err = bench.run()
    assert code == 0, err
    monkeypatch.setenv("COLUMNS", "400")
    wide = bench.run()[1]
    losses = ("column", "right", "wrong", "absent", "lost")
    assert broken(table(narrow, *losses), table(wide, *losses)) == []
    assert max(map(cell_len, narrow.splitlines())) <= 80
    assert "lost: share of cells" in " ".join(narrow.split())


def test_a_name_is_cut_in_its_middle_by_the_columns_that_it_takes() -> None:
    assert short("short", 33) == "short"
    assert short(LONG, 20) == "the_name…_never_ends"
    assert short(WIDE, 33).startswith("一个非常") and short(WIDE, 33).endswith("长的名字")


def test_a_path_goes_on_in_the_next_line_after_a_slash() -> None:
    assert parted("python at /srv/some/where/else/python3", 16) == "python at /srv/some/where/\nelse/python3"
    assert parted("python at /srv/python3", 16) == "python at /srv/python3"
