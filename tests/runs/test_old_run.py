"""A drill's folder as version 0.1 of format 1 left it (tests/support/old_run), in the hands of this version."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from real_runs import without_progress

from simtrain.cli import main

OLD = (Path(__file__).parents[1] / "support") / "old_run"
PLAYED_IN = "/srv/bakery"

Typed = Callable[..., tuple[int, str, str]]


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Typed:
    """A function that carries out a command beside the drill, which was moved there with its scenario."""
    shutil.copytree(OLD, tmp_path, dirs_exist_ok=True)
    facts = tmp_path / "drill" / "run.json"
    assert json.loads(facts.read_text())["format"] == "simtrain-run/1"
    facts.write_text(facts.read_text().replace(PLAYED_IN, str(tmp_path)))
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def lines(folder: str) -> list[str]:
    return Path(folder, "trajectories-000.jsonl").read_text().splitlines()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("show drill", "changed: 1 in ledger"),
        ("show drill c0000 --arm rough", "perturbed by timeout_after"),
        ("grade drill", "2 trajectories graded."),
        ("export drill --format trl --out rows.jsonl", "2 rows from 2 of 2 trajectories"),
        ("export drill --format steps --out rows.jsonl", "rows from 2 of 2 trajectories"),
        ("drill --report drill", "Report: drill/drill.html"),
    ],
)
def test_a_real_old_folder_is_read(words: str, told: str, typed: Typed) -> None:
    code, out, err = typed(*words.split())
    assert (code, err) == (0, "") and told in out


def test_a_real_old_drill_is_gone_on_with_and_keeps_what_it_has(typed: Typed) -> None:
    before = lines("drill")
    more = ("birthday.yaml", "--pack", "rough", "--arms", "pack", "-n", "1", "-k", "2", "--out", "drill", "--resume")
    code, _, err = typed("drill", *more)
    assert (code, without_progress(err)) == (0, "")
    after = lines("drill")
    assert after[: len(before)] == before and len(after) == 4
    assert json.loads(Path("drill/run.json").read_text())["format"] == "simtrain-run/2"


def test_a_replay_names_the_parts_in_which_an_old_episode_has_changed(typed: Typed) -> None:
    """The agent of today is told other words at first, and says its answer in others; the reward is the same."""
    code, out, err = typed("replay", "drill", "birthday:c0000", "--arm", "rough")
    assert (code, err) == (0, "")
    printed = " ".join(out.split())
    _, found, parts = printed.partition("Not as in the run (answered, reward 1.00): other in ")
    assert found
    parts = parts.rstrip(".").split(", ")
    assert "system" in parts and not {"prompt", "case", "stop", "reward"} & set(parts)
