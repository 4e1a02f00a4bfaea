"""How much of the package one tool call crosses: what is on that path is paid at every step of every episode."""

from __future__ import annotations

import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from bakery import scenario

import simtrain
from simtrain import load_scenario, open_episode
from simtrain.contracts.environment import Environment
from simtrain.values.types import Action

ROOT = str(Path(simtrain.__file__).parent)
MOST = 30


async def crossed(environment: Environment, tool: str, arguments: dict[str, Any]) -> set[CodeType]:
    """The functions of the package that a call enters, by their code; what is only done once was done by calls before it."""
    found: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(ROOT):
            found.add(frame.f_code)

    for number in range(3):
        await environment.step(Action(f"before_{number}", tool, arguments))
    sys.setprofile(note)
    try:
        reply = await environment.step(Action("measured", tool, arguments))
    finally:
        sys.setprofile(None)
    assert not reply.is_error, reply.text
    return found


@pytest.mark.parametrize(("tool", "arguments"), [("cakes.list", {}), ("orders.list", {"cake_id": "K001"})])
async def test_a_plain_read_crosses_at_most_thirty_functions(
    tool: str, arguments: dict[str, Any], tmp_path: Path
) -> None:
    async with open_episode(scenario(tmp_path)) as environment:
        found = await crossed(environment, tool, arguments)
    names = {code.co_qualname for code in found}
    assert {"Proxy.step", "ServiceState.answer", "CompiledTool.reply"} <= names, "the path is seen from end to end"
    assert len(found) <= MOST, sorted(names)


async def test_a_read_of_a_shipped_world_crosses_no_more() -> None:
    async with open_episode(load_scenario("helpdesk/refund")) as environment:
        found = await crossed(environment, "customers.search", {"query": "an"})
    assert 10 < len(found) <= MOST, sorted(code.co_qualname for code in found)


async def test_what_bends_a_call_is_seen_by_this_count(tmp_path: Path) -> None:
    """A call that perturbations meet crosses more, so that the count is not blind to what is added."""
    plain, bent = tmp_path / "plain", tmp_path / "bent"
    more = "perturbations: [{use: latency, with: {seconds: 1}}]\n"
    counts: list[int] = []
    for folder, text in ((plain, ""), (bent, more)):
        folder.mkdir()
        async with open_episode(scenario(folder, more=text)) as environment:
            counts.append(len(await crossed(environment, "cakes.list", {})))
    assert counts[0] + 10 < counts[1]
