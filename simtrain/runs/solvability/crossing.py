"""Get one call of a plan through: make it, then try what may help until the world is right and the reply is known."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from simtrain.agents.planned import Planned
from simtrain.agents.recovery import mend
from simtrain.agents.skills.fixing import fixed
from simtrain.agents.skills.moved import MOST, followed
from simtrain.agents.skills.remedies import Remedies
from simtrain.contracts.request import Request
from simtrain.contracts.scenario import Episode
from simtrain.runs.solvability.evidence import Believed, same_reply
from simtrain.runs.solvability.lines import Line, LineIsLong, Playing
from simtrain.runs.solvability.moves import (
    MOST_PAGES,
    completed,
    filled,
    names_one,
    next_page,
    reads,
    records_of,
    stand_ins,
    translated,
)
from simtrain.runs.solvability.truth import Truth, truth_of
from simtrain.values.errors import SimulatorFault
from simtrain.values.types import Observation

REPETITIONS = 2
WAITS = (1, 2, 4, 8)
REMEDIES = 3
FIXES = 4
READ_AGAIN = 2
READS = 8
RECORDS, WITNESSES = 40, 2
PAGES = 6

REFUSED, UNSEEN, WITHHELD, SPOILT = "refused", "unseen", "withheld", "spoilt"
"""Why a call did not get through: everything tried is refused; nothing shows the fault; values are unavailable; the world is wrong."""


async def cross(episode: Episode, playing: Playing, start: Line, planned: Planned, scope: AsyncExitStack) -> Line:
    """Return the line after a call, with the reply that the plan may continue with. `scope` closes its environments."""
    truth = truth_of(start.environment, planned)
    # The world itself would not answer this call, so there is no true reply to look for.
    if truth is None:
        line = await playing.play(start, planned, scope)
        return line.believing(line.last)
    scope.callback(truth.close)
    return await _Attempt(episode, playing, start, planned, truth, scope).result()


class _Attempt:
    def __init__(
        self, episode: Episode, playing: Playing, start: Line, planned: Planned, truth: Truth, scope: AsyncExitStack
    ) -> None:
        self.episode = episode
        self.playing = playing
        self.planned = planned
        self.truth = truth
        self.scope = scope
        self.start = self.line = start
        self.before = start.outcome
        self.received = Observation("", is_error=True)
        self.reply = truth.reply
        self.right = truth.left
        self.world = start.environment.world
        self.offered = {tool.name: tool for tool in start.environment.tools}
        self.own = {tool.name: tool for tool in self.world.tools}
        self.unseen = False
        self.first: Line | None = None

    async def result(self) -> Line:
        """Return the line after everything that helps; with doubts if the call did not get through."""
        # Cheapest first; waiting comes last, since it costs most calls and every call advances the clock.
        measures: tuple[Callable[[], Awaitable[None]], ...] = (
            self._made, self._paged, self._followed, self._refreshed, self._repeated, self._shown_again, self._mended, self._stood_in,
            self._undone, self._read, self._waited,
        )  # fmt: skip
        # An equivalent tool has already replaced this one, so it is tried first.
        if self.planned.tool in self.playing.switched:
            measures = (self._stood_in, *measures)
        for measure in measures:
            try:
                await measure()
            # What was reached so far is kept: the call may have got through in the meantime.
            except LineIsLong:
                break
            if self.settled or self.planned.tool in self.playing.closed:
                break
        if not self.settled and self.received.is_error and self.line.outcome == self.before and self._perturbed:
            # Nothing helped: the plan continues from the first refusal.
            self.playing.closed.add(self.planned.tool)
            if self.first is not None:
                self.line, self.received = self.first, self.first.last
        return self.line.believing(self.belief.observation, *self._doubts())

    @property
    def belief(self) -> Believed:
        """Return the reply as far as it can be believed by now."""
        return self.line.evidence.believe(self.planned, self.reply, self.received)

    @property
    def landed(self) -> bool:
        """True if the world is as the call should leave it."""
        return self.line.outcome == self.right

    @property
    def settled(self) -> bool:
        """True if the world is right and the whole reply is known."""
        return self.landed and not self.belief.gaps and not self.unseen

    @property
    def _perturbed(self) -> bool:
        """True if a perturbation changed the latest reply."""
        return bool(self.line.environment.steps and self.line.environment.steps[-1].events)

    def _doubts(self) -> tuple[str, ...]:
        if self.unseen:
            return (UNSEEN,)
        if not self.landed:
            return (REFUSED if self.received.is_error and self.line.outcome == self.before else SPOILT,)
        if not self.belief.gaps:
            return ()
        if self.received.is_error:
            return (REFUSED,)
        return (
            UNSEEN
            if self.line is not self.start and self.playing.silent(self.line) and not self._was_sent_on
            else WITHHELD,
        )

    @property
    def _was_sent_on(self) -> bool:
        """True if the call was redirected to another page, which the agent can see."""
        first = self.first.last if self.first is not None else None
        return first is not None and first.is_error and followed(self.planned, first.text) is not None

    async def _made(self) -> None:
        if self.planned.tool not in self.offered:
            return
        self.line = self.first = await self.playing.play(self.line, self.planned, self.scope)
        self.received = self.line.last
        # A reply without an error, after which no read shows that the world is wrong.
        if not self.landed and not self.received.is_error and not await self._can_be_noticed():
            self.unseen = True

    async def _followed(self) -> None:
        """Follow a page that has moved to where the error says."""
        onward = followed(self.planned, self.received.text) if self.received.is_error else None
        if onward is not None:
            await self._repeat(self.line, onward)

    async def _played(self, base: Line, planned: Planned) -> Line:
        """Return the line with one more call, and the calls that follow redirects."""
        line = await self.playing.play(base, planned, self.scope)
        for _ in range(MOST):
            onward = followed(planned, line.last.text) if line.last.is_error else None
            if onward is None:
                break
            planned = onward
            line = await self.playing.play(line, planned, self.scope)
        return line

    async def _repeated(self) -> None:
        for _ in range(REPETITIONS):
            if self.settled or self.landed_write or self.planned.tool not in self.offered:
                return
            await self._repeat(self.line, self.planned)

    @property
    def landed_write(self) -> bool:
        """True if the call wrote and took effect: repeating it would do it twice."""
        return self.landed and self.right != self.before

    async def _shown_again(self) -> None:
        """If a record is not found any more, repeat the reads that showed it before, then the call."""
        if not self.received.is_error or self.landed_write:
            return
        before = [read for read in self.line.evidence.telling_of(self.planned) if not self._writes(read)]
        for read in before[:READ_AGAIN]:
            line = await self.playing.play(self.line, read, self.scope)
            await self._repeat(line, self.planned)
            if not self.received.is_error:
                return

    async def _repeat(self, base: Line, planned: Planned) -> None:
        """Repeat the call; if the world is then neither as before nor as it should be, discard the repetition."""
        fresh = truth_of(base.environment, self.planned)
        reply, right = self.reply, self.right
        if fresh is not None:
            # Ids and times depend on the time of the call.
            if fresh.reply.is_error is self.truth.reply.is_error:
                reply = fresh.reply
            if base.outcome == self.before:
                right = fresh.left
            fresh.close()
        line = await self._played(base, planned)
        # For instance a second booking: the repetition did harm, so the line does not contain it.
        if line.outcome not in (right, base.outcome):
            return
        self.line, self.received, self.reply, self.right = line, line.last, reply, right

    async def _mended(self) -> None:
        tool, original = self.offered.get(self.planned.tool), self.own.get(self.planned.tool)
        if tool is None or original is None or not self.received.is_error:
            return
        # In turn: a renamed tool, arguments in the form of its schema, and arguments that were added.
        for other in (
            translated(self.planned, original, tool),
            Planned(tool.name, mend(self.planned.arguments, tool.input_schema)),
            completed(self.planned, original, tool),
        ):
            if other != self.planned and self.received.is_error and not self.landed_write:
                await self._repeat(self.line, other)
        other: Planned | None = self.planned
        for _ in range(FIXES):
            if not self.received.is_error or self.landed_write:
                return
            other = next(fixed(other, tool, self.received.text, self.line.evidence.known()), None)
            if other is None:
                return
            await self._repeat(self.line, other)

    async def _stood_in(self) -> None:
        # A write that left a wrong world cannot be repaired by a second one with another tool.
        base = self.start if self._damaged else self.line
        for other in stand_ins(self.planned, self.offered, self.own, self.episode.scenario.spec.equivalents):
            if self.landed_write:
                return
            line = await self._played(base, other)
            if self._better(line, line.last):
                self.line, self.received, self.unseen = line, line.last, False
                self.playing.switched.add(self.planned.tool)
                base = line
            if self.settled:
                return

    @property
    def _damaged(self) -> bool:
        return self.line.outcome not in (self.before, self.right)

    def _better(self, line: Line, received: Observation) -> bool:
        """True if a line has the right world and knows more of the reply."""
        if line.outcome != self.right:
            return False
        gaps = line.evidence.believe(self.planned, self.reply, received).gaps
        return not self.landed or len(gaps) < len(self.belief.gaps)

    async def _refreshed(self) -> None:
        """If calls are refused, use the tools that a perturbation added, and repeat."""
        if not self.received.is_error or self.landed_write:
            return
        spare = Remedies([*self.offered.values()], frozenset(self.own))
        known = self.line.evidence.known()
        for remedy in spare.against(self.received.text, self.planned, known):
            for _ in range(REMEDIES):
                line = await self.playing.play(self.line, remedy, self.scope)
                if line.last.is_error or self.planned.tool not in self.offered:
                    break
                await self._repeat(line, self.planned)
                if not self.received.is_error:
                    return

    async def _undone(self) -> None:
        """Complete a write that took effect partly or twice, or undo it and repeat."""
        if not self._damaged:
            return
        known = self.line.evidence.known()
        for tool in self.offered.values():
            arguments = filled(tool, self.planned, known) if tool.writes else None
            if arguments is None:
                continue
            line = await self.playing.play(self.line, Planned(tool.name, arguments), self.scope)
            if line.outcome == self.right:
                self.line = line
                return
            if line.outcome == self.before:
                await self._repeat(line, self.planned)
                return

    async def _paged(self) -> None:
        """Follow a cursor that the reply has and the true reply does not."""
        page = next_page(self.planned, self.received.content)
        for _ in range(MOST_PAGES):
            if page is None or self.settled or page == next_page(self.planned, self.truth.reply.content):
                return
            line = await self.playing.play(self.line, page, self.scope)
            # Paging must not change the world; a tool that does is not a list.
            if line.outcome != self.line.outcome:
                return
            self.line = line
            page = next_page(self.planned, line.last.content)

    async def _read(self) -> None:
        """Read missing values elsewhere; only reads that return some of them are made."""
        if not self.landed or self.unseen:
            return
        wanted = frozenset(key for key, _ in self.belief.gaps)
        for read in reads(self.planned, self.offered.values(), self.line.evidence.known(), wanted)[:READS]:
            await self._read_on(read)
            if self.settled:
                return
        for record in records_of(self.received.content)[:RECORDS]:
            known = {**self.line.evidence.known(), **record}
            own = frozenset(value for value in record.values() if isinstance(value, str))
            asking = [
                read for read in reads(self.planned, self.offered.values(), known, wanted) if names_one(read, own)
            ]
            # Each read is a call, and a list may have many records.
            for read in asking[:WITNESSES]:
                await self._read_on(read)
                if self.settled:
                    return

    async def _read_on(self, read: Planned) -> None:
        """Make a read, and go through its pages until one tells more of the reply."""
        line, page = self.line, read
        for _ in range(PAGES):
            line = await self.playing.play(line, page, self.scope)
            if self._better(line, self.received):
                self.line = line
                return
            onward = next_page(read, line.last.content)
            if onward is None or onward == page:
                return
            page = onward

    async def _waited(self) -> None:
        """Let time pass with harmless reads, and repeat."""
        if self.landed_write or self.unseen or self.planned.tool not in self.offered:
            return
        for waits in WAITS:
            base = await self.later(self.line, waits)
            if base is None:
                return
            await self._repeat(base, self.planned)
            if self.settled:
                return

    async def later(self, line: Line, count: int = 2) -> Line | None:
        """Return the line after some harmless reads; None if there are none."""
        known = line.evidence.known()
        candidates = reads(self.planned, self.offered.values(), known, frozenset(self.truth.reply.content or ()))
        # If there are no other reads, refused ones let time pass too.
        fresh = [read for read in candidates if not line.evidence.refused(read)]
        before = [read for read in line.evidence.answered() if not self._writes(read)]
        candidates = (fresh or before or candidates)[:READS]
        if not candidates:
            return None
        for number in range(count):
            line = await self.playing.play(line, candidates[(count - 1 + number) % len(candidates)], self.scope)
        return line

    async def _can_be_noticed(self) -> bool:
        """True if some read distinguishes the actual world from the intended one; makes the first such read."""
        known = self.line.evidence.known()
        true = self.reply.content
        if true is not None:
            known = {name: value for name, value in true.items() if not isinstance(value, dict | list)} | known
        for read in reads(self.planned, self.offered.values(), known, frozenset(true or ())):
            line = await self.playing.play(self.line, read, self.scope)
            right = self._rightly(read)
            if right is not None and not same_reply(right, line.last):
                self.line = line
                return True
        return False

    def _rightly(self, read: Planned) -> Observation | None:
        """Return the reply that a read would get if the world were right."""
        tool = self.own.get(read.tool)
        if tool is None:
            return None
        try:
            return self.truth.state.answer(Request(tool, read.arguments, 0, 0))
        except SimulatorFault:
            return None

    def _writes(self, planned: Planned) -> bool:
        tool = self.offered.get(planned.tool)
        return tool is None or tool.writes
