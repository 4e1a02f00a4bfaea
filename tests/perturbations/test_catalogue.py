"""The whole catalogue of perturbations: every one resolves, fires, leaves no trace where it cannot, and is the same everywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from catalogue import CALLS, CATALOGUE, ROWS, SHIPPED, Place, Walker, write_row
from marking import first_here
from mcp import Client, MCPError
from pydantic import ValidationError as PydanticError
from serving_bakery import serving

from simtrain import as_agent, load_scenario, rollout, run
from simtrain.contracts.perturbation import Armed, Perturbation, right_response
from simtrain.contracts.registry import resolve
from simtrain.contracts.trajectory import Trajectory, to_line
from simtrain.mcp.relay.http_relay import HttpRelay
from simtrain.mcp.relay.journal import RelayJournal
from simtrain.mcp.relay.perturb import Perturber, RelayRules, load_perturbations
from simtrain.mcp_wire.targets import HttpTarget
from simtrain.runs.run_folder import read_run
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject

pytestmark = pytest.mark.slow

EVERY = pytest.mark.parametrize("name", ROWS)


def timeless(trajectory: Trajectory) -> bytes:
    return to_line(replace(trajectory, timing={}))


async def walked(folder: Path, name: str, **when: object) -> Trajectory:
    """What the walker meets with one perturbation."""
    file = write_row(folder, "walk", [ROWS[name].written(name, **when)], frame=ROWS[name].frame)
    return await rollout(load_scenario(file), as_agent(Walker))


@pytest.mark.parametrize("name", SHIPPED)
def test_a_name_that_ships_resolves_and_declares_what_the_catalogue_says(name: str) -> None:
    plugin = cast(type[Perturbation], resolve("perturbations", name))
    assert plugin.traits.layer in SHIPPED[name]
    assert plugin.traits.semantic is (name != "malformed_result")
    assert "Source: " in (plugin.__doc__ or "") and right_response(plugin)


def test_the_catalogue_has_55_names() -> None:
    assert len(CATALOGUE) == 55


@EVERY
def test_a_name_declares_where_it_acts_and_how_hard(name: str) -> None:
    plugin = cast(type[Perturbation], resolve("perturbations", name))
    assert plugin.traits.side in ("request", "manifest", "call", "reply", "state")
    assert plugin.traits.effect in ("before", "after", "none") and plugin.traits.recoverable_by
    assert {"severity"} <= set(plugin.model_fields)


@EVERY
async def test_it_fires_and_says_so(name: str, tmp_path: Path) -> None:
    trajectory = await walked(tmp_path, name)
    assert trajectory.stop.reason == "answered", trajectory.stop
    events = [event for step in trajectory.steps for event in step.events]
    bent = [event for event in events if event.clean != event.perturbed]
    changed = cast(type[Perturbation], resolve("perturbations", name)).traits.side == "state" and bool(events)
    late = name == "latency" and bool(events)
    assert bent or trajectory.bent == (name,) or changed or late
    layers = SHIPPED.get(name, "PDMH")
    assert all((event.label, event.use, event.layer in layers) == (name, name, True) for event in events)


@EVERY
async def test_one_that_cannot_fire_leaves_the_same_bytes(name: str, tmp_path: Path) -> None:
    clean = await rollout(load_scenario(write_row(tmp_path, "walk", [], frame=ROWS[name].frame)), as_agent(Walker))
    armed = await walked(tmp_path, name, probability=0)
    assert armed.perturbations == (name,)
    alike = {timeless(replace(one, scenario_digest="", perturbations=())) for one in (clean, armed)}
    assert len(alike) == 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scenario for every row."""
    found = tmp_path_factory.mktemp("rows")
    (found / "rows").mkdir()
    for name, row in ROWS.items():
        write_row(found / "rows", name, [row.written(name)], cases=1, frame=row.frame, worlds="../")
    return found


@pytest.fixture(scope="module")
def plain(folder: Path) -> dict[tuple[str, str], bytes]:
    """What a run in this process writes for every row."""
    run([load_scenario(file) for file in sorted((folder / "rows").glob("*.yaml"))], Walker(), out=folder / "plain")
    return lines(folder / "plain")


def lines(out: Path) -> dict[tuple[str, str], bytes]:
    named = {"name": "walker"}
    found = {(one.scenario, one.episode): timeless(replace(one, agent=named)) for one in read_run(out)}
    assert len(found) == len(ROWS)
    return found


@pytest.mark.parametrize("via", ["mcp", "mcp_in_process"])
def test_all_agree_in_process_and_over_mcp(via: str, folder: Path, plain: dict[tuple[str, str], bytes]) -> None:
    scenarios = [load_scenario(file) for file in sorted((folder / "rows").glob("*.yaml"))]
    run(scenarios, Walker(), out=folder / via, via=via)
    served = lines(folder / via)
    differing = {scenario for scenario, episode in plain if plain[scenario, episode] != served[scenario, episode]}
    # What is no tool result at all looks otherwise to those who read it through a client library.
    assert differing <= {"malformed_result"}


@pytest.mark.parametrize(("hashes", "workers"), [("1", "1"), ("2", "2")])
def test_all_are_the_same_in_other_processes(
    hashes: str, workers: str, folder: Path, plain: dict[tuple[str, str], bytes]
) -> None:
    out = folder / f"hashed-{hashes}"
    command = (sys.executable, "-m", "simtrain", "run", "rows", "--agent", "catalogue:Walker", "--workers", workers)
    environment = {**os.environ, "PYTHONHASHSEED": hashes, "PYTHONPATH": str(Path(__file__).parents[1] / "support")}
    subprocess.run(
        [*command, "--out", str(out), "--json"],
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
        timeout=300,
    )
    other = lines(out)
    assert {key for key in plain if plain[key] != other[key]} == set()


