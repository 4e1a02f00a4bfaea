"""What is run by hand, at a commit and in continuous integration is the same, and what is written about a release agrees with it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

import yaml
from coverage_table import table

ROOT = Path(__file__).parents[2]


def recipes() -> dict[str, list[str]]:
    """The commands of each target of the Makefile, with $(BIN) written out."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in (ROOT / "Makefile").read_text().splitlines():
        if target := re.match(r"([a-z][a-z-]*):", line):
            lines = found.setdefault(target[1], [])
        elif line.startswith("\t"):
            lines.append(line.strip().replace("$(BIN)", ".venv/bin"))
        elif not line.strip():
            lines = []
    return found


def prerequisites(target: str) -> list[str]:
    line = re.search(rf"^{target}: *([^#\n]*)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert line is not None, target
    return line[1].split()


def hooks() -> list[dict[str, Any]]:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    return [hook for repository in config["repos"] for hook in repository["hooks"]]


def workflow_steps() -> list[str]:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    return [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]


def checked_before_tests() -> list[str]:
    """The commands that `make test` runs before the tests; the files that they are given at the end are left out."""
    commands = chain.from_iterable(recipes()[target] for target in prerequisites("test"))
    return [command.rpartition("| xargs -0 ")[2].removesuffix(" .") for command in commands]


def test_a_commit_is_checked_by_the_commands_of_make_test_and_no_others() -> None:
    assert sorted(hook["entry"] for hook in hooks()) == sorted(checked_before_tests())
    assert {hook["language"] for hook in hooks()} == {"system"}


def test_the_workflow_runs_targets_of_the_makefile_and_all_that_the_local_run_does() -> None:
    steps = workflow_steps()
    assert all(step.startswith("make ") for step in steps), steps
    made = set(re.findall(r"^([.\w/-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {step.removeprefix("make ") for step in steps} <= made
    local = re.findall(r"^make \S+", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert local and set(local) <= set(steps)


def test_the_workflow_tries_every_version_that_the_package_says_it_runs_on() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    said = [text.rpartition(" ")[2] for text in project["classifiers"] if re.search(r":: 3\.\d+$", text)]
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    matrix = workflow["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python"] == said
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos"}


def test_the_citation_names_the_version_and_the_licence_of_the_package() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (citation["version"], citation["license"]) == (project["version"], project["license"])


def test_the_contributing_guide_names_every_target_and_only_those() -> None:
    named = set(re.findall(r"`make ([a-z-]+)", (ROOT / "CONTRIBUTING.md").read_text()))
    assert named == set(recipes()) - {"help", "clean"}


def test_issue_forms_ask_for_something_under_names_that_differ() -> None:
    forms = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    for form in (yaml.safe_load(path.read_text()) for path in forms if path.name != "config.yml"):
        asked = [item for item in form["body"] if item["type"] != "markdown"]
        assert form["name"] and form["description"]
        assert len({item["id"] for item in asked}) == len(asked)
        assert any(item.get("validations", {}).get("required") for item in asked)


def test_words_that_are_wrong_are_found_and_those_that_tests_misspell_are_not(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    wrong = "reci" + "eves"
    file.write_text(f"An agent that {wrong} the colour of an adress.\n")
    command = [sys.executable, "-m", "codespell_lib", "--toml", str(ROOT / "pyproject.toml")]
    done = subprocess.run(
        [*command, "--ignore-words", "tests/support/misspelt.txt", file],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode and re.findall(r"(\w+) ==>", done.stdout) == [wrong]


def test_the_table_of_coverage_adds_up_the_lines_of_each_folder() -> None:
    files = {
        "simtrain/values/errors.py": (10, 10),
        "simtrain/grading/graders/answer.py": (30, 15),
        "simtrain/grading/graders/final/state.py": (10, 5),
    }
    report = {
        "files": {
            name: {"summary": {"num_statements": lines, "covered_lines": run}} for name, (lines, run) in files.items()
        }
    }
    rows = [row.split() for row in table(json.loads(json.dumps(report)))]
    assert rows == [
        ["folder", "lines", "run"],
        ["grading/", "40", "50.0%"],
        ["values/", "10", "100.0%"],
        ["all", "50", "60.0%"],
    ]
