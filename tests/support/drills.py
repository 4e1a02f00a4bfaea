"""Drills for tests: the bakery with packs beside it, an agent that repeats writes blindly, and what a run folder says by arm."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from bakery import write_files

from simtrain.contracts.agent import Briefing, Loop, StepFunction
from simtrain.contracts.trajectory import Trajectory
from simtrain.runs.run_folder import read_run
from simtrain.values.types import Message

PACKS = {
    "rough": """\
name: rough
severity: 0.5
perturbations:
  - {use: transient_error, when: {tools: "cakes.get", nth: 1}}
  - {use: timeout_after, when: {writes: true, nth: 1}}
""",
    "slow": """\
name: slow
perturbations:
  - {use: latency, when: {tools: "*", probability: 0.5}}
  - {use: latency, as: slower, when: {tools: "orders.*", probability: 0.5}}
""",
    "idle": """\
name: idle
perturbations:
  - {use: latency, as: never, when: {tools: "*", nth: 50}}
""",
    "third": """\
name: third
perturbations:
  - {use: latency, when: {tools: "*", nth: 3}}
""",
    "also_slow": """\
name: also_slow
perturbations:
  - {use: latency, when: {tools: "cakes.*"}}
""",
    "gone": """\
name: gone
perturbations:
  - {use: dropped_tool, with: {tools: ["orders.place"]}}
""",
    "elsewhere": """\
name: elsewhere
perturbations:
  - {use: latency, when: {tools: "*", writes: true}}
""",
}


def write_bakery(folder: Path, *, more: str = "") -> Path:
    """The bakery and all packs, found by name from that folder; the scenario's file."""
    (folder / "perturbations").mkdir()
    for name, text in PACKS.items():
        (folder / "perturbations" / f"{name}.yaml").write_text(text)
    return write_files(folder, more=more)


class Blind(Loop):
    """Repeats a write that failed without looking whether it has landed, and claims that all is done."""

    async def run(self, briefing: Briefing, step: StepFunction) -> Message:
        name = str(briefing.stated["cake"])
        found = await step("cakes.get", {"name": name})
        while found.is_error:
            found = await step("cakes.get", {"name": name})
        cake = (found.content or {})["id"]
        placed = await step("orders.place", {"cake_id": cake, "amount": 2})
        if placed.is_error:
            placed = await step("orders.place", {"cake_id": cake, "amount": 2})
        return Message("ANSWER: <script>alert('done')</script>", answer="<script>alert('done')</script>")


class Looking(Loop):
    """Looks for the cake, and declines where nothing is there to order it with."""

    async def run(self, briefing: Briefing, step: StepFunction) -> Message:
        await step("cakes.get", {"name": str(briefing.stated["cake"])})
        return Message("CANNOT: no tool places orders", abstain=True, answer="no tool places orders")


def by_arm(run: Path) -> dict[str, list[Trajectory]]:
    """The trajectories of a run folder by arm, in the order of their episodes."""
    found: dict[str, list[Trajectory]] = defaultdict(list)
    for trajectory in read_run(run):
        found[trajectory.arm].append(trajectory)
    for trajectories in found.values():
        trajectories.sort(key=lambda trajectory: (trajectory.scenario, trajectory.episode, trajectory.attempt))
    return dict(found)


def firings(trajectories: list[Trajectory], label: str) -> list[tuple[str, int, int]]:
    """Where one perturbation fired: episode, attempt, step."""
    return [
        (trajectory.episode, trajectory.attempt, step.index)
        for trajectory in trajectories
        for step in trajectory.steps
        for event in step.events
        if event.label == label
    ]
