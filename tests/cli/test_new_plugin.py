"""`simtrain new plugin` writes a plug-in that works at once, in a package of one's own or in a checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from bakery import write_files
from entry_points import write_entry_points

from simtrain.cli import main
from simtrain.contracts.kinds import KINDS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
WRITTEN = [kind.singular for kind in KINDS.values() if kind.name != "worlds"]
PLAYED = ["perturbation", "grader", "exporter", "domain", "agent"]


def python(*words: str, folder: Path, path: tuple[Path, ...] = ()) -> subprocess.CompletedProcess[str]:
    """What a fresh process says, which has these folders on its path."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (*path, ROOT)))}
    return subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True)


def simtrain(*words: str, folder: Path, path: tuple[Path, ...] = ()) -> str:
    done = python("-m", "simtrain", *words, folder=folder, path=path)
    assert done.returncode == 0, done.stderr
    return done.stdout


def new_plugin(*words: str) -> int:
    """The exit code of the command in this process."""
    with pytest.raises(SystemExit) as ended:
        main(["new", "plugin", *words])
    return int(ended.value.code or 0)


def write_packages(folder: Path, kinds: list[str]) -> tuple[Path, ...]:
    """A package of each kind, as the command writes it and as pip would install it."""
    for kind in kinds:
        package = folder / f"own_{kind}"
        assert new_plugin(kind, f"own_{kind}", "--into", str(package)) == 0
        points = tomllib.loads((package / "pyproject.toml").read_text())["project"]["entry-points"]
        write_entry_points(package, points, name=f"own_{kind}")
    return tuple(folder / f"own_{kind}" for kind in kinds)


@pytest.mark.full
def test_the_tests_that_are_written_pass_before_anything_is_installed(tmp_path: Path) -> None:
    folders = [tmp_path / f"own_{kind}" for kind in WRITTEN]
    for kind, folder in zip(WRITTEN, folders, strict=True):
        assert new_plugin(kind, folder.name, "--into", str(folder)) == 0
        files = ["pyproject.toml", f"simtrain_{folder.name}.py", f"test_{folder.name}.py"]
        assert sorted(path.name for path in folder.iterdir()) == files
    plain = ("-m", "pytest", "-p", "no:cacheprovider", "-p", "no:asyncio")
    one = python(*plain, folder=folders[0])
    assert one.returncode == 0 and "2 passed" in one.stdout, one.stdout + one.stderr
    paths = " ".join(map(str, folders))
    tried = python(*plain, "-c", os.devnull, "--rootdir", ".", "-o", f"pythonpath={paths}", ".", folder=tmp_path)
    assert tried.returncode == 0 and f"{2 * len(WRITTEN)} passed" in tried.stdout, tried.stdout + tried.stderr


def test_a_package_of_ones_own_is_listed_and_plays(tmp_path: Path) -> None:
    path = write_packages(tmp_path, PLAYED)
    listed = simtrain("list", "perturbations", "--json", folder=tmp_path, path=path)
    (row,) = [row for row in json.loads(listed) if row["name"] == "own_perturbation"]
    assert row["about"] == "The reply breaks off: the higher the severity, the earlier." and not row["shipped"]
    assert row["right_response"] == "read again, or ask for less"
    write_files(
        tmp_path,
        more="  - {use: own_grader, with: {calls: 0}}\ndomain: own_domain\n"
        "perturbations: [{use: own_perturbation, when: {nth: 1}}]\n",
    )
    words = ("birthday.yaml", "--agent", "own_agent", "--episodes", "1", "--out", "out")
    simtrain("run", *words, folder=tmp_path, path=path)
    line = json.loads(next((tmp_path / "out").glob("trajectories-*.jsonl")).read_text())
    (step,) = line["turns"][0]["steps"]
    assert step["events"][0]["use"] == "own_perturbation" and line["stop"]["reason"] == "abstained"
    assert {"own_grader": 0.9}.items() <= {reward["grader"]: reward["value"] for reward in line["rewards"]}.items()
    simtrain("export", "out", "--format", "own_exporter", "--out", "rows.jsonl", folder=tmp_path, path=path)
    assert json.loads((tmp_path / "rows.jsonl").read_text())["prompt"] == line["prompt"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("grade", "few_calls"), "there is no kind of plug-in 'grade'; did you mean 'grader'?"),
        (("world", "harbour"), "a new world takes more than one file"),
        (("grader", "Few-Calls"), "'Few-Calls' cannot be the name of a plug-in; use small letters, digits and underscores"),
        (("grader", "class"), "'class' cannot be the name of a plug-in"),
        (("grader", "judge"), "there is a grader 'judge' already; choose another name"),
        (("grader", "taken"), "taken: the folder is already there; choose another with --into"),
        (("grader", "few_calls", "--into", "taken/file/below"), "cannot be written"),
        (("grader", "few_calls", "--into", "x", "--in-tree"), "--into makes a package, and --in-tree does not"),
        (("grader", "few_calls", "--in-tree"), "this is not a checkout of simtrain"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_nothing_is_written(
    words: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    assert new_plugin(*words) == 2
    told = capsys.readouterr().err
    assert said in told and len(told.splitlines()) == 1
    assert [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*"))] == ["taken", "taken/file"]
