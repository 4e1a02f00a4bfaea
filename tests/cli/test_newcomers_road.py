"""What somebody meets who has just installed simtrain: tables that fit, names that complete, what doctor and warnings say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bakery import write_files
from drills import write_bakery

from simtrain.cli import main
from simtrain.cli.progress import speed

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

Typed = Callable[..., tuple[int, str, str]]


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Typed:
    """A function that carries out a command in an empty folder, in a terminal of so many columns."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str, columns: int = 80) -> tuple[int, str, str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


# Tables


def words_of(printed: str) -> Counter[str]:
    """The words of a table, whichever line they stand in; without its rules."""
    return Counter(word for word in printed.split() if not re.fullmatch("[─━]+", word))


def broken(narrow: str, wide: str) -> list[str]:
    """What a table says otherwise on 80 columns than where there is room for all: broken or cut words, lines that are too long."""
    lost = words_of(narrow) - words_of(wide)
    return [*lost, *(line for line in narrow.splitlines() if len(line) > 80)]


def param(words: Any, *, quick: bool) -> Any:
    """A parameter of which only the quick ones are tried every time."""
    shown = words if isinstance(words, str) else " ".join(words)
    return pytest.param(words, id=shown, marks=() if quick else pytest.mark.full)


TABLES = [
    *(("list", kind) for kind in (
        "scenarios", "perturbations", "packs", "agents", "graders", "exporters", "world_models", "paradigms", "domains",
        "world_kinds", "sandboxes", "transports", "argument_styles", "handlers",
    )),
    ("curriculum", "ladder"),
    ("validate", "messenger/correct_figure_too_late", "--cases", "1"),
]  # fmt: skip


@pytest.mark.parametrize("words", [param(words, quick=words[0] == "list") for words in TABLES])
def test_tables_fit_80_columns_and_break_no_word(words: tuple[str, ...], typed: Typed) -> None:
    (code, narrow, _), (_, wide, _) = typed(*words), typed(*words, columns=400)
    assert code == 0 and broken(narrow, wide) == []


@pytest.mark.full
def test_a_run_and_a_drill_print_tables_that_fit_and_say_what_they_mean(typed: Typed) -> None:
    names = ("helpdesk/refund", "helpdesk/recurring_revenue", "messenger/correct_figure_too_late")
    drill = ("drill", *names, "--pack", "uncertain_writes", "-n", "1", "--out", "drilled", "--json", "--allow-unfired")
    assert typed("run", *names, "--episodes", "3", "--out", "played")[0] == 0
    assert typed(*drill)[0] == 0
    for again, legend in (
        (("show", "played"), "success: share with full reward"),
        (("drill", "--report", "drilled", "--allow-unfired"), "twice: episodes with a write made twice"),
    ):
        (code, narrow, _), (_, wide, _) = typed(*again), typed(*again, columns=400)
        tables = [text.partition("spared:")[0].partition("What to fix")[0] for text in (narrow, wide)]
        if again[0] == "show":
            tables = [text.partition("\n\n")[0] for text in tables]
        assert code == 0 and broken(*tables) == [] and legend in " ".join(narrow.split())


def test_the_check_of_tables_finds_broken_words_and_long_lines() -> None:
    assert broken("twic\ne 3", "twice 3") == ["twic", "e"]
    assert broken("helpdesk/recur…", "helpdesk/recurring_revenue") == ["helpdesk/recur…"]
    assert broken("x" * 81, "x" * 81) == ["x" * 81]


@pytest.mark.parametrize(
    ("rate", "shown"),
    [(1234.5, "1,234/s"), (23.44, "23.4/s"), (1, "1.0/s"), (0.25, "15.0/min"), (0.01, "36.0/h"), (0, "0.0/h")],
)
def test_slow_work_is_told_by_the_minute_or_the_hour(rate: float, shown: str) -> None:
    assert speed(rate) == shown


# Plug-ins of others


