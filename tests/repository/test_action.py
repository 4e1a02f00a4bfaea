"""The action for GitHub: its steps run in bash as the runner would run them, and no input reaches a script as code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from drills import write_bakery

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "actions" / "drill" / "action.yml").read_text())
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]


def test_no_script_holds_an_expression_and_every_input_is_used() -> None:
    assert ACTION["runs"]["using"] == "composite"
    assert [step for step in STEPS if "run" in step and ("${{" in step["run"] or step["shell"] != "bash")] == []
    used = set(re.findall(r"inputs[.]([\w-]+)", str(STEPS)))
    assert used == set(ACTION["inputs"])
    assert all("default" in one or one["required"] for one in ACTION["inputs"].values())


def test_every_input_and_output_is_documented() -> None:
    told = (ROOT / "docs" / "testing.md").read_text().partition("## A job on GitHub")[2]
    assert set(re.findall(r"`([\w-]+)`", "".join(re.findall(r"^\| (`[^|]+) \|", told, re.MULTILINE)))) == set(
        ACTION["inputs"]
    )
    assert all(f"`{name}`" in told for name in ACTION["outputs"])


def carried_out(folder: Path, **inputs: str) -> tuple[int, str]:
    """Run the steps with these inputs, until one fails: its exit code, and the summary."""
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    # Installing is only recorded: it would take minutes.
    for name, line in {
        "python": f'printf "%s\\n" "$@" >"{folder}/asked"',
        "simtrain": f'exec {sys.executable} -m simtrain "$@"',
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(0o755)
    given = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
    given |= {name.replace("_", "-"): value for name, value in inputs.items()}
    environment = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests" / "support"))),
        "RUNNER_TEMP": str(folder),
        "GITHUB_ACTION_PATH": str(ROOT / ".github" / "actions" / "drill"),
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
    }
    code = 0
    for step in STEPS:
        if "run" not in step or code:
            continue
        variables = {
            name: re.sub(r"\$\{\{ inputs[.]([\w-]+) \}\}", lambda found: given[found[1]], value)
            for name, value in step["env"].items()
        }
        script = folder / "step.sh"
        script.write_text(step["run"])
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        done = subprocess.run(shell, cwd=folder, env=environment | variables, capture_output=True, text=True)
        code = done.returncode
    summary = folder / "summary"
    return code, summary.read_text() if summary.exists() else ""


def test_a_drill_is_played_summarised_and_judged(tmp_path: Path) -> None:
    write_bakery(tmp_path)
    given = {"scenarios": "birthday.yaml\n", "packs": "rough\nslow", "agent": "drills:Blind", "cases": "2"}
    code, summary = carried_out(tmp_path, **given, fail_on="success<0.9\nclean:success<1")
    assert code == 1 and "**Failed:**" in summary and "`rough/timeout_after`" in summary and "`slow`" in summary
    assert (tmp_path / "asked").read_text().split()[:5] == ["-m", "pip", "install", "--quiet", "--"]
    out = Path((tmp_path / "output").read_text().strip().removeprefix("folder="))
    uploaded = [line.partition("}}/")[2] for line in STEPS[-1]["with"]["path"].splitlines()]
    assert len(uploaded) == 5 and all((out / name).is_file() for name in uploaded)
    assert ElementTree.parse(out / "drill.xml").getroot().attrib["failures"] == "1"
    code, _ = carried_out(tmp_path, scenarios="birthday.yaml", packs="rough", cases="2", fail_on="success<0.9")
    assert code == 0


@pytest.mark.parametrize(
    "name", ["scenarios", "agent", "packs", "fail_on", "cases", "attempts", "seed", "simtrain", "install"]
)
def test_no_input_is_carried_out(name: str, tmp_path: Path) -> None:
    write_bakery(tmp_path)
    given = {"scenarios": "birthday.yaml", "packs": "rough", "cases": "1"}
    hostile = "$(touch owned) `touch owned`\"; touch owned; '\n--help\n; touch owned"
    carried_out(tmp_path, **{**given, name: hostile})
    assert not (tmp_path / "owned").exists()
