"""What reaches a terminal: nothing that steers it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

from simtrain.cli import main
from simtrain.cli.terminal import console, fitting_streams
from simtrain.values.terminal_text import fit, fit_json, one_line

pytestmark = pytest.mark.slow

HOSTILE = "a\x1b]0;owned\x07b\x9b31mc\u202ed\u2066e\x7ff\u200bg\U000e0041h\ud800i\rj"
SHOWN = r"a\x1b]0;owned\x07b\x9b31mc\u202ed\u2066e\x7ff\u200bg\U000e0041h\ud800i\rj"


def steers(text: str) -> list[str]:
    """The characters of a text that steer a terminal or turn its letters round: found by their classes, not by our list."""
    import unicodedata

    turning = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    return [
        letter
        for letter in text
        if (unicodedata.category(letter) in ("Cc", "Cs") and letter not in "\n\t")
        or unicodedata.bidirectional(letter) in turning
    ]


def test_text_is_shown_and_what_people_write_stays() -> None:
    assert fit(HOSTILE) == SHOWN
    plain = "naïve café\u00a0: “ok” שלום 👩\u200d🚀 x\u00ady\n\tz"
    assert fit(plain) == plain


def test_every_character_that_steers_is_found() -> None:
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    assert steers(everything) and not steers(fit(everything))


def test_json_stays_the_same_value() -> None:
    value = {"text": HOSTILE.replace("\ud800", ""), "plain": "é"}
    shown = fit_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(shown) == value and not steers(shown)


def test_an_error_is_one_line_of_at_most_500_characters_with_its_remedy() -> None:
    line = one_line("error: a\nb: " + "x" * 9000 + "; choose another")
    assert line.startswith(r"error: a\nb") and line.endswith("; choose another") and len(line) == 500


def test_tables_texts_and_prints_of_hostile_text_are_fit(capsys: pytest.CaptureFixture[str]) -> None:
    with fitting_streams():
        table = Table("name", HOSTILE)
        table.add_row(HOSTILE, Text(HOSTILE))
        console().print(table, HOSTILE, Text(HOSTILE))
        console(stderr=True).print(HOSTILE)
        print(HOSTILE)
        sys.stderr.write(HOSTILE)
    said = capsys.readouterr()
    assert not steers(said.out) and not steers(said.err)
    assert said.out.count("owned") >= 4


def test_a_hostile_trajectory_and_a_hostile_name_are_shown_on_a_terminal(tmp_path: Path) -> None:
    """Through a real terminal: colours of ours come out, codes of the file do not."""
    hostile = json.dumps(HOSTILE.replace("\ud800", "").replace("\U000e0041", ""))
    (tmp_path / "w.yaml").write_text(
        "kind: service\nname: w\nclock: {start: 2031-03-03T09:00:00Z}\n"
        "schema: 'create table t (id integer primary key, word text not null);'\n"
        f"rows: {{t: {{rows: [{{id: 1, word: {hostile}}}]}}}}\n"
        "tools:\n  - {name: t.get, description: d, input: {}, read: {one: 'select word from t'}}\n"
    )
    (tmp_path / "s.yaml").write_text(
        "name: s\nworld: w.yaml\nprompt: |\n  Say {{ word }}.\n"
        "cases: {sql: 'select word from t'}\n"
        "reference: {steps: [{call: t.get, with: {}, as: found}], answer: '{{ found.word }}'}\n"
        "rubric: [{use: answer, with: {sql: select word from t}}]\n"
    )
    command = [sys.executable, "-m", "simtrain"]
    run = [
        *command,
        "run",
        str(tmp_path / "s.yaml"),
        "--agent",
        "oracle",
        "--episodes",
        "1",
        "--out",
        str(tmp_path / "r"),
    ]
    code, played = on_a_terminal(run)
    assert code == 0, played
    shown = "".join(
        on_a_terminal(one)[1] for one in ([*command, "show", str(tmp_path / "r")], [*run, "--show", "--resume"])
    )
    assert "\x1b[" in shown and "owned" in shown
    assert "\x1b]" not in shown and "\x9b" not in shown and "\u202e" not in shown


def on_a_terminal(command: list[str]) -> tuple[int, str]:
    """The exit code of a command that has a terminal, and all that it wrote to it."""
    ours, its = pty.openpty()
    process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env={**os.environ, "TERM": "xterm-256color"})
    os.close(its)
    said = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break
        if not piece:
            break
        said += piece
    os.close(ours)
    return process.wait(), said.decode(errors="replace")


def test_an_error_that_names_a_hostile_file_is_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", str(tmp_path / "\x1b[2Jno\u202esuch.yaml")])
    assert not steers(capsys.readouterr().err)
