"""Harbor itself plays exported folders, and one of its own kind, in our environment: the oracle earns 1, nop 0; and agrees with simtrain.

Harbor is in an environment of its own, `make .venv/.harbor`. Without it, or without bubblewrap, the tests skip and say so.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from harbor_folders import STEPS, write_harbor

from simtrain import load_scenario, rollout
from simtrain.integrations.harbor.exporting import write_harbor_folder
from simtrain.worlds.sandbox.bubblewrap import BubblewrapSandbox

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
ENVIRONMENT = "simtrain.integrations.harbor:Environment"
CASES = {
    "helpdesk/refund": "service",
    "shop_site/buy_with_voucher": "app",
    "terminal/private_files_frozen": "machine",
    "fiction/kestrel_lookups": "search",
}
"""A scenario of each kind of world."""
ALONE = ["features", "refactorings", "merges", "find_commit", "ledger_regressions"]
"""Families about repositories, whose cases are folders without a world beside them; each has graders or a solution of another kind."""
if os.environ.get("SIMTRAIN_FULL"):
    ALONE += ["rota_bugs", "confit_bugs", "inkwell_bugs", "trellis_bugs", "sieve_bugs", "ledger_bugs"]


@pytest.fixture(scope="module")
def harbor() -> Path:
    found = Path(os.environ.get("SIMTRAIN_HARBOR", ROOT / ".venv" / "harbor" / "bin" / "harbor"))
    probe = BubblewrapSandbox().probe()
    reason = probe.found if not probe.ok else "" if found.is_file() else "`make .venv/.harbor` installs it"
    if reason:
        pytest.skip(f"HARBOR HAS NOT PLAYED: {reason}")
    return found


def harbor_job(harbor: Path, tasks: Path, agent: str, out: Path) -> dict[str, dict[str, float]]:
    """Play all folders below `tasks`; return the rewards by the name of the task."""
    command = [
        harbor,
        "run",
        "-p",
        tasks,
        "-a",
        agent,
        "-e",
        ENVIRONMENT,
        "-o",
        out,
        "--job-name",
        agent,
        "-n",
        "1",
        "-y",
        "-q",
    ]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "HARBOR_TELEMETRY": "0", "NO_COLOR": "1"}
    ran = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=env, timeout=600, cwd=out.parent)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
    found: dict[str, dict[str, float]] = {}
    for path in sorted((out / agent).glob("*/result.json")):
        result = json.loads(path.read_text())
        assert result["exception_info"] is None, result["exception_info"]
        found[result["task_name"]] = result["verifier_result"]["rewards"]
    return found


def findings(harbor: Path, tasks: Path, copies: Path) -> set[str]:
    """What Harbor's linter says of task.toml and the files; services it checks only with a plug-in of Docker, so they are left out."""
    shutil.copytree(tasks, copies, ignore=shutil.ignore_patterns("docker-compose.yaml"))
    command = [harbor, "lint", *sorted(copies.iterdir()), "--json"]
    linted = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120)
    return {finding["rule"] for finding in json.loads(linted.stdout)} - {
        "unpinned-image",
        "root-agent",
        "shared-verifier",
    }


async def test_harbor_plays_a_case_of_each_kind_of_world(harbor: Path, tmp_path: Path) -> None:
    tasks = tmp_path / "tasks"
    for name in CASES:
        scenario = load_scenario(name)
        assert scenario.source.kind == CASES[name]
        await write_harbor_folder(scenario, tasks)
    await played(harbor, tasks, tmp_path)


async def test_harbor_plays_a_case_of_each_family_about_repositories(harbor: Path, tmp_path: Path) -> None:
    tasks = tmp_path / "tasks"
    for name in ALONE:
        written = await write_harbor_folder(load_scenario(f"swe/{name}"), tasks)
        assert written.alone, f"{name}: {written.because}"
    await played(harbor, tasks, tmp_path)


async def played(harbor: Path, tasks: Path, tmp_path: Path) -> None:
    """Harbor finds no fault with any folder, the oracle earns 1 in each, and `nop` 0."""
    assert findings(harbor, tasks, tmp_path / "linted") == set()
    earned = harbor_job(harbor, tasks, "oracle", tmp_path / "jobs")
    assert len(earned) == len(list(tasks.iterdir()))
    assert set(map(str, earned.values())) == {"{'reward': 1.0}"}
    idle = harbor_job(harbor, tasks, "nop", tmp_path / "jobs")
    assert idle == {name: {"reward": 0.0} for name in earned}


async def test_harbor_and_simtrain_give_the_same_rewards_for_a_task_of_steps(harbor: Path, tmp_path: Path) -> None:
    task = {**STEPS, "task.toml": STEPS["task.toml"].replace("min_reward = 0.5\n", "")}
    folder = write_harbor(tmp_path / "tasks" / "steps", task)
    for agent in ("oracle", "nop"):
        ours = (await rollout(load_scenario(folder), agent)).rewards[0]
        theirs = harbor_job(harbor, folder.parent, agent, tmp_path / "jobs")["steps"]
        assert {"reward": ours.value, **ours.detail["rewards"]} == theirs
