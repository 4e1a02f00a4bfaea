"""A perturbation meets a call: what entered it is compared with what left it, and that alone says whether it fired."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import TypeAlias

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

_ONLY: dict[tuple[bool, bool], tuple[Changed, ...]] = {
    (False, False): NOTHING, (True, False): ("clock",), (False, True): ("rows",), (True, True): ("clock", "rows"),
}  # fmt: skip
"""What was changed beside the reply: the clock, and rows."""


class Passage:
    """One perturbation around one call: `proceed` is its way on, `close` says what it changed.

    The first reply to the very request that came in is what there is without it, as long as no row was changed before it was asked
    for; else what the world would have said, else the reply to another request. The world is asked for what never came in;
    beforehand, where rows may be changed that it would be asked with.
    """

    __slots__ = (
        "_begun", "_call", "_clean", "_copies", "_foreseen", "_forestalled", "_forgets", "_inner", "_memory", "_moment", "_other",
        "_preview", "_state", "without",
    )  # fmt: skip

    def __init__(self, perturbation: Perturbation, call: Call, inner: Answer, fires: bool, preview: Preview) -> None:
        self.without: Observation | None = None
        """The reply without the perturbation, once it is closed; None where there is none to be had."""
        state = call.world
        self._call = call
        self._inner = inner
        self._preview = preview
        self._moment = call.clock.moment
        self._state: WorldState | None = state
        self._begun: Held | None = None if state is None else state.held()
        self._copies = call.snapshots.kept
        self._clean: Found | None = None
        self._other: Found | None = None
        self._foreseen: Found | None = None
        self._forestalled = False
        self._memory: JsonObject | None = None
        self._forgets = fires and perturbation.follows == "never"
        if self._forgets and call.memory:
            self._memory = deepcopy(call.memory)
        if fires and perturbation.effect == "before" and (perturbation.side == "state" or call.request.tool.writes):
            self._foreseen = preview(call.request, self._moment)

    async def proceed(self, onward: Request) -> Observation:
        """Pass a request on."""
        if self._clean is not None:
            return await self._inner(onward)
        call, state, begun = self._call, self._state, self._begun
        wrote = begun is not None and self._differs(begun)
        very = not wrote and (onward is call.request or is_same(onward, call.request))
        if very:
            # Let go: what the call itself writes need not be compared with what was there before.
            self._begun = None
        reply = await self._inner(onward)
        found = (reply, call.clock.moment, None if state is None else state.held())
        if very:
            self._clean = found
        elif self._other is None:
            self._other, self._forestalled = found, wrote
        return reply

    def close(self, observation: Observation) -> tuple[Changed, ...]:
        """What the call leaves otherwise than it would have without the perturbation, sorted.

        Where that is nothing, a perturbation that does not last forgets what it noted: it has not fired.
        """
        call, found = self._call, self._clean or self._foreseen or self._other
        if found is None and not self._differs(self._begun):
            found = self._preview(call.request, self._moment)
        self.without, moment, held = found or (None, self._moment, self._begun)
        rows = (self._forestalled and found is self._other) or self._differs(held)
        late = call.clock.moment != moment
        changed = _ONLY[late, rows] if self.without is observation else _changed(self.without, observation, late, rows)
        if call.snapshots.kept is not self._copies:
            call.snapshots.settle(self._copies, keep=bool(changed) or not self._forgets)
        if self._forgets and not changed and (call.memory or self._memory):
            call.memory.clear()
            call.memory.update(self._memory or {})
        return changed

    def _differs(self, held: Held | None) -> bool:
        state = self._state
        if held is None or state is None or held.version == state.version:
            return False
        return state.differs(held)


def _changed(without: Observation | None, observation: Observation, late: bool, rows: bool) -> tuple[Changed, ...]:
    """What was changed, sorted, where it is not the very reply that came."""
    changed: list[Changed] = []
    if late:
        changed.append("clock")
    if without is None or not same_reply(without, observation):
        changed.append("reply")
    if rows:
        changed.append("rows")
    if without is not None and without.wire != observation.wire:
        changed.append("wire")
    return tuple(changed)


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
