"""A perturbation meets a call: what entered it is compared with what left it, and that alone says whether it fired."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import TypeAlias, cast

from simtrain.clock import Clock
from simtrain.perturbation import Call, Perturbation
from simtrain.request import Answer, Request
from simtrain.trajectory import Changed
from simtrain.types import JsonObject, Observation
from simtrain.world import Held, WorldState

Found: TypeAlias = tuple[Observation, float, Held | None]
"""What there is without a perturbation: a reply, the instant when it came, and the rows then (None where there is no world)."""

Preview: TypeAlias = Callable[[Request, float], Found | None]
"""What the world itself would answer at an instant, leaving no trace; None where it does not answer."""

NOTHING: tuple[Changed, ...] = ()


class Passage:
    """One perturbation around one call: `proceed` is its way on, `close` says what it changed.

    The first reply to the very request that came in is what there is without it, as long as no row was changed before it was asked
    for; else what the world would have said, else the reply to another request. The world is asked for what never came in;
    beforehand, where rows may be changed that it would be asked with.
    """

    __slots__ = (
        "_begun", "_call", "_clean", "_clock", "_fires", "_foreseen", "_forestalled", "_forgets", "_inner", "_memory", "_moment", "_other",
        "_perturbation", "_preview", "_state", "without",
    )  # fmt: skip

    def __init__(self, perturbation: Perturbation, call: Call, inner: Answer, *, fires: bool, preview: Preview) -> None:
        self._perturbation = perturbation
        self._call = call
        self._inner = inner
        self._fires = fires
        self._preview = preview
        self._clock: Clock = call.clock
        self._moment = call.clock.moment
        self._state: WorldState | None = call.world
        self._begun: Held | None = None if call.world is None else call.world.held()
        self._clean: Found | None = None
        self._other: Found | None = None
        self._foreseen: Found | None = None
        self._forestalled = False
        self._forgets = fires and perturbation.follows == "never"
        if self._forgets:
            call.snapshots.hold()
            self._memory: JsonObject | None = deepcopy(call.memory) if call.memory else None
        if fires and perturbation.effect == "before" and (perturbation.side == "state" or call.request.tool.writes):
            self._foreseen = preview(call.request, self._moment)

    async def meet(self) -> tuple[Observation, tuple[Changed, ...]]:
        """The reply with the perturbation, and what it changed."""
        bend = self._perturbation.apply if self._fires else self._perturbation.follow
        observation = await bend(self._call, self.proceed)
        return observation, self.close(observation)

    async def proceed(self, onward: Request) -> Observation:
        """Pass a request on."""
        if self._clean is not None:
            return await self._inner(onward)
        wrote = self._differs(self._begun)
        very = not wrote and is_same(onward, self._call.request)
        if very:
            # Let go: what the call itself writes need not be compared with what was there before.
            self._begun = None
        reply = await self._inner(onward)
        found = (reply, self._clock.moment, None if self._state is None else self._state.held())
        if very:
            self._clean = found
        elif self._other is None:
            self._other, self._forestalled = found, wrote
        return reply

    def close(self, observation: Observation) -> tuple[Changed, ...]:
        """What the call leaves otherwise than it would have without the perturbation, sorted.

        Where that is nothing, a perturbation that does not last forgets what it noted: it has not fired.
        """
        found = self._clean or self._foreseen or self._other
        if found is None and not self._differs(self._begun):
            found = self._preview(self._call.request, self._moment)
        self.without = None if found is None else found[0]
        changed = self._changed(observation, found)
        if self._forgets:
            self._call.snapshots.settle(keep=bool(changed))
            if not changed:
                self._call.memory.clear()
                self._call.memory.update(self._memory or {})
        return changed

    def _changed(self, observation: Observation, found: Found | None) -> tuple[Changed, ...]:
        if found is not None and found[0] is observation and found is self._clean:
            held = found[2]
            if (held is None or held.version == cast(WorldState, self._state).version) and found[
                1
            ] == self._clock.moment:
                return NOTHING
        changed: list[Changed] = []
        reply, moment, held = found or (None, self._moment, self._begun)
        if self._clock.moment != moment:
            changed.append("clock")
        if reply is not observation and (reply is None or not same_reply(reply, observation)):
            changed.append("reply")
        if self._differs(held) or (self._forestalled and found is self._other):
            changed.append("rows")
        if reply is not None and reply is not observation and reply.wire != observation.wire:
            changed.append("wire")
        return tuple(changed)

    def _differs(self, held: Held | None) -> bool:
        return held is not None and self._state is not None and self._state.differs(held)


def same_reply(one: Observation, other: Observation) -> bool:
    """Whether two replies say the same, whoever gave them."""
    if one.text != other.text or one.is_error is not other.is_error:
        return False
    if one.json is other.json:
        return one.structured == other.structured
    return one.content == other.content


def is_same(one: Request, other: Request) -> bool:
    """Whether two requests ask for the same."""
    return one is other or (one.tool == other.tool and one.arguments == other.arguments)