def test_a_whole_pack_of_them_shares_its_schedule_between_arms_and_agents(folder: Path, tmp_path: Path) -> None:
    """What fires alone fires on the same calls among all others, but for those that another one keeps from it."""
    chance = {"probability": 0.5}
    alone = {"transient_error", "latency", "timeout_after", "distracting_text", "value_corruption"}
    schedules: list[dict[str, list[tuple[str, int]]]] = []
    for names in (*([name] for name in sorted(alone)), sorted(alone)):
        file = write_row(tmp_path, "walk", [ROWS[name].written(name, **chance) for name in names])
        run([load_scenario(file)], Walker(), out=tmp_path / "-".join(names)[:40] / "run")
        fired: dict[str, list[tuple[str, int]]] = {name: [] for name in names}
        for trajectory in read_run(tmp_path / "-".join(names)[:40] / "run"):
            for step in trajectory.steps:
                for event in step.events:
                    fired[event.label].append((trajectory.episode, step.index))
        schedules.append(fired)
    together = schedules[-1]
    for one in schedules[:-1]:
        for name, found in one.items():
            assert set(together[name]) <= set(found)
            assert set(found) - set(together[name]) <= {*together["transient_error"], *together["timeout_after"]}
    assert sum(map(len, together.values())) > 10


@EVERY
def test_severity_is_a_dial_from_0_to_1(name: str) -> None:
    plugin = cast(type[Perturbation], resolve("perturbations", name))
    for severity, taken in ((0, True), (0.25, True), (1, True), (1.01, False), (-0.1, False)):
        knobs = {**ROWS[name].use.get("with", {}), "severity": severity}
        try:
            assert (plugin.model_validate(knobs).severity == severity) is taken
        except PydanticError:
            assert not taken


# In a relay, which has no world behind it


def packed(folder: Path, name: str) -> Path:
    """A pack with one perturbation, its tools named as they are on the wire."""
    file = folder / f"{name}.yaml"
    written = json.dumps({"name": "one", "perturbations": [ROWS[name].written(name)]})
    file.write_text(written.replace("orders.", "orders__"))
    return file


REFUSED = [name for name, row in ROWS.items() if row.refused]
NEED_A_WORLD = {
    "resource_exhausted", "not_found", "partial_update", "delayed_visibility", "wrong_entity", "false_success", "risky_state",
    "contrastive_state", "noisy_request", "read_only_disk", "port_taken", "clock_skew", "flaky_test",
    "index_lock", "stale_checkout", "formatter", "misleading_comment",
    "lost_submit", "error_page", "session_ended", "captcha", "popup", "cookie_wall", "changed_buttons", "dark_pattern",
    "stale_refs",
}  # fmt: skip
UNSEEN = {"latency", "duplicate_delivery"}
"""What a client of a relay cannot see: virtual time, and a second call whose reply is not passed on."""


def test_what_needs_a_world_or_a_task_says_so() -> None:
    assert set(REFUSED) & SHIPPED.keys() == NEED_A_WORLD


@pytest.mark.parametrize("name", REFUSED)
def test_a_relay_refuses_what_it_cannot_do_in_one_line_that_says_why(name: str, tmp_path: Path) -> None:
    file = packed(tmp_path, name)
    with pytest.raises(InputError) as refused:
        load_perturbations([str(file)])
    why = f"the perturbation {name!r} {ROWS[name].refused}; use it in a scenario, where a world is simulated"
    assert str(refused.value) == f"{file}: {why}"


@pytest.mark.parametrize("frame", first_here(["web", "shop"]))
async def test_a_relay_takes_all_others_and_they_bend_what_passes(frame: Place, tmp_path: Path) -> None:
    async with serving([load_scenario(write_row(tmp_path, "walk", [], frame=frame))]) as served:

        async def seen(*perturbations: Armed) -> tuple[list[object], dict[str, int]]:
            """What a client reads through a relay in front of a fresh episode, and what fired."""
            target = HttpTarget((await served.open())["url"])
            perturber = Perturber(perturbations, rules=RelayRules(allow_duplicates=True))
            async with (
                HttpRelay(target, perturber=perturber, journal=RelayJournal(None)) as relay,
                Client(relay.url) as client,
            ):
                tools = (await client.list_tools()).tools
                read: list[object] = [tools, *[await answer(client, *call) for call in CALLS[frame]]]
            return read, perturber.fired

        plain, _ = await seen()
        for name in sorted(ROWS.keys() - set(REFUSED)):
            if ROWS[name].frame == frame:
                read, fired = await seen(*load_perturbations([str(packed(tmp_path, name))]))
                assert read != plain or (name in UNSEEN and fired[name]), name


async def answer(client: Client, tool: str, arguments: JsonObject) -> object:
    """What a tool answers; of a reply that the client refuses, that it did."""
    try:
        return await client.call_tool(tool.replace(".", "__"), arguments)
    except (MCPError, PydanticError, RuntimeError) as error:
        return type(error).__name__


def test_what_needs_a_model_to_write_takes_one_and_has_a_form_without() -> None:
    plugins = {name: cast(type[Perturbation], resolve("perturbations", name)) for name in ROWS}
    written = {name for name, plugin in plugins.items() if plugin.traits.layer == "M"}
    assert written >= {name for name, layers in CATALOGUE.items() if layers == "M"}
    for name in written | {"prompt_injection"}:
        assert plugins[name].model_fields["writer"].default is None
