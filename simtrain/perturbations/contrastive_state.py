"""The same actions meet a different state."""

from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.contracts.world import World
from simtrain.perturbations.catalogued import Catalogued
from simtrain.perturbations.risky_state import change, refuse_bad_sql
from simtrain.values.types import JsonObject, Observation


class ContrastiveState(Catalogued):
    """The world is changed before the first call, so that the same action has another result than in its twin.

    Source: Qwen-AgentWorld (contrastive states). An agent should act on what it sees, not on what it has seen in other
    episodes. This is the tool call version of the same action on another screen. `sql` says what is different, and the
    rubric must allow for it; the trigger is ignored.
    """

    traits: ClassVar[Traits] = Traits(
        side="state", layer="D", visible=False, recoverable_by=("verify", "abstain"), needs_world=True, follows="always"
    )
    example: ClassVar[JsonObject] = {"with": {"sql": ["update cakes set stock = stock - 1 where id = 'K009'"]}}

    sql: list[str] = Field(min_length=1, description="Writing statements, carried out once, before the first call.")

    def check(self, world: World) -> None:
        """Raise an InputError for SQL that does not compile."""
        refuse_bad_sql(world, self.sql, {})

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Make the world different, if this is the first call."""
        return await self.follow(call, proceed)

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Make the world different, if this is the first call. Raises SimulatorFault for SQL that fails."""
        # Memory is recorded and copied with forks, so that a forked episode does not change the world a second time.
        if call.world is None or call.memory:
            return await proceed(call.request)
        call.memory["rows"] = change(call.world, self.sql, {}, by="contrastive_state")
        return self.signed(await proceed(call.request))
