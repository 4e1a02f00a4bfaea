"""What a drill says is to be fixed: in words, with commands that work; and the page that ends with it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from drills import write_bakery

from simtrain.cli import main

pytestmark = pytest.mark.slow

Typed = Callable[..., tuple[int, str]]
BLIND = "drills:Blind"


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Typed:
    """A function that carries out simtrain in a folder with the bakery and its packs: exit code and output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    write_bakery(tmp_path)

    def carry_out(*words: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out + err

    return carry_out


def test_a_drill_ends_with_what_to_fix_and_commands_that_show_and_replay_it(typed: Typed) -> None:
    words = ("drill", "birthday.yaml", "--pack", "rough", "--agent", BLIND, "-n", "6", "-k", "2", "--out", "out")
    code, out = typed(*words)
    assert code == 0 and "What to fix: drills:Blind" in out and "simtrain replay out birthday:" in out
    assert "18 attempts repeat others to the byte: counted once" not in out
    assert "24 attempts repeat others to the byte: counted once" in out
    (run,) = json.loads(Path("out/drill.json").read_text())["runs"]
    first = run["findings"][0]
    # In one case of six the world itself refuses the second order; each is met alone and in the pack as a whole.
    assert first["words"].startswith(
        "timeout_after: 12 writes timed out after landing; 12 were sent again unchecked (10 landed twice)"
    )
    assert first["advice"] == "Look whether a write has landed before sending it again." and first["episodes"] == 12
    assert first["example"]["arm"] == "rough/timeout_after", "the arm in which least else goes wrong"
    code, out = typed(*shlex.split(first["show"])[1:])
    assert code == 0 and "perturbed by timeout_after" in out and "arm rough/timeout_after" in out
    code, out = typed(*shlex.split(first["replay"])[1:])
    assert code == 0 and "perturbed by timeout_after" in out and "As in the run, to the byte." in out
    code, out = typed(*shlex.split(first["replay"])[1:], "--json")
    assert code == 0 and json.loads(out)["arm"] == "rough/timeout_after"
    assert [family["family"] for family in run["families"]] == ["birthday"]


def test_what_has_changed_is_not_replayed(typed: Typed, tmp_path: Path) -> None:
    typed("drill", "birthday.yaml", "--pack", "rough", "-n", "2", "--out", "out")
    code, out = typed("replay", "out", "birthday:c0000", "--arm", "rough/nothing")
    assert code == 2 and "no trajectory fits" in out
    pack = tmp_path / "perturbations" / "rough.yaml"
    pack.write_text(pack.read_text().replace("nth: 1", "nth: 2"))
    code, out = typed("replay", "out", "birthday:c0000", "--arm", "rough/timeout_after")
    assert code == 2 and "(or its world or a pack) has changed since it was played" in out
    assert typed("replay", "out", "birthday:c0000", "--arm", "clean")[0] == 0


def test_an_agent_that_does_everything_right_has_nothing_to_fix(typed: Typed) -> None:
    code, out = typed("drill", "birthday.yaml", "--pack", "rough", "--agent", "resilient", "-n", "3", "--out", "out")
    assert code == 0 and "What to fix" not in out
    assert "Nothing that was done went wrong." in Path("out/drill.html").read_text()


def test_the_page_labels_both_texts_tells_delays_and_explains_its_marks(typed: Typed) -> None:
    words = ("drill", "birthday.yaml", "--pack", "rough", "--pack", "slow", "--agent", BLIND, "-n", "4", "--out", "out")
    assert typed(*words)[0] == 0
    page = Path("out/drill.html").read_text()
    for words in (
        "clean: what the tool said", "perturbed: what the agent read", "(virtual time)", "95 % interval", "share that recovered",
        "What to fix: drills:Blind", "Look whether a write has landed before sending it again.", "simtrain replay out birthday:c00",
    ):  # fmt: skip
        assert words in page, words
    assert page.index("Worst trajectories") < page.index("What to fix"), "the page ends with it"
    assert "<script>" not in page
