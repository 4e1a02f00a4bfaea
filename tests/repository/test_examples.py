"""Every example runs as it says, without keys, and its agents earn the reward."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
KEYS = re.compile(r".*(API_KEY|BASE_URL)|(LANGSMITH|LANGCHAIN)_.*")


def run(*words: str, folder: Path = ROOT) -> str:
    """What a Python process says; without any key in its environment."""
    environment = {name: value for name, value in os.environ.items() if not KEYS.fullmatch(name)}
    environment["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(
        [sys.executable, "-W", "error", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_its_episodes_succeed(example: Path) -> None:
    said = run(str(example))
    assert len(said.splitlines()) > 1
    assert "reward 1.0" in said and "failed" not in said


@pytest.mark.parametrize(
    "agent", ["own_function_agent:refund_clerk", "own_langgraph_agent:graph"], ids=lambda name: name.partition(":")[0]
)
def test_an_example_s_agent_can_be_named_on_the_command_line(agent: str, tmp_path: Path) -> None:
    said = run(
        "-m", "simtrain", "run", "helpdesk/refund", "--agent", agent, "--episodes", "4", "--out", str(tmp_path / "run"),
        "--json", folder=ROOT / "examples",
    )  # fmt: skip
    assert json.loads(said)["total"]["mean_reward"] == 1.0


def test_examples_use_the_public_face_alone() -> None:
    allowed = {
        "simtrain",
        "simtrain.contracts.agent",
        "simtrain.values.types",
        "simtrain.contracts.trajectory",
        "simtrain.testing",
    }
    allowed |= {"simtrain.agents.langchain_tools", "simtrain.agents.langchain_middleware"}
    used = {
        name for example in EXAMPLES for name in re.findall(r"^from (simtrain\S*) import", example.read_text(), re.M)
    }
    assert used <= allowed and "simtrain" in used
