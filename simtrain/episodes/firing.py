"""The firing of a perturbation on a call. It fired if what came out differs from what would have come out without it."""

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
"""The outcome without a perturbation: a reply, the instant when it came, and the rows at that time (None if there is no world)."""

Preview: TypeAlias = Callable[[Request, float], Found | None]
"""Returns what the world itself would answer at an instant, without leaving a trace; None if it does not answer."""

NOTHING: tuple[Changed, ...] = ()

_ONLY: dict[tuple[bool, bool], tuple[Changed, ...]] = {
    (False, False): NOTHING, (True, False): ("clock",), (False, True): ("rows",), (True, True): ("clock", "rows"),
}  # fmt: skip
"""Changes beside the reply, by (late, rows changed). Shared tuples: this is looked up on every call."""


Prepare: TypeAlias = Callable[[Active, Request, int], Call]
"""Makes the `Call` that a perturbation receives, from a request and the index of the matching call."""

Note: TypeAlias = "Callable[[PerturbedCall, Observation, tuple[Changed, ...], bool], None]"
"""Records what a perturbation changed about a call, the reply that it gave, and whether that is one more firing."""

Perturbed: TypeAlias = "Callable[[PerturbationChain, int, Call], PerturbedCall]"
"""Makes the passage of a call through the perturbation at an index of the chain."""


def _no_preview(request: Request, moment: float) -> None:
    """Return None: there is no world that could be asked beforehand."""


@dataclass(slots=True, eq=False)
class PerturbationChain:
    """The way of one call through the perturbations that meet it, the first outermost, to whoever answers it."""

    involved: Sequence[tuple[Active, int]]
    """Each perturbation with the result of `Active.meets`."""
    answer: Answer
    prepare: Prepare
    note: Note
    perturbed: Perturbed | None = None
    preview: Preview = _no_preview
    held: HeldRows | None = None
    """The present rows, if the call only reads."""

    def enter(self, place: int, request: Request) -> PerturbedCall:
        """Return the passage of a request through the perturbation at an index."""
        active, matching = self.involved[place]
        return (self.perturbed or PerturbedCall)(self, place, self.prepare(active, request, matching))

    async def answered(self, request: Request) -> Observation:
        """Return the reply after it has passed all of them."""
        if not self.involved:
            return await self.answer(request)
        passage = self.enter(0, request)
        observation = await passage.taken()
        passage.leave(observation)
        return observation


class PerturbedCall:
    """One perturbation around one call: `proceed` passes the call on, `close` returns what was changed.

    The reply without the perturbation is, in this order: the first reply to the unchanged request, if no row was changed before it
    was asked for; what the world would have said; the reply to a changed request. If the perturbation never passes the request on,
    the world is asked in its stead, and beforehand if rows may be changed that its answer depends on.
    """

    __slots__ = (
        "_begun", "_clean", "_copies", "_foreseen", "_forestalled", "_forgets", "_memory", "_moment", "_next", "_other", "active",
        "call", "chain", "matching", "without",
    )  # fmt: skip

    def __init__(self, chain: PerturbationChain, place: int, call: Call) -> None:
        """`place` is the index of the perturbation in the chain."""
        self.without: Observation | None = None
        """The reply without the perturbation, set by `close`; None if it cannot be known."""
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
        # What it noted is put back if nothing came of it; otherwise a call that nothing happened to would change the next one.
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
        # Only the first pass can be the clean one: a retry or a duplicate may meet rows that the first changed.
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
            # Taken now, before the perturbation edits anything on the way back.
            found = (reply, call.clock.moment, _held(call.world, chain.held))
            if very:
                self._clean = found
            elif self._other is None:
                self._other, self._forestalled = found, wrote
        return reply

    def leave(self, observation: Observation) -> None:
        """Close the passage, settle the firing, and note what was changed."""
        changed = self.close(observation)
        fired = self.active.settle(self.matching, bool(changed))
        if changed:
            self.chain.note(self, observation, changed, fired)

    def close(self, observation: Observation) -> tuple[Changed, ...]:
        """Return which parts of the outcome differ from those without the perturbation, sorted.

        If none does, it has not fired, and a perturbation that does not last forgets what it noted.
        """
        call, found = self.call, self._clean or self._foreseen or self._other
        # A changed world would answer with the change in it, which is no clean reply.
        if found is None and not self._differs(self._begun):
            found = self.chain.preview(call.request, self._moment)
        self.without, moment, held = found or (None, self._moment, self._begun)
        rows = (self._forestalled and found is self._other) or self._differs(held)
        late = call.clock.moment != moment
        # The same object means the same reply; most calls pass untouched, and comparing them deeply would cost more than the call.
        changed = _ONLY[late, rows] if self.without is observation else _changed(self.without, observation, late, rows)
        if call.snapshots.kept is not self._copies:
            call.snapshots.settle(self._copies, keep=bool(changed) or not self._forgets)
        if self._forgets and not changed and (call.memory or self._memory):
            call.memory.clear()
            call.memory.update(self._memory or {})
        return changed

    def _differs(self, held: HeldRows | None) -> bool:
        state = self.call.world
        # The version counts writes. Rows are read and compared only when something was written since.
        if held is None or state is None or held.version == state.version:
            return False
        return state.differs(held)


def _held(state: WorldState | None, known: HeldRows | None) -> HeldRows | None:
    """Return the present rows of a state, or `known` if given; None if there is no world."""
    if known is not None and state is not None and known.version == state.version:
        return known
    return None if state is None else state.held()


def _changed(without: Observation | None, observation: Observation, late: bool, rows: bool) -> tuple[Changed, ...]:
    """Return what was changed, sorted, given two replies that are not the same object."""
    changed: list[Changed] = []
    if late:
        changed.append("clock")
    if without is None or not same_reply(without, observation):
        changed.append("reply")
    if rows:
        changed.append("rows")
    # The wire can differ alone: an observation carries what was sent (wire), what a client parses (structured, JSON) and what
    # a model reads (text), and a perturbation may touch one of them without the others.
    if without is not None and without.wire != observation.wire:
        changed.append("wire")
    return tuple(changed)


def same_reply(one: Observation, other: Observation) -> bool:
    """Return True if two replies have the same content, whoever gave them."""
    if one.text != other.text or one.is_error is not other.is_error:
        return False
    # The same parsed JSON (or none) leaves only the structured part to compare.
    if one.json is other.json:
        return one.structured == other.structured
    return one.content == other.content


def is_same(one: Request, other: Request) -> bool:
    """Return True if two requests call the same tool with the same arguments."""
    return one is other or (one.tool == other.tool and one.arguments == other.arguments)
