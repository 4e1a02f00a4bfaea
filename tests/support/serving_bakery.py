"""A served bakery for tests: a stage over the tiny world, listening on free ports of this machine."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from bakery import WORLD, write_files

from simtrain.contracts.scenario import Scenario
from simtrain.mcp.serve.listening import Door, listen
from simtrain.mcp.serve.ports import Listening
from simtrain.mcp.serve.session import ServingSession, open_session
from simtrain.mcp.serve.targets import load_target
from simtrain.runs.episode_host import HostOptions
from simtrain.scenarios.load import load_scenario_file

SHELF = """\
resources:
  - uri: bakery://board
    name: Board
    mime_type: text/plain
    read: select group_concat(name, ', ') from (select name from cakes order by name limit 2)
  - {uri: "bakery://cakes/{id}", name: A cake, server: cakes, read: "select name || ' ' || stock from cakes where id = :id"}
prompts:
  - name: sell
    description: Sell a cake.
    arguments: [{name: cake, description: Which one, required: true}, {name: tone}]
    text: "Sell {{ cake }}{% if tone %} in a {{ tone }} tone{% endif %}."
"""


@dataclass(frozen=True)
class Served:
    """A stage that listens, and a client of its control plane."""

    stage: ServingSession
    door: Door
    control: httpx.AsyncClient

    async def open(self, **asked: Any) -> dict[str, Any]:
        """Open an episode over the control plane."""
        reply = await self.control.post("/episodes", json=asked)
        assert reply.status_code == 201, reply.text
        return reply.json()

    async def post(self, path: str, **asked: Any) -> dict[str, Any]:
        """Ask the control plane something."""
        reply = await self.control.post(path, json=asked)
        assert reply.is_success, reply.text
        return reply.json()


def bakery_scenario(folder: Path, *, more: str = "") -> Scenario:
    """The birthday scenario over a bakery with resources and prompts, in files under `folder`."""
    return load_scenario_file(write_files(folder, world_text=WORLD + SHELF, more=more), "birthday")


def free_bakery(folder: Path) -> list[Scenario]:
    """The bakery without a task."""
    path = folder / "free.yaml"
    path.write_text(WORLD + SHELF)
    return load_target(str(path))


@asynccontextmanager
async def serving(
    scenarios: Sequence[Scenario],
    options: HostOptions = HostOptions(),  # noqa: B008
    listening: Listening = Listening(),  # noqa: B008
    *,
    out: Path | None = None,
    page_size: int | None = None,
) -> AsyncGenerator[Served]:
    """Serve while the block runs."""
    async with (
        open_session(scenarios, options, out=out, page_size=page_size) as stage,
        listen(stage, listening) as door,
    ):
        headers = {"authorization": f"Bearer {door.control_token}"}
        async with httpx.AsyncClient(base_url=door.control_url or "", headers=headers, timeout=30) as control:
            yield Served(stage, door, control)