def install(folder: Path, name: str, entries: str) -> None:
    """What pip leaves of a package beside its modules."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entries)


@pytest.mark.full
def test_doctor_and_list_name_the_plug_ins_of_others_and_what_is_broken(tmp_path: Path) -> None:
    (tmp_path / "theirs.py").write_text(
        "from simtrain.agents.simple import Nop\n\nclass Mine(Nop):\n    '''Mine alone.'''\n"
    )
    install(
        tmp_path,
        "theirs",
        "[simtrain.agents]\nmine = theirs:Mine\ngone = nowhere:Gone\nnop = theirs:Mine\n[simtrain.agnets]\nodd = theirs:Mine\n",
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}

    def said(*words: str) -> str:
        command = [sys.executable, "-m", "simtrain", *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    checks = {check["name"]: check for check in json.loads(said("doctor", "--json"))["checks"]}
    assert checks["agents mine"]["ok"] and "theirs:Mine, of the package theirs" in checks["agents mine"]["found"]
    assert not checks["agents gone"]["ok"] and "No module named 'nowhere'" in checks["agents gone"]["found"]
    assert "a plug-in that ships has this name" in checks["agents nop"]["found"]
    assert "did you mean 'agents'?" in checks["agnets odd"]["found"]
    listed = said("list", "agents")
    assert "mine +" in listed and "+ comes from another package" in listed and "BROKEN" in listed


# Completion


def completed(folder: Path, *words: str) -> list[str]:
    """What bash completes the last of some words to, by the script that the command prints."""
    (folder / "simtrain").write_text(f'#!/bin/sh\nexec {sys.executable} -m simtrain "$@"\n')
    (folder / "simtrain").chmod(0o755)
    script = """
        eval "$(simtrain completion bash)"
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
        $(complete -p simtrain | sed 's/.*-F \\([^ ]*\\).*/\\1/') simtrain
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    command = ["bash", "-c", script, "bash", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.stderr == "", done.stderr
    return done.stdout.split()


COMPLETED = {
    "simtrain comp": ["completion"],
    "simtrain run helpdesk/ref": ["helpdesk/refund", "helpdesk/refund_not_due"],
    "simtrain world che": ["check"],
    "simtrain drill helpdesk --pack uncertain": ["uncertain_writes"],
    "simtrain run helpdesk --agent resil": ["resilient"],
    "simtrain run helpdesk --concur": ["--concurrency"],
    "simtrain list transp": ["transports"],
}


@pytest.mark.parametrize("line", [param(line, quick=place < 2) for place, line in enumerate(COMPLETED)])
def test_bash_completes_commands_options_and_names(line: str, tmp_path: Path) -> None:
    assert completed(tmp_path, *line.split()) == COMPLETED[line]


@pytest.mark.parametrize(("shell", "word"), [("zsh", "compdef"), ("fish", "complete --command simtrain")])
def test_other_shells_have_their_script(shell: str, word: str, typed: Typed) -> None:
    code, out, _ = typed("completion", shell)
    assert code == 0 and word in out and "_SIMTRAIN_COMPLETE" in out


# Warnings

KEYED = """\
name: keyed
world: bakery.yaml
prompt: 'Order one of {PARAMETER} and tell me the id of the order.'
cases: {sql: "select id as NAME from cakes where stock > 2", sample: 3}
rubric: [{use: final_state, with: {expect: ["select count(*) = 1 from orders where cake_id = :NAME and amount = 1"]}}]
"""


@pytest.mark.parametrize(("name", "warned"), [("target", True), ("cake_id", True), ("number", False)])
def test_a_prompt_that_states_a_case_s_key_is_warned_of(name: str, warned: bool, typed: Typed, tmp_path: Path) -> None:
    write_files(tmp_path)
    text = KEYED.replace("{PARAMETER}", "{{ NAME }}").replace("NAME", name)
    (tmp_path / "keyed.yaml").write_text(text)
    code, _, err = typed("run", "keyed.yaml", "--agent", "nop", "--out", "out")
    line = f"warning: keyed: the prompt states {{{{ {name} }}}}, the key of a row of cakes"
    assert code == 0 and (line in err) is warned


def test_a_server_s_command_without_its_quotes_is_one_clear_line(typed: Typed) -> None:
    code, _, err = typed("capture", "-o", "out.json", "--", "simtrain", "serve", "git", "--stdio")
    assert code == 2 and "'--stdio' is not a command; write each command with its arguments in quotes" in err


# Run folders of other versions


@pytest.fixture
def played(typed: Typed, tmp_path: Path) -> Path:
    """A drill as a version of format 1 has left it: without what was recorded since."""
    write_bakery(tmp_path)
    assert typed("drill", "birthday.yaml", "--pack", "rough", "-n", "2", "--out", "out", "--json")[0] == 0
    folder = tmp_path / "out"
    facts = json.loads((folder / "run.json").read_text())
    assert facts["format"] == "simtrain-run/2"
    old = [{key: value for key, value in entry.items() if key != "meets"} for entry in facts["scenarios"]]
    (folder / "run.json").write_text(json.dumps({**facts, "format": "simtrain-run/1", "scenarios": old}))
    (part,) = folder.glob("trajectories-*.jsonl")
    since = ("noticeable", "solvability", "bent")
    lines = [json.loads(line) for line in part.read_text().splitlines()]
    part.write_text("".join(json.dumps({k: v for k, v in line.items() if k not in since}) + "\n" for line in lines))
    return folder


def test_a_folder_of_format_1_is_read_graded_exported_and_gone_on_with(played: Path, typed: Typed) -> None:
    for words in (
        ("show", "out"),
        ("grade", "out"),
        ("export", "out", "--format", "steps", "--out", "rows.jsonl"),
        ("drill", "--report", "out"),
        ("drill", "birthday.yaml", "--pack", "rough", "-n", "2", "--out", "out", "--resume"),
    ):
        code, _, err = typed(*words)
        assert (code, err) == (0, ""), words


@pytest.mark.parametrize(
    ("form", "version", "remedy"),
    [
        ("simtrain-run/3", "7.1", "update simtrain to 7.1 or later"),
        ("simtrain-run/0", "0.0.1", "read it with simtrain 0.0.1, or play it again with --out"),
        ("other/2", None, "read it with simtrain of an unknown version, or play it again with --out"),
    ],
)
def test_a_folder_of_an_unknown_format_is_refused_in_one_line(
    form: str, version: str | None, remedy: str, played: Path, typed: Typed
) -> None:
    facts = json.loads((played / "run.json").read_text())
    (played / "run.json").write_text(json.dumps({**facts, "format": form, "version": version}))
    for words in (
        ("show", "out"),
        ("grade", "out"),
        ("export", "out", "--format", "steps", "--out", "rows.jsonl"),
        ("drill", "--report", "out"),
        ("replay", "out", "birthday:c0000"),
        ("drill", "birthday.yaml", "--pack", "rough", "-n", "2", "--out", "out", "--resume"),
    ):
        code, _, err = typed(*words)
        assert code == 2 and len(err.splitlines()) == 1, (words, err)
        assert f"out/run.json: the folder has the format {form}, written by simtrain" in err
        assert "reads simtrain-run/1 and simtrain-run/2; " + remedy in err, words


def test_a_trajectory_of_another_format_is_refused_with_its_line(played: Path, typed: Typed) -> None:
    (part,) = played.glob("trajectories-*.jsonl")
    first, *others = part.read_text().splitlines()
    part.write_text(
        "\n".join([json.dumps({**json.loads(first), "format": "simtrain/2", "version": "7.1"}), *others, ""])
    )
    code, _, err = typed("drill", "--report", "out")
    assert code == 2 and f"{part.name}:1: the trajectory has the format simtrain/2, not simtrain/1; read it with" in err
