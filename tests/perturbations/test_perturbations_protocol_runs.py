"""Perturbations of the protocol in whole runs: the same bytes everywhere, the same over MCP, and delays that are waited for."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from bakery import SCENARIO, WORLD
from mcp import Client
from serving_bakery import bakery_scenario, serving

from simtrain import load_scenarios, run
from simtrain.contracts.trajectory import Trajectory
from simtrain.runs.episode_host import HostOptions
from simtrain.runs.run_folder import read_run

pytestmark = pytest.mark.slow

USES: dict[str, dict[str, Any]] = {
    "timeout_before": {"when": {"probability": 0.4}},
    "rate_limit": {"when": {"nth": 2}},
    "quota_exhausted": {"when": {"nth": 2}},
    "transient_error": {"when": {"probability": 0.4}},
    "outage": {"when": {"tools": "orders.list", "nth": 1}},
    "flapping": {},
    "auth_expired": {"when": {"nth": 2}},
    "strict_validation": {},
    "argument_drift": {"with": {"rename": {"cake_id": "product"}}},
    "malformed_output": {"when": {"probability": 0.5}},
    "malformed_result": {"protocol": True, "when": {"probability": 0.5}},
    "empty_success": {"when": {"nth": 1}},
    "missing_fields": {},
    "type_coercion": {},
    "unit_drift": {},
    "oversized_output": {"with": {"characters": 2000}},
    "forced_pagination": {"with": {"page_size": 1}},
    "surface_stress": {},
    "name_collision": {},
    "renamed_tools": {},
    "misleading_annotation": {},
}
RECOVERED = {
    "timeout_before", "rate_limit", "transient_error", "flapping", "type_coercion", "unit_drift", "oversized_output", "name_collision",
    "misleading_annotation",
}  # fmt: skip
"""Those that an agent with general skills survives on this task in every case."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One scenario for every perturbation."""
    found = tmp_path_factory.mktemp("scenarios")
    (found / "bakery.yaml").write_text(WORLD)
    for name, more in USES.items():
        perturbations = f"perturbations: [{json.dumps({'use': name, **more})}]\n"
        text = SCENARIO.format(world="bakery.yaml", more=perturbations)
        (found / "drills").mkdir(exist_ok=True)
        text = text.replace("name: birthday", f"name: {name}").replace("world: bakery.yaml", "world: ../bakery.yaml")
        (found / "drills" / f"{name}.yaml").write_text(text)
    return found / "drills"


def lines(folder: Path, out: Path, *options: str, **environment: str) -> dict[tuple[str, str], dict[str, Any]]:
    """What a run in a process of its own writes, without its timing."""
    command = (sys.executable, "-m", "simtrain", "run", str(folder), "--out", str(out), "--json", *options)
    subprocess.run(command, env={**os.environ, **environment}, check=True, stdout=subprocess.DEVNULL, timeout=300)
    rows = [json.loads(line) for part in out.glob("trajectories-*.jsonl") for line in part.read_text().splitlines()]
    return {(row["scenario"], row["episode"]): {**row, "timing": None} for row in rows}


@pytest.mark.full
def test_other_processes_and_clients_of_mcp_meet_the_same(folder: Path, tmp_path: Path) -> None:
    options = ("--episodes", str(3 * len(USES)))
    first = lines(folder, tmp_path / "first", *options, PYTHONHASHSEED="0")
    other = lines(folder, tmp_path / "other", *options, "--workers", "2", PYTHONHASHSEED="1")
    assert len(first) == 3 * len(USES) and first == other
    served = lines(folder, tmp_path / "served", *options, "--via", "mcp_in_process", PYTHONHASHSEED="2")
    # What client libraries refuse is all that looks otherwise to them.
    assert {key for key in first if first[key] != served.get(key)} <= {
        key for key in first if key[0] == "malformed_result"
    }


def played(folder: Path, out: Path, agent: str) -> list[Trajectory]:
    run(load_scenarios(str(folder)), agent, out=out, episodes=4 * len(USES))
    return list(read_run(out))


def test_every_perturbation_fires_and_is_recorded(folder: Path, tmp_path: Path) -> None:
    found = played(folder, tmp_path / "run", "oracle")
    fired = {
        row.scenario for row in found for step in row.steps for event in step.events if event.clean != event.perturbed
    }
    bent = {row.scenario for row in found if row.bent}
    assert fired | bent == USES.keys()
    assert all(row.stop.blame != "simulator" for row in found)


def test_a_resilient_agent_survives_what_can_be_survived_by_general_skills(folder: Path, tmp_path: Path) -> None:
    found = played(folder, tmp_path / "run", "resilient")
    lost = {row.scenario for row in found if row.reward != 1.0}
    assert not lost & RECOVERED


DELAY = "perturbations: [{use: latency, with: {seconds: 0.2, jitter: 0}}]\nlimits: {call: 0.1}\n"


def test_delays_are_virtual_unless_they_are_to_be_waited_for(tmp_path: Path) -> None:
    file = str(bakery_scenario(tmp_path, more=DELAY).document.path)
    rows: list[dict[str, Any]] = []
    for number, options in enumerate(((), ("--real-time",))):
        (found,) = lines(Path(file), tmp_path / str(number), "--episodes", "1", "--agent", "oracle", *options).values()
        rows.append(found)
    assert rows[0] == rows[1]
    played = next(read_run(tmp_path / "1"))
    # A client with a patience of 0.1 seconds waits no longer. How fast a machine is without waiting is no matter here.
    assert len(played.steps) * 0.1 <= played.timing["playing"]


async def test_a_served_episode_waits_for_delays_where_it_is_told_to(tmp_path: Path) -> None:
    scenario = bakery_scenario(tmp_path, more=DELAY)
    async with (
        serving([scenario], HostOptions(real_time=True)) as served,
        Client(f"{served.door.url}/mcp") as client,
    ):
        begun = time.perf_counter()
        async with asyncio.timeout(30):
            late = await client.call_tool("cakes__list", {})
        assert time.perf_counter() - begun >= 0.1
        assert late.is_error and "timed out after 0.1 seconds" in late.content[0].text
