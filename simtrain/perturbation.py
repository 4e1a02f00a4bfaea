"""The contract of perturbations: something that goes wrong on purpose, and when it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from simtrain.clock import Clock
from simtrain.plugin import Plugin
from simtrain.request import Answer, Request
from simtrain.seeding import Stream
from simtrain.types import JsonObject, JsonValue, Observation, ToolSpec
from simtrain.world import WorldState

Side: TypeAlias = Literal["request", "manifest", "call", "reply", "state"]
Effect: TypeAlias = Literal["before", "after", "none"]
Recovery: TypeAlias = Literal[
    "retry", "fix-call", "page", "wait", "re-auth", "switch", "cross-check", "verify", "ask", "abstain"
]
Layer: TypeAlias = Literal["P", "D", "M", "H"]
Probability: TypeAlias = Annotated[float, Field(ge=0, le=1)]


class When(BaseModel):
    """The trigger: all that is named must hold for the perturbation to fire on a call.

    `tools` globs, `writes` and `args` say which calls match; the others choose among the matching ones.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tools: str | list[str] = Field(default="*", description="Glob, or list of globs, over tool names.")
    writes: bool | None = Field(default=None, description="Only tools that write (true) or that do not (false).")
    args: dict[str, JsonValue] = Field(
        default_factory=dict, description="Argument values that must be given exactly so."
    )
    nth: int | list[int] | None = Field(
        default=None, description="The matching calls, counted from 1, on which to fire."
    )
    every: int | None = Field(default=None, ge=1, description="Fire on every Nth matching call.")
    burst: int | None = Field(default=None, ge=1, description="Once begun, go on for this many matching calls.")
    turns: tuple[int, int] | None = Field(
        default=None, description="First and last turn, counted from 1, both included."
    )
    after: str | None = Field(default=None, description="Glob of a tool that must have succeeded before.")
    state: str | None = Field(default=None, description="SQL over the world whose single value must be true.")
    probability: Probability | None = Field(default=None, description="Share of the matching calls on which to fire.")
    max_times: int | None = Field(default=None, ge=1, description="Fire at most so often in an episode.")


@dataclass(slots=True)
class Call:
    """One call as a perturbation meets it.

    `rng` depends on seed, episode, label, tool and the index of the matching call alone. `memory` is this perturbation's
    JSON state for this episode. `world` is None where no world stands behind the proxy.
    """

    request: Request
    rng: Stream
    clock: Clock
    memory: JsonObject
    world: WorldState | None


class Perturbation(Plugin):
    """One mechanism. What it declares of itself is class data; its knobs are fields."""

    side: ClassVar[Side]
    layer: ClassVar[Layer]
    effect: ClassVar[Effect] = "none"
    visible: ClassVar[bool] = True
    permanent: ClassVar[bool] = False
    semantic: ClassVar[bool] = True
    recoverable_by: ClassVar[tuple[Recovery, ...]] = ()
    needs_world: ClassVar[bool] = False

    severity: Probability = Field(
        default=0.5, description="How hard it hits, from 0 to 1; scales the knobs that are not set."
    )

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """The tools as the agent is shown them."""
        return tools

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Answer a call on which this fires; `proceed` is the way on, to be taken never, once or several times."""
        return await proceed(call.request)
