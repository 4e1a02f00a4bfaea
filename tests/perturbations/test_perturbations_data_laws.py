"""What holds for all perturbations of data: what they declare, that they leave no trace where they do not fire, same seed same bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from bakery import scenario, write_files

from simtrain import open_episode, rollout
from simtrain.contracts.perturbation import Perturbation
from simtrain.contracts.registry import resolve
from simtrain.contracts.trajectory import to_line
from simtrain.episodes.proxy import Proxy
from simtrain.values.types import Action

pytestmark = pytest.mark.slow

SQL = {"sql": ["update cakes set stock = stock + 1 where id = 'K001'"]}
LAYERS = {
    "timeout_after": "D",
    "partial_update": "D",
    "cascade": "D",
    "permission_denied": "D",
    "not_found": "D",
    "partial_results": "D",
    "partial_batch_failure": "D",
    "delayed_visibility": "D",
    "stale_read": "D",
    "duplicate_delivery": "D",
    "value_corruption": "D",
    "source_conflict": "D",
    "false_success": "D",
    "impossible_task": "D",
    "risky_state": "D",
    "contrastive_state": "D",
    "resource_exhausted": "H",
    "missing_dependency": "H",
    "hidden_answer": "H",
    "withheld_intermediate": "H",
    "premature_finish_trap": "H",
    "wrong_entity": "H",
}
SILENT = {
    "partial_results", "delayed_visibility", "stale_read", "duplicate_delivery", "value_corruption", "source_conflict",
    "false_success", "risky_state", "contrastive_state", "premature_finish_trap", "wrong_entity",
}  # fmt: skip
OFFERING = {"missing_dependency", "hidden_answer", "withheld_intermediate", "permission_denied", "resource_exhausted"}


def used(use: str, **when: Any) -> dict[str, Any]:
    knobs = {"with": SQL} if use.endswith("_state") else {}
    return {"use": use, **knobs, "when": when}


@pytest.mark.parametrize("use", LAYERS)
def test_every_name_resolves_and_declares_what_the_catalogue_says(use: str) -> None:
    plugin = cast(type[Perturbation], resolve("perturbations", use))
    assert (plugin.traits.layer, plugin.traits.visible, plugin.traits.semantic) == (
        LAYERS[use],
        use not in SILENT,
        True,
    )
    assert plugin.traits.recoverable_by and plugin.traits.side in ("call", "reply", "state")
    assert plugin.__doc__ and "Source: " in plugin.__doc__ and "An agent should" in plugin.__doc__


@pytest.mark.parametrize("use", sorted(LAYERS.keys() - {"contrastive_state"}))
async def test_one_that_cannot_fire_leaves_no_trace(use: str, tmp_path: Path) -> None:
    clean = await rollout(scenario(tmp_path), "oracle")
    armed = await rollout(scenario(tmp_path, more=f"perturbations: {json.dumps([used(use, nth=999)])}\n"), "oracle")
    tools = clean.tools if use in OFFERING else armed.tools
    alike = (
        replace(one, timing={}, scenario_digest="", perturbations=(), bent=(), tools=tools, noticeable=None)
        for one in (clean, armed)
    )
    assert len({to_line(one) for one in alike}) == 1
    assert (clean.tools == armed.tools) is (use not in OFFERING)


@pytest.mark.parametrize("use", LAYERS)
async def test_every_reply_of_a_whole_episode_is_recorded_or_refused_and_never_breaks_down(
    use: str, tmp_path: Path
) -> None:
    trajectory = await rollout(scenario(tmp_path, more=f"perturbations: {json.dumps([used(use)])}\n"), "resilient")
    assert trajectory.stop.reason in ("answered", "abstained")
    shown = [trajectory.system, trajectory.prompt, *(step.observation.text for step in trajectory.steps)]
    # `permission_denied` is what services call it too.
    told = {use, "simulat", "perturb"} - {"permission_denied"}
    assert not any(word in text.lower() for text in shown for word in told)


def lines(folder: Path, out: Path, hashes: str) -> list[bytes]:
    command = (
        sys.executable,
        "-m",
        "simtrain",
        "run",
        "birthday.yaml",
        "--agent",
        "resilient",
        "--out",
        str(out),
        "--json",
    )
    environment = {**os.environ, "PYTHONHASHSEED": hashes}
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=120)
    found = [line for part in out.glob("trajectories-*.jsonl") for line in part.read_bytes().splitlines()]
    return sorted(line.partition(b',"timing":')[0] for line in found)


def test_two_processes_write_the_same_bytes(tmp_path: Path) -> None:
    all_of_them = [used(use, probability=0.3) for use in LAYERS]
    write_files(tmp_path, more=f"perturbations: {json.dumps(all_of_them)}\n")
    one, other = (lines(tmp_path, tmp_path / f"run{hashes}", hashes) for hashes in ("0", "1"))
    assert one == other and len(one) == 12
    fired = {event["use"] for line in one for event in events(line)}
    assert len(fired) > 11


def events(line: bytes) -> list[dict[str, Any]]:
    turns = json.loads(line + b"}")["turns"]
    return [event for turn in turns for step in turn["steps"] for event in step.get("events", [])]


@pytest.mark.parametrize("use", ["delayed_visibility", "stale_read", "not_found", "cascade", "resource_exhausted"])
async def test_a_forked_episode_goes_on_as_the_first_one_does(use: str, tmp_path: Path) -> None:
    before = [
        Action("a", "orders.list", {"cake_id": "K001"}),
        Action("b", "orders.place", {"cake_id": "K001", "amount": 1}),
    ]
    after = [*before, Action("c", "cakes.list", {}), *before]
    perturbation = used(use, tools="orders.place" if use != "stale_read" else "orders.list", nth=[1, 2])
    environment = open_episode(scenario(tmp_path, more=f"perturbations: {json.dumps([perturbation])}\n"))
    assert isinstance(environment, Proxy)
    async with environment:
        for action in before:
            await environment.step(action)
        async with await environment.fork() as other:
            seen = [[await each.step(action) for action in after] for each in (environment, other)]
    assert seen[0] == seen[1] and environment.steps == other.steps
