"""A perturbation meets a call: what entered it is compared with what left it, and that alone says whether it fired."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import TypeAlias

from simtrain.clock import Clock
from simtrain.perturbation import Call, Perturbation
from simtrain.request import Answer, Request
from simtrain.trajectory import Changed
from simtrain.types import Changes, JsonObject, Observation
from simtrain.world import WorldState


class Reference:
    """What there is without a perturbation: the reply, virtual time, and the rows that differ from the base."""

    __slots__ = ("moment", "reply", "rows", "version")

    def __init__(self, reply: Observation | None, clock: Clock, state: WorldState | None) -> None:
        self.reply = reply
        self.moment = clock.moment
        self.version = 0 if state is None else state.version
        self.rows: Changes | None = None if state is None else state.changes()


Preview: TypeAlias = Callable[[Request, float], Reference | None]
"""What the world itself would answer at an instant, leaving no trace; None where it does not answer."""


class Passage:
    """The way on as one perturbation meets it: notes the first reply to the very request that came in, and the first to another one.

    A reply counts as one to the very request only where no row had been changed before it was asked for.
    """

    __slots__ = ("_clock", "_forestalled", "_inner", "_request", "_state", "begun", "clean", "other")

    def __init__(self, call: Call, inner: Answer) -> None:
        self._request = call.request
        self._inner = inner
        self._clock = call.clock
        self._state = call.world
        self.begun = Reference(None, call.clock, call.world)
        self.clean: Reference | None = None
        self.other: Reference | None = None
        self._forestalled = False

    async def proceed(self, onward: Request) -> Observation:
        """Pass a request on."""
        wrote = self.clean is None and self.wrote(self.begun)
        self._forestalled |= wrote and self.other is None
        very = self.clean is None and not wrote and is_same(onward, self._request)
        reply = await self._inner(onward)
        if very:
            self.clean = Reference(reply, self._clock, self._state)
        elif self.other is None:
            self.other = Reference(reply, self._clock, self._state)
        return reply

    def wrote(self, since: Reference) -> bool:
        """Whether the rows are other ones than they were."""
        state = self._state
        return state is not None and state.version != since.version and state.changes() != since.rows

    def changed(self, without: Reference | None, observation: Observation) -> tuple[Changed, ...]:
        """What the call leaves otherwise than it would have without the perturbation, sorted."""
        since = without or self.begun
        found: list[Changed] = []
        if self._clock.moment != since.moment:
            found.append("clock")
        if since.reply is not observation and (since.reply is None or not same_reply(since.reply, observation)):
            found.append("reply")
        if self.wrote(since) or (since is self.other and self._forestalled):
            found.append("rows")
        if since.reply is not None and since.reply.wire != observation.wire:
            found.append("wire")
        return tuple(found)


async def met(
    perturbation: Perturbation, call: Call, inner: Answer, *, fires: bool, preview: Preview
) -> tuple[Observation, Observation | None, tuple[Changed, ...]]:
    """What comes of a call on which a perturbation fires, or which it follows: the reply, the one without it, and what was changed.

    The world is asked for what never came in; beforehand, where rows may be changed that it would be asked with. On a call on which
    nothing was changed a perturbation that does not last forgets what it noted: it has not fired.
    """
    passage = Passage(call, inner)
    forgets = fires and perturbation.follows == "never"
    memory = _kept(call) if forgets else None
    foreseen = None
    if not fires:
        observation = await perturbation.follow(call, passage.proceed)
    else:
        if perturbation.effect == "before" and (perturbation.side == "state" or call.request.tool.writes):
            foreseen = preview(call.request, call.clock.moment)
        observation = await perturbation.apply(call, passage.proceed)
    without = passage.clean or foreseen or passage.other
    if without is None and not passage.wrote(passage.begun):
        without = preview(call.request, passage.begun.moment)
    changed = passage.changed(without, observation)
    if forgets:
        call.snapshots.settle(keep=bool(changed))
        if not changed:
            call.memory.clear()
            call.memory.update(memory or {})
    return observation, None if without is None else without.reply, changed


def _kept(call: Call) -> JsonObject | None:
    """What a perturbation has noted so far; None for nothing."""
    call.snapshots.hold()
    return deepcopy(call.memory) if call.memory else None


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
