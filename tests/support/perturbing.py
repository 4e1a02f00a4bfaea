"""Playing calls against a perturbed world, for tests of perturbations."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import jsonschema_rs
from bakery import WORLD, scenario

from simtrain import open_episode
from simtrain.contracts.trajectory import Step
from simtrain.episodes.proxy import Proxy
from simtrain.values.types import Action, Changes, Observation, ToolSpec

Asked: TypeAlias = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Played:
    """What came of some calls: the steps, what the agent read, what is different in the world, the tools shown."""

    steps: list[Step]
    changes: Changes
    tools: tuple[ToolSpec, ...]

    @property
    def seen(self) -> list[Observation]:
        return [step.observation for step in self.steps]

    @property
    def contents(self) -> list[Any]:
        return [observation.content for observation in self.seen]

    @property
    def bent(self) -> list[bool]:
        """For every step, whether a perturbation changed anything."""
        return [bool(step.events) for step in self.steps]

    @property
    def changed(self) -> list[list[str]]:
        """For every step, what perturbations changed on it."""
        return [sorted({name for event in step.events for name in event.changed}) for step in self.steps]


async def play(folder: Path, perturbation: dict[str, Any] | None, *calls: Asked, world_text: str = WORLD) -> Played:
    """Make the calls one after the other; every structured reply must fit the output schema that the agent was shown."""
    more = "" if perturbation is None else f"perturbations: [{json.dumps(perturbation)}]\n"
    environment = open_episode(scenario(folder, more=more, world_text=world_text))
    assert isinstance(environment, Proxy)
    async with environment:
        for number, (tool, arguments) in enumerate(calls):
            environment.begin_turn()
            await environment.step(Action(str(number), tool, arguments))
        played = Played(list(environment.steps), environment.finished().changes, environment.tools)
    by_name = {tool.name: tool for tool in played.tools}
    for step in played.steps:
        schema = by_name[step.action.tool].output_schema
        if schema is not None and not step.observation.is_error:
            assert jsonschema_rs.is_valid(schema, step.observation.content), step.observation
    return played
