"""A write shows after some reads."""

from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.catalogued import Catalogued
from simtrain.values.types import Observation

_REPLICA = "replica"


class DelayedVisibility(Catalogued):
    """The reads of a service come from a lagging copy: a write lands at once but shows only after some reads.

    Source: ReliabilityBench, AgentChaos (eventual consistency). An agent should look again a little later before it
    takes a write for lost. While the copy lags, further writes do not show either. Reads that the lag does not change
    do not count.
    """

    traits: ClassVar[Traits] = Traits(
        side="state",
        layer="D",
        effect="after",
        visible=False,
        recoverable_by=("wait", "verify"),
        needs_world=True,
        follows="fired",
        page=True,
    )

    reads: int | None = Field(
        default=None, ge=1, description="Reads that still show the old state; unset, 1 and up to 4 more by severity."
    )

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Carry a write out, and from now on read from the state before it."""
        world = call.world
        if world is None or not call.request.tool.writes or call.snapshots.get(_REPLICA) is not None:
            return await self.follow(call, proceed)
        # Forked before the write: afterwards the old rows are gone.
        before = world.fork()
        observation = await proceed(call.request)
        if observation.is_error:
            # A refused write left nothing to hide, and an unused copy would hold memory to the end of the episode.
            before.close()
            return observation
        call.snapshots.keep(_REPLICA, before)
        call.memory["left"] = 1 + round(4 * self.severity) if self.reads is None else self.reads
        return self.signed(observation)

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Answer reads from the copy as long as it lags."""
        observation = await proceed(call.request)
        replica = call.snapshots.get(_REPLICA)
        if replica is None or call.request.tool.writes or not call.in_world:
            return observation
        # Otherwise replies that state the time would differ by that alone, and count as lagging.
        replica.clock.moment = call.clock.moment
        old = replica.answer(call.request)
        # A read that looks the same anyway is no sign of lag to an agent, so it does not use up the lag.
        if (old.text, old.is_error) == (observation.text, observation.is_error):
            return observation
        call.memory["left"] -= 1
        if call.memory["left"] == 0:
            call.snapshots.drop(_REPLICA)
        return self.signed(old)
