"""Confirm writes that were reported as done: read, wait, and repeat those that do not show."""

from collections.abc import Generator

from simtrain.agents.planned import CallReason, Planned
from simtrain.agents.recovery import says_done
from simtrain.agents.skills.across import Across
from simtrain.agents.skills.confirming import WriteEvidence, contradicted, shown, witnesses
from simtrain.agents.skills.doubts import says_nothing
from simtrain.agents.skills.state import HeardReply, Hearing, SkillState
from simtrain.values.types import JsonObject, Observation

POLLS = 5
"""Reads after which a write that does not show counts as lost."""


class Trusting:
    """Judges the replies to writes."""

    def __init__(self, state: SkillState, across: Across) -> None:
        self._state = state
        self._across = across
        self._trusted: set[str] = set()

    def judge(self, heard: HeardReply) -> Hearing:
        """Return the reply that counts, after the write was confirmed or repeated."""
        heard = yield from self._completed(heard)
        if heard.content is None or heard.planned.tool in self._trusted or not self._is_doubted(heard, heard.content):
            return heard
        for witness in witnesses(heard.planned, heard.content, self._state.tools, self._state.memory):
            if not self._state.look():
                return heard
            verdict = yield from self._look(heard, witness, heard.content)
            if verdict is WriteEvidence.missing and not (yield from self._appears(heard, witness, heard.content)):
                again = yield from self._across.make(heard.planned)
                if again.is_error and says_done(again.reply.text):
                    # The write had taken effect, so reads that do not show it are no evidence, here and from now on.
                    self._trusted.add(heard.planned.tool)
                    return heard
                return again
            # One witness that says anything settles it; only silence asks the next one.
            if verdict is not WriteEvidence.nothing:
                return heard
        return heard

    def _is_doubted(self, heard: HeardReply, content: JsonObject) -> bool:
        """True if a write should be confirmed: something odd was seen, or its reply contradicts the call."""
        return self._state.wary or self._state.watchful or contradicted(heard.planned, content)

    def _completed(self, heard: HeardReply) -> Hearing:
        """Return the reply, completed from reads if it does not say what was done."""
        if heard.content is None or not says_nothing(heard.content):
            return heard
        return (yield from self._state.landed(heard.planned, known=True)) or heard

    def _appears(self, heard: HeardReply, witness: Planned, reply: JsonObject) -> Generator[Planned, Observation, bool]:
        """Return True if the write becomes visible after a while."""
        # A lagging replica shows the write after some reads; repeating it before would do it twice.
        for _ in range(POLLS):
            if (yield from self._look(heard, witness, reply)) is WriteEvidence.done:
                return True
        return False

    def _look(
        self, heard: HeardReply, witness: Planned, reply: JsonObject
    ) -> Generator[Planned, Observation, WriteEvidence]:
        seen = yield from self._state.ask(witness, CallReason.shows)
        return shown(heard.planned, reply, witness, seen, self._state.documented(witness))
