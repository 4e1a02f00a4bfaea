"""The stand-in's side of a verification: a fresh episode for every sequence, asked at the moments at which the real server was."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from simtrain.assembly import load_world, paradigm_of
from simtrain.catalog import find
from simtrain.environment import Environment
from simtrain.errors import SimulatorFault
from simtrain.scenario import Answering, Episode, Scenario, ScenarioSpec
from simtrain.serving.replies import call_response
from simtrain.templates import Text
from simtrain.types import Action, JsonObject
from simtrain.world import Variant, World
from simtrain.world_models.embedded import Embedded

FAULT = -32603
PROMPT = "Verification."


@dataclass(frozen=True, eq=False)
class StandIn:
    """What is verified: a scenario whose world models answer the calls. `name` is what subjects are registered under."""

    name: str
    scenario: Scenario

    @property
    def world(self) -> World:
        """The built world."""
        return self.scenario.source.build()

    def schemas(self) -> dict[str, JsonObject]:
        """The input schemas of its tools, by name."""
        return {tool.name: tool.input_schema for tool in self.world.tools}

    @asynccontextmanager
    async def episode(self, *, seed: int) -> AsyncGenerator[OpenStandIn]:
        """A fresh episode."""
        episode = Episode(self.scenario, "verify", {}, Variant(), seed, 0)
        opened = OpenStandIn(await paradigm_of(self.scenario).open(episode).__aenter__())
        try:
            yield opened
        finally:
            await opened.close()


class OpenStandIn:
    """A stand-in in one episode, whose clock follows the caller."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._clock = environment.finished().final.clock

    async def call(self, tool: str, arguments: JsonObject, *, moment: float) -> JsonObject:
        """The response to one call made at `moment` (seconds since 1970); a fault of the simulator is an error response."""
        # The proxy lets the clock tick once before it answers.
        self._clock.moment = moment - self._clock.per_step
        action = Action(f"call_{len(self._environment.steps)}", tool, arguments)
        try:
            return call_response(await self._environment.step(action))
        except SimulatorFault as fault:
            return {"error": {"code": FAULT, "message": f"simulator fault: {fault}"}}

    async def fork(self) -> OpenStandIn:
        """An independent copy as it stands. Raises InputError where the world model has no copy."""
        return OpenStandIn(await self._environment.fork())

    async def close(self) -> None:
        """Free the episode."""
        await self._environment.__aexit__(None, None, None)


def stand_in(name: str) -> StandIn:
    """The stand-in that a world's name or file stands for. Raises InputError."""
    source = load_world(find("worlds", name))
    source.build()
    spec = ScenarioSpec.model_validate(
        {"name": "verify", "world": name, "prompt": PROMPT, "rubric": [{"use": "final_state"}]}
    )
    answering = (Answering("embedded", ("*",), Embedded()),)
    scenario = Scenario(
        f"verify/{source.name}", spec, source.document, source.digest, source, Text(PROMPT), answering, (), ()
    )
    return StandIn(source.name, scenario)
