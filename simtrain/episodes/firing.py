"""The firing of a perturbation on a call: the comparison of what entered with what left decides whether it fired."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TypeAlias

from simtrain.contracts.perturbation import Call
from simtrain.contracts.request import Answer, Request
from simtrain.contracts.trajectory import Changed
from simtrain.contracts.world import HeldRows, WorldState
from simtrain.episodes.active_perturbation import Active
from simtrain.values.types import JsonObject, Observation

Found: TypeAlias = tuple[Observation, float, HeldRows | None]
"""What there is without a perturbation: a reply, the instant when it came, and the rows then (None if there is no world)."""

Preview: TypeAlias = Callable[[Request, float], Found | None]
"""What the world itself would answer at an instant, leaving no trace; None if it does not answer."""

NOTHING: tuple[Changed, ...] = ()

_ONLY: dict[tuple[bool, bool], tuple[Changed, ...]] = {
    (False, False): NOTHING, (True, False): ("clock",), (False, True): ("rows",), (True, True): ("clock", "rows"),
}  # fmt: skip
"""What was changed beside the reply: the clock, and rows."""


Prepare: TypeAlias = Callable[[Active, Request, int], Call]
"""Makes the call that a perturbation is given, of a request and the index of the matching call."""

Note: TypeAlias = "Callable[[PerturbedCall, Observation, tuple[Changed, ...], bool], None]"
"""Keeps what a perturbation changed of a call, with the reply that it gave, and whether that is one more firing."""

Perturbed: TypeAlias = "Callable[[PerturbationChain, int, Call], PerturbedCall]"
"""Makes the way of a call through the perturbation at a place."""


def _no_preview(request: Request, moment: float) -> None:
    """Do nothing, for want of a world that could be asked beforehand."""


@dataclass(slots=True, eq=False)
class PerturbationChain:
    """The way of one call through the perturbations that meet it, the first outermost, to who answers it."""

    involved: Sequence[tuple[Active, int]]
    """Each with what `Active.meets` says of it."""
    answer: Answer
    prepare: Prepare
    note: Note
    perturbed: Perturbed | None = None
    preview: Preview = _no_preview
    held: HeldRows | None = None
    """The rows as they are, where the call only reads."""

    def enter(self, place: int, request: Request) -> PerturbedCall:
        """Return the way of a request through the perturbation at a place."""
        active, matching = self.involved[place]
        return (self.perturbed or PerturbedCall)(self, place, self.prepare(active, request, matching))

    async def answered(self, request: Request) -> Observation:
        """Return the answer through all of them."""
        if not self.involved:
            return await self.answer(request)
        passage = self.enter(0, request)
        observation = await passage.taken()
        passage.leave(observation)
        return observation


class PerturbedCall:
    """One perturbation around one call: `proceed` passes the call on, `close` returns what was changed.

    The first reply to the very request that came in is what there is without it, as long as no row was changed before it was asked
    for; else what the world would have said, else the reply to another request. The world is asked for what never came in;
    beforehand, where rows may be changed that it would be asked with.
    """

    __slots__ = (
        "_begun", "_clean", "_copies", "_foreseen", "_forestalled", "_forgets", "_memory", "_moment", "_next", "_other", "active",
        "call", "chain", "matching", "without",
    )  # fmt: skip

    def __init__(self, chain: PerturbationChain, place: int, call: Call) -> None:
        """`place` is that of the perturbation in the chain."""
        self.without: Observation | None = None
        """The reply without the perturbation, once it is closed; None if there is none to be had."""
        active, matching = chain.involved[place]
        kind = active.kind
        self.active = active
        self.matching = matching
        self.call = call
        self.chain = chain
        self._next = place + 1
        self._moment = call.clock.moment
        self._begun = _held(call.world, chain.held)
        self._copies = call.snapshots.kept
        self._clean: Found | None = None
        self._other: Found | None = None
        self._foreseen: Found | None = None
        self._forestalled = False
        self._memory: JsonObject | None = None
        self._forgets = matching > 0 and kind.forgets
        if self._forgets and call.memory:
            self._memory = deepcopy(call.memory)
        # Asked now: once it has changed rows, the world could no longer say what it would have said without it.
        if matching and kind.effect == "before" and (kind.side == "state" or call.request.tool.writes):
            self._foreseen = chain.preview(call.request, self._moment)

    def taken(self) -> Awaitable[Observation]:
        """Return what the perturbation answers."""
        kind = self.active.kind
        return (kind.apply if self.matching else kind.follow)(self.call, self.proceed)

    async def proceed(self, onward: Request) -> Observation:
        """Pass a request on."""
        call, chain = self.call, self.chain
        first = self._clean is None
        wrote = very = False
        if first:
            wrote = self._differs(self._begun)
            very = not wrote and (onward is call.request or is_same(onward, call.request))
            if very:
                # Let go: what the call itself writes need not be compared with what was there before.
                self._begun = None
        if self._next < len(chain.involved):
            inner = chain.enter(self._next, onward)
            reply = await inner.taken()
            inner.leave(reply)
        else:
            reply = await chain.answer(onward)
        if first:
            found = (reply, call.clock.moment, _held(call.world, chain.held))
            if very:
                self._clean = found
            elif self._other is None:
                self._other, self._forestalled = found, wrote
        return reply

    def leave(self, observation: Observation) -> None:
        """Close it, say of the firing whether it was one, and tell of what was changed."""
        changed = self.close(observation)
        fired = self.active.settle(self.matching, bool(changed))
        if changed:
            self.chain.note(self, observation, changed, fired)

    def close(self, observation: Observation) -> tuple[Changed, ...]:
        """Return what the call leaves otherwise than it would have without the perturbation, sorted.

        Where that is nothing, a perturbation that does not last forgets what it noted: it has not fired.
        """
        call, found = self.call, self._clean or self._foreseen or self._other
        # A changed world would answer with the change in it, which is no clean reply.
        if found is None and not self._differs(self._begun):
            found = self.chain.preview(call.request, self._moment)
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

    def _differs(self, held: HeldRows | None) -> bool:
        state = self.call.world
        if held is None or state is None or held.version == state.version:
            return False
        return state.differs(held)


def _held(state: WorldState | None, known: HeldRows | None) -> HeldRows | None:
    """Return the present rows of a state, or `known` if given; None if there is no world."""
    if known is not None and state is not None and known.version == state.version:
        return known
    return None if state is None else state.held()


def _changed(without: Observation | None, observation: Observation, late: bool, rows: bool) -> tuple[Changed, ...]:
    """Return what was changed, sorted, where it is not the very reply that came."""
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
    """True if two replies say the same, whoever gave them."""
    if one.text != other.text or one.is_error is not other.is_error:
        return False
    if one.json is other.json:
        return one.structured == other.structured
    return one.content == other.content


def is_same(one: Request, other: Request) -> bool:
    """True if two requests ask for the same."""
    return one is other or (one.tool == other.tool and one.arguments == other.arguments)
