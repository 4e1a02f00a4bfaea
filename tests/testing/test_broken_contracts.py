"""A plug-in that does not keep its contract is told what it lacks, in one line."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from pydantic import Field

from simtrain.contracts.agent import Briefing, Loop, StepFunction
from simtrain.contracts.exporter import Exporter
from simtrain.contracts.grader import Grader, score
from simtrain.contracts.perturbation import Call, Perturbation, Traits
from simtrain.contracts.request import Answer
from simtrain.contracts.trajectory import Reward, Trajectory
from simtrain.contracts.world import FinishedWorld
from simtrain.testing.contracts import ContractBroken, check_plugin
from simtrain.values.types import JsonObject, Message, Observation
from simtrain.world_models.domains.mcp import McpDomain

TRAITS = Traits(side="reply", layer="P", effect="after", recoverable_by=("retry",))


class Silent(Perturbation):
    traits: ClassVar[Traits] = TRAITS


class Advising(Perturbation):
    """Something goes wrong, and what should be done about it is anybody's guess."""

    traits: ClassVar[Traits] = TRAITS


class Undeclared(Perturbation):
    """Something goes wrong. An agent should try again."""


class Idle(Perturbation):
    """Nothing goes wrong. An agent should go on."""

    traits: ClassVar[Traits] = TRAITS


class Restless(Perturbation):
    """Something else goes wrong each time. An agent should try again."""

    traits: ClassVar[Traits] = TRAITS

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Draw from elsewhere."""
        return Observation(str(random.random()), is_error=True)


class Blunt(Perturbation):
    """The reply is cut to one word. An agent should try again."""

    traits: ClassVar[Traits] = TRAITS

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Return a word, and no structured content."""
        return Observation((await proceed(call.request)).text.split()[0])


class Needy(Perturbation):
    """Something goes wrong in a column. An agent should look elsewhere."""

    traits: ClassVar[Traits] = TRAITS
    column: str = Field(description="Where.")


class Bare(Grader):
    """1 within so many calls."""

    calls: int = 3

    async def grade(self, trajectory: Trajectory, world: FinishedWorld) -> Reward:
        """Count."""
        return score(1.0)


class Generous(Bare):
    """More than everything."""

    calls: int = Field(3, description="Calls.")

    async def grade(self, trajectory: Trajectory, world: FinishedWorld) -> Reward:
        """Give two."""
        return score(2.0)


class Unfinished(Grader):
    """Grades nothing."""


class Foreign(Exporter):
    """Rows of objects."""

    def rows(self, trajectory: Trajectory) -> Iterator[JsonObject]:
        """Yield what no file can hold."""
        yield {"trajectory": trajectory}


class Stamped(Exporter):
    """Rows with the time."""

    def rows(self, trajectory: Trajectory) -> Iterator[JsonObject]:
        """Yield the wall clock."""
        yield dict(trajectory.timing)


class Mumbling(McpDomain):
    """Writes what it cannot read."""

    def write_observation(self, observation: Observation) -> str:
        """Return other words."""
        return "Observation:\nsomething"


class Clumsy(Loop):
    """Breaks down."""

    async def run(self, briefing: Briefing, step: StepFunction) -> Message:
        """Stumble."""
        raise KeyError("left foot")


class NoExampleTaken(Needy):
    """Something goes wrong in a column. An agent should look elsewhere."""

    example: ClassVar[JsonObject] = {"with": {"row": 1}}


@pytest.mark.parametrize(
    ("kind", "plugin", "words"),
    [
        ("perturbations", Silent, "it has no docstring"),
        ("perturbation", Advising, "its docstring has no sentence that begins with 'An agent should'"),
        ("perturbation", Undeclared, "it declares no traits"),
        ("perturbation", Idle, "its example {} never fires in the worlds of simtrain.testing"),
        ("perturbation", Restless, "draw from call.rng alone"),
        ("perturbation", Blunt, "its reply of cakes.list does not fit the output schema"),
        ("perturbation", Needy, "it has no example, and needs column; add example: ClassVar[JsonObject] = {'with': {...}}"),
        ("perturbation", NoExampleTaken, "its example {'with': {'row': 1}} cannot be built"),
        ("grader", Bare, "its knobs calls have no description"),
        ("grader", Generous, "it gives 2.0, which is not within 0 and 1"),
        ("grader", Unfinished, "it leaves out grade"),
        ("grader", Foreign, "it does not extend Grader"),
        ("exporter", Foreign, "its rows are not JSON"),
        ("exporter", Stamped, "its rows hold the wall clock"),
        ("domain", Mumbling, "it cannot parse an observation that it wrote"),
        ("agent", Clumsy, "in the shop it breaks down: KeyError"),
    ],
)  # fmt: skip
def test_what_is_lacking_is_told_in_one_line(kind: str, plugin: Any, words: str) -> None:
    with pytest.raises(ContractBroken) as broken:
        check_plugin(kind, plugin)
    assert words in str(broken.value) and f"test_broken_contracts:{plugin.__name__}: " in str(broken.value)
    assert "\n" not in str(broken.value)
