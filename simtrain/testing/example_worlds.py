"""Four tiny worlds for trying plug-ins: a shop with tools, a web to search and read, a machine with a shell, an app with pages."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from simtrain.agents.select import build_agent
from simtrain.contracts.agent import Agent, Briefing, Loop, StepFunction
from simtrain.contracts.grader import Grader
from simtrain.contracts.perturbation import Armed
from simtrain.contracts.scenario import Episode, Scenario
from simtrain.contracts.trajectory import Reward, Trajectory
from simtrain.contracts.world import FinishedWorld
from simtrain.public import episode, load_scenario
from simtrain.runs.rollout import Judge, by_rubric
from simtrain.runs.rollout import rollout as play_episode
from simtrain.values.types import JsonObject, Message

FOLDER = Path(__file__).parent / "examples"

Place: TypeAlias = Literal["shop", "web", "host", "app"]


@dataclass(frozen=True)
class ExampleWorld:
    """A world, a scenario in it, and the calls of the walker."""

    world: str
    scenario: str
    calls: tuple[tuple[str, JsonObject], ...]


_REPOSITORY = (
    "cp -r /srv/sums ~ && cd ~/sums && git init -q && git config user.name Kim && git config user.email kim@bench && "
    "git add -A && git commit -qm Begin"
)

# Reads of the same record before and after a write, a batch, and pages opened twice: most perturbations need one of these to show.
EXAMPLES: dict[Place, ExampleWorld] = {
    "shop": ExampleWorld(
        "shop.yaml",
        "order_cakes.yaml",
        (
            ("cakes.list", {}),
            ("cakes.get", {"name": "Compact Lamp cake 9"}),
            ("orders.list", {"cake_id": "K009"}),
            ("orders.place", {"cake_id": "K009", "amount": 1}),
            ("orders.list", {"cake_id": "K009"}),
            ("orders.place_many", {"cakes": ["K001", "K002", "K003", "K004"]}),
            ("cakes.list", {}),
            ("cakes.get", {"name": "Compact Lamp cake 9"}),
        ),
    ),
    "web": ExampleWorld(
        "web.yaml",
        "find_ships.yaml",
        (
            ("web_search", {"query": "All ships"}),
            ("web_extractor", {"url": "https://office.sea.example/ships"}),
            ("web_extractor", {"url": "https://office.sea.example/climate/mild"}),
            ("web_extractor", {"url": "https://office.sea.example/ships", "goal": "plate"}),
            ("dict_memory", {"operation": "add", "key": "ships", "value": "https://office.sea.example/ships"}),
            ("web_extractor", {"url": "https://office.sea.example"}),
            ("web_search", {"query": "https://office.sea.example/ships"}),
            ("web_extractor", {"url": "https://office.sea.example/ships"}),
        ),
    ),
    "host": ExampleWorld(
        "host.yaml",
        "start_service.yaml",
        (
            ("bash", {"command": "cat /srv/notes.txt"}),
            ("bash", {"command": "cp -v /srv/notes.txt ~"}),
            ("bash", {"command": "sudo systemctl start api; systemctl is-active api"}),
            ("bash", {"command": "date; ls /srv ~"}),
            ("bash", {"command": "pytest -q /srv/sums"}),
            ("bash", {"command": "cat /srv/sums/sums.py"}),
            ("bash", {"command": _REPOSITORY}),
            ("bash", {"command": "sed -i '1i NAME = \"sums\"' sums.py && git commit -qam Name"}),
            ("bash", {"command": "cat ~/sums/sums.py"}),
        ),
    ),
    "app": ExampleWorld(
        "guests.yaml",
        "write_note.yaml",
        (
            ("browser_navigate", {"url": "https://bakery.example/"}),
            ("browser_snapshot", {}),
            ("browser_type", {"target": "getByLabel('Note')", "text": "All is well."}),
            ("browser_click", {"target": "getByRole('button')"}),
            ("browser_snapshot", {}),
            ("browser_hover", {"target": "f2e2"}),
        ),
    ),
}


_TOLD: dict[str, Place] = {"ships": "web", "service": "host", "guest book": "app"}
"""A word of the prompt, and the world that it belongs to."""


class Walker(Loop):
    """An agent that makes fixed calls regardless of the replies: a read, a write, several writes, and a read."""

    async def run(self, briefing: Briefing, step: StepFunction) -> Message:
        """Make the calls of the world and answer."""
        # The prompt tells the worlds apart: an agent is given no name of its scenario.
        told: list[Place] = [place for word, place in _TOLD.items() if word in briefing.prompt]
        place: Place = told[0] if told else "shop"
        for tool, arguments in EXAMPLES[place].calls:
            await step(tool, arguments)
        return Message("done", answer="done")


@cache
def example_scenario(place: Place) -> Scenario:
    """Return the scenario of one of the worlds, without perturbations."""
    return load_scenario(FOLDER / EXAMPLES[place].scenario)


async def play_example(
    agent: Agent | None = None, *, place: Place = "shop", armed: Sequence[Armed] = (), judge: Judge = by_rubric
) -> Trajectory:
    """Play the first case of an example with these perturbations armed; the agent is the walker by default."""
    scenario = replace(example_scenario(place), perturbations=tuple(armed))
    return await play_episode(episode(scenario), agent or Walker(), name="example", judge=judge)


async def grade_example(grader: Grader, agent: str = "oracle") -> Reward:
    """Return a grader's reward for the first case of the shop, played by a shipped agent."""
    given: list[Reward] = []

    async def judge(_: Episode, trajectory: Trajectory, world: FinishedWorld) -> Trajectory:
        given.append(await grader.grade(trajectory, world))
        return trajectory

    await play_example(build_agent(agent), judge=judge)
    return given[0]
