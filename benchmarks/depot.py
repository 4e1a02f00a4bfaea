"""What the benchmarks play: episodes in the depot world, and an agent that has its calls ready."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import yaml

from simtrain.agents.loop import play
from simtrain.contracts.agent import Briefing, Player, Policy
from simtrain.contracts.journal import Journal
from simtrain.contracts.scenario import Episode, Scenario
from simtrain.contracts.trajectory import Stop
from simtrain.runs.schedule import Deal
from simtrain.scenarios.briefing import brief
from simtrain.scenarios.load import load_scenario_file, paradigm_of
from simtrain.values.types import Action, JsonObject, Message

CALLS = 10
SEARCH = "items.search"
SCENARIOS = Path(__file__).parent / "scenarios"


def freeze() -> None:
    """Tell the collector what a run tells it."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def scenario(name: str) -> Scenario:
    """`read` or `write`."""
    return load_scenario_file(SCENARIOS / f"{name}.yaml", f"benchmarks/{name}")


def crowded(folder: Path, *, tools: int) -> Scenario:
    """`read` with so many tools on offer, written into `folder`."""
    world = _world()
    reading = [tool for tool in world["tools"] if "write" not in tool]
    for index in range(tools - len(world["tools"])):
        copied = reading[index % len(reading)]
        world["tools"].append({**copied, "name": f"archive_{index}.{copied['name'].replace('.', '_')}"})
    return _reading(folder, world, "crowded")


def searching(folder: Path) -> Scenario:
    """`read` with nothing on offer but the tool SEARCH, written into `folder`; its reference, which calls another, is left out."""
    world = _world()
    world["tools"] = [tool for tool in world["tools"] if tool["name"] == SEARCH]
    return _reading(folder, world, "searching", without=("reference",))


def _world() -> JsonObject:
    return yaml.safe_load((SCENARIOS.parent / "worlds" / "depot.yaml").read_text())


def _reading(folder: Path, world: JsonObject, name: str, *, without: Sequence[str] = ()) -> Scenario:
    given: JsonObject = yaml.safe_load((SCENARIOS / "read.yaml").read_text())
    given = {key: value for key, value in given.items() if key not in without}
    (folder / "depot.yaml").write_text(yaml.safe_dump(world, sort_keys=False))
    (folder / "read.yaml").write_text(yaml.safe_dump({**given, "world": "depot.yaml"}, sort_keys=False))
    return load_scenario_file(folder / "read.yaml", f"benchmarks/{name}")


def episodes(name: str, count: int) -> list[Episode]:
    """So many episodes of a scenario."""
    return Deal([scenario(name)], seed=0, total=count, attempts=1)


class Instant(Policy):
    """Makes its calls one a turn, without thinking, and then gives the right answer; every other call writes if `writes`."""

    calls: int = CALLS
    writes: bool = False

    def player(self, briefing: Briefing) -> Player:
        """One that has its messages ready."""
        return _Ready(actions(briefing, calls=self.calls, writes=self.writes))


def actions(briefing: Briefing, *, calls: int, writes: bool) -> list[Action]:
    """The calls of one episode."""
    customer, order = str(briefing.stated["customer"]), str(briefing.stated.get("order", "O0007"))
    made: list[tuple[str, JsonObject]] = [
        ("customers.get", {"customer_id": customer}),
        ("orders.list", {"customer_id": customer}),
        ("orders.get", {"order_id": order}),
        (SEARCH, {"text": "an"}),
    ]
    made = [made[index % len(made)] for index in range(calls)]
    if writes:
        for index in range(1, calls, 2):
            made[index] = ("orders.note", {"order_id": order, "notes": f"Asked about it {index} times."})
        made[-1] = ("orders.cancel", {"order_id": order, "reason": "customer"})
    return [Action(f"call_{index}", tool, arguments) for index, (tool, arguments) in enumerate(made)]


class _Ready:
    def __init__(self, actions: list[Action]) -> None:
        self._actions = iter(actions)

    async def think(self, journal: Journal) -> Message:
        action = next(self._actions, None)
        if action is not None:
            return Message(calls=(action,))
        found = [turn.steps[0].observation.content or {} for turn in (journal.turns[0], journal.turns[-1])]
        return Message("ANSWER: found", answer=str(found[1].get("order_id") or found[0]["city"]))


async def hold(
    found: Sequence[Episode], agent: Policy, *, stack: AsyncExitStack, gate: asyncio.Event
) -> list[asyncio.Task[Stop]]:
    """Play episodes at once, each up to its answer, where it stays until the gate opens; the tasks that then end."""
    arrived = asyncio.Barrier(len(found) + 1)
    tasks: list[asyncio.Task[Stop]] = []
    for episode in found:
        environment = await stack.enter_async_context(paradigm_of(episode.scenario).open(episode))
        journal = Journal(environment, episode.scenario.spec.limits)
        player = _Held(agent.player(brief(episode, environment)), arrived, gate)
        tasks.append(asyncio.ensure_future(play(player, journal)))
    await arrived.wait()
    return tasks


@dataclass(slots=True)
class _Held:
    """A player that waits before its answer until it is told to go on."""

    inner: Player
    arrived: asyncio.Barrier
    gate: asyncio.Event

    async def think(self, journal: Journal) -> Message:
        if len(journal.turns) == CALLS:
            await self.arrived.wait()
            await self.gate.wait()
        return await self.inner.think(journal)
