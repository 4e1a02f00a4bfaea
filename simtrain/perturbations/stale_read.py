"""An old value is served."""

import re
from contextlib import closing, suppress
from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer, Request
from simtrain.contracts.world import WorldState
from simtrain.mcp_wire.raw_replies import reworded
from simtrain.perturbations.catalogued import Catalogued
from simtrain.perturbations.world_rows import tables_of
from simtrain.values.clock import stamp
from simtrain.values.errors import InputError
from simtrain.values.types import Observation, canonical

_BEFORE = "before"
MOST_KEPT = 50_000
"""Characters. Longer replies are not kept."""


_CREATED = re.compile(
    r"(?:created|placed|sent|received|posted|issued|opened|submitted|booked|added)(?:_?(?:at|on|date|time))?"
)


class StaleRead(Catalogued):
    """A read is answered from a cache: with an earlier reply, or the state before the last write or the newest records.

    Source: ToolMaze, AgentDisruptBench, ReliabilityBench. An agent should look another way, or once more, before it
    acts on a value that should have changed. The first of these that differs from the truth is used; if none does, the
    reply passes. Behind a relay only earlier replies are known.
    """

    traits: ClassVar[Traits] = Traits(
        side="reply", layer="D", visible=False, recoverable_by=("cross-check", "retry"), follows="always", page=True
    )

    hours: float | None = Field(
        default=None,
        ge=0,
        description="Age of the cache in virtual hours, where nothing was written since: records made within it are not there. Unset,"
        " 168 times the severity.",
    )

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Answer a read with an older reply, if there is one that differs."""
        observation = await self.follow(call, proceed)
        if observation.is_error or call.request.tool.writes:
            return observation
        earlier = call.memory.get(_key(call.request))
        # Nearest to a real cache first: what this agent saw itself, then the state before a write, then age alone.
        if earlier is not None and earlier["text"] != observation.text:
            old = reworded(observation, earlier["text"], earlier["structured"])
            return self.signed(old)
        if call.world is None or not call.in_world:
            return observation
        before = call.snapshots.get(_BEFORE)
        if before is not None:
            return self._answered(before, call, observation) or observation
        with closing(call.world.fork()) as younger:
            _forget(younger, self._since(call))
            return self._answered(younger, call, observation) or observation

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Keep the first reply to every read, and the state before the last write."""
        if not call.request.tool.writes:
            observation = await proceed(call.request)
            if not observation.is_error and len(observation.text) <= MOST_KEPT:
                # Text and content are kept, not the observation: memory is JSON, since it is recorded and forked.
                kept = {"text": observation.text, "structured": observation.content}
                call.memory.setdefault(_key(call.request), kept)
            return observation
        before = None if call.world is None else call.world.fork()
        observation = await proceed(call.request)
        if before is None:
            return observation
        if observation.is_error:
            before.close()
        else:
            call.snapshots.keep(_BEFORE, before)
        return observation

    def _answered(self, state: WorldState, call: Call, observation: Observation) -> Observation | None:
        """Return the reply of an older state to a read; None if it is an error or the same reply."""
        # Otherwise a reply that states the time would differ by that alone.
        state.clock.moment = call.clock.moment
        old = state.answer(call.request)
        return None if old.is_error or old.text == observation.text else self.signed(old)

    def _since(self, call: Call) -> str:
        hours = 168 * self.severity if self.hours is None else self.hours
        return stamp(call.clock.moment - 3600 * hours)


def _forget(world: WorldState, since: str) -> None:
    """Set the world back to an instant: by its own means, or by deleting later records, as far as no other record needs them."""
    # A search world can answer as of a date; deleting rows there would leave links and the index behind.
    if world.age(since):
        return
    for table, columns in [*tables_of(world).items()] * 2:
        made = next((name for name in columns if _CREATED.fullmatch(name.lower())), None)
        if made is None:
            continue
        sql = f'delete from "{table}" where "{made}" > :since and "{made}" <= :now'
        # Two rounds: records that others refer to can be deleted only after those, or not at all.
        with suppress(InputError):
            world.execute(sql, {"since": since, "now": world.clock.now})


def _key(request: Request) -> str:
    return canonical([request.tool.name, request.arguments]).decode()
