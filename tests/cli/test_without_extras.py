"""What ships without an extra plays without one: a run in which no package of the extras can be imported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from simtrain.scenarios.find import shipped_scenarios

pytestmark = pytest.mark.slow

EXTRAS = ("pygit2", "wasmtime", "torch", "transformers", "trl", "xllamacpp", "gguf", "playwright", "docker", "pyarrow")
NEEDING = ("swe", "terminal_git", "terminal_python")
"""Suites that say in their docs which extra they need."""
PLAYED = sorted({name.partition("/")[0] for name in shipped_scenarios()} - {*NEEDING, "fiction"})
BLOCKED = f"""
import runpy, sys
from importlib import util
found = util.find_spec
util.find_spec = lambda name, *rest: None if name in {EXTRAS!r} else found(name, *rest)
sys.modules.update(dict.fromkeys({EXTRAS!r}))
sys.argv = ["simtrain", *sys.argv[1:]]
runpy.run_module("simtrain", run_name="__main__")
"""


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The command, in a process that has no extras."""
    command = [sys.executable, "-c", BLOCKED, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.full
def test_every_suite_without_an_extra_plays_without_one(tmp_path: Path) -> None:
    one_each = [next(name for name in shipped_scenarios() if name.startswith(f"{suite}/")) for suite in PLAYED]
    done = run("run", *one_each, "--episodes", str(len(one_each)), "--json", "--out", "runs", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["played"] == len(one_each) > 10


@pytest.mark.parametrize("suite", NEEDING)
def test_a_suite_that_needs_one_names_it_in_one_line(suite: str, tmp_path: Path) -> None:
    done = run("run", suite, "--out", "runs", folder=tmp_path)
    assert done.returncode == 2
    assert "pip install 'simtrain[" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()
