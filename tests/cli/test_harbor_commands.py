"""`simtrain export --format harbor` and `simtrain run FOLDER`: what is written, printed and refused."""

import json
import tomllib
from pathlib import Path

import pytest
from harbor_folders import GREETING, write_harbor
from typed_commands import Typed

pytestmark = pytest.mark.slow


def test_every_case_becomes_a_folder_with_the_files_of_its_author_and_without_the_output(
    typed: Typed, tmp_path: Path
) -> None:
    code, out, _ = typed("export", "birthday.yaml", "--format", "harbor", "--out", "tasks", "--json")
    written = json.loads(out)
    assert code == 0 and len(written) > 1
    assert {(folder["solution"], folder["nop"]) for folder in written} == {(1.0, 0.0)}
    for one in written:
        folder = tmp_path / one["folder"]
        copied = {path.name for path in (folder / "environment" / "world").rglob("*") if path.is_file()}
        assert {"birthday.yaml", "bakery.yaml", "Dockerfile"} <= copied and "task.toml" not in copied
        # The rubric is nowhere but in the image of the service, which the agent's container does not have.
        assert (
            "rubric"
            not in (folder / "instruction.md").read_text() + (folder / "environment" / "Dockerfile").read_text()
        )
        task = tomllib.loads((folder / "task.toml").read_text())
        assert task["environment"]["mcp_servers"][0]["url"] == "http://world:8765/mcp"
        assert (
            json.loads((folder / "tests" / "episode.json").read_text())["token"]
            in (folder / "environment" / "docker-compose.yaml").read_text()
        )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("birthday.yaml", "--with", "case=99"), "error: birthday has no case 99"),
        (("birthday.yaml", "--with", "cases=1"), "--with: unknown key 'cases'; did you mean 'case'?"),
        (("birthday.yaml", "--min-reward", "1"), "the format harbor takes scenarios, of which no filter selects"),
        (("birthday.yaml", "--with", "case=0", "--with", "install=none.whl"), "none.whl: there is no such wheel"),
        (("nowhere",), "unknown scenario 'nowhere'"),
    ],
)
def test_what_cannot_be_exported_is_one_line(typed: Typed, tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    code, _, err = typed("export", *words, "--format", "harbor", "--out", "tasks")
    assert code == 2 and told in err and len(err.strip().splitlines()) == 1
    assert not (tmp_path / "tasks").exists() or not list((tmp_path / "tasks").iterdir())


@pytest.mark.full
def test_a_case_about_a_repository_that_needs_its_world_says_why_in_one_line(typed: Typed, tmp_path: Path) -> None:
    code, out, _ = typed(
        "export", "swe/ledger_bugs_forbidden", "--format", "harbor", "--out", "tasks", "--with", "case=0"
    )
    said = "its world is served beside it: the grader `abstention` needs what simtrain records"
    assert code == 0 and out.splitlines()[0].endswith(f"calls earn 1, none earn 0; {said}")
    assert (tmp_path / "tasks" / "swe-ledger-bugs-forbidden-c0000" / "environment" / "docker-compose.yaml").is_file()


@pytest.mark.full
def test_a_harbor_folder_is_run_shown_and_proved(typed: Typed, tmp_path: Path) -> None:
    write_harbor(tmp_path / "greeting", GREETING)
    code, out, _ = typed("run", "greeting", "--agent", "oracle", "--out", "out", "--show")
    assert code == 0 and "reward: 1.00" in out and "bash /solution/solve.sh" in out
    code, out, _ = typed("validate", "greeting", "--json")
    assert code == 0 and json.loads(out)[0]["ok"] is True
    # Played again from its record, and graded again.
    assert "As in the run, to the byte." in typed("replay", "out", "c0000")[1]
    assert typed("grade", "out")[0] == 0
