"""Get a call through: retry transient errors, fix wrong arguments, call a tool that removes the cause of an error."""

import re
from collections.abc import Mapping

from simtrain.agents.planned import CallReason, Planned
from simtrain.agents.recovery import Trouble, diagnose, mend, says_done
from simtrain.agents.skills.fixing import fixed
from simtrain.agents.skills.messages import message_in
from simtrain.agents.skills.moved import MOST, followed
from simtrain.agents.skills.remedies import Remedies
from simtrain.agents.skills.stand_ins import stand_ins
from simtrain.agents.skills.state import HeardReply, Hearing, Maybe, SkillState
from simtrain.files.json_schemas import validator
from simtrain.values.types import JsonObject, JsonValue, Observation, canonical, is_list

_ABSENT = re.compile(
    r"not[ _](?:be )?found|\b404\b|no[ _]such|does(?: not|n't) exist|(?:is|are|was) no\b|unknown|can(?:not| not|'t) find|could not find"
    r"|no \w+ (?:with|named|called)",
    re.IGNORECASE,
)
"""How services say that a record does not exist."""

_CLOSED = re.compile(
    r"\bquota\b|\bused up\b|until further notice|permanently|\bdiscontinued\b|end of life", re.IGNORECASE
)
"""How they say that a retry is pointless."""

_BARRED = re.compile(
    r"\b(?:401|403|507)\b|\bunauthori[sz]ed\b|\bforbidden\b|permission|not (?:allowed|permitted)|access (?:is )?denied|\blocked\b"
    r"|storage|not installed",
    re.IGNORECASE,
)
"""How they say that the fault is not in the request."""


class Across:
    """Makes calls, and applies the skills that help against errors."""

    def __init__(
        self, state: SkillState, remedies: Remedies, *, retries: int, equivalents: Mapping[str, tuple[str, ...]]
    ) -> None:
        self._state = state
        self._remedies = remedies
        self._retries = retries
        self._equivalents = equivalents
        self._switched: dict[str, str] = {}

    def make(self, planned: Planned) -> Hearing:
        """Return the reply to a call, or to the same call of an equivalent tool; the last error if nothing helps."""
        other = self._switched.get(planned.tool)
        heard = yield from self._attempt(planned if other is None else Planned(other, planned.arguments))
        named = self._equivalents.get(planned.tool, ())
        for other in stand_ins(heard.planned, self._state.tools, named=named):
            # A refusal of this very request would be the same on another server.
            if not heard.is_error or not self._is_down(heard):
                break
            again = yield from self._attempt(other, CallReason.instead)
            if not again.is_error:
                # Later calls go straight to the tool that works, and do not pay for the dead one again.
                self._switched[planned.tool] = other.tool
                return again
        return heard

    def _is_down(self, heard: HeardReply) -> bool:
        """True if the error is the service's, not the request's."""
        return diagnose(heard.reply.text) is not Trouble.arguments and not self.speaks_of_request(heard)

    def speaks_of_request(self, heard: HeardReply) -> bool:
        """True if an error names a value of the call, as refusals by a service's own rules do."""
        message = message_in(heard.reply.text)
        return any(
            isinstance(value, str) and len(value) > 2 and value in message for value in heard.planned.arguments.values()
        )

    def _attempt(self, planned: Planned, reason: CallReason | None = None) -> Hearing:
        """Return the reply to one call and its retries. Before a write is retried, reads check whether it took effect.

        A tool that is not offered is not called.
        """
        state = self._state
        # An agent must not decline before its first call: in that case it makes the call and judges the refusal itself.
        if planned.tool not in state.tools and state.asked:
            state.beside = ()
            return HeardReply(planned, Observation(f"No tool is offered under the name {planned.tool}.", is_error=True))
        planned = self.valid(planned)
        heard = yield from self._followed((yield from state.ask(planned, reason)))
        uncertain = searched = False
        for _ in range(self._retries):
            if not heard.is_error:
                break
            error, reason = heard.reply.text, CallReason.again
            trouble = diagnose(error)
            remedied = yield from self._remedied(planned, error)
            # Before all else: an error that names its cure passes for transient, and retrying alone never helps.
            if remedied is not None:
                heard = remedied
                continue
            if is_closed(error):
                break
            if trouble is Trouble.refused:
                # A record that was seen before and is gone now may have another id; one that never was is simply absent.
                if searched or not _ABSENT.search(error) or not (yield from self.search_again(planned)):
                    break
                searched, reason = True, CallReason.searched
            elif trouble is Trouble.arguments:
                tool = state.tools.get(planned.tool)
                planned, reason = next(fixed(planned, tool, error, state.memory.known), planned), CallReason.fixed
            elif trouble is Trouble.ambiguous and state.writes(planned):
                # A write that is retried blindly may be done twice, which no later call can undo.
                uncertain = True
                landed = yield from state.landed(planned)
                if landed is not None:
                    return landed
            else:
                # Items that were processed must not be sent again.
                planned = rest_of_batch(planned, error)
            heard = yield from self._followed((yield from state.ask(planned, reason)))
        if heard.is_error and uncertain and says_done(heard.reply.text):
            # The retry is refused because the first attempt took effect.
            return (yield from state.landed(planned, known=True)) or heard
        if not heard.is_error:
            state.verifier.note(planned, heard.observation)
        return heard

    def _followed(self, heard: HeardReply) -> Hearing:
        """Return the reply, or that of the address that it redirects to."""
        for _ in range(MOST):
            onward = followed(heard.planned, heard.reply.text) if heard.is_error else None
            if onward is None:
                break
            heard = yield from self._state.ask(onward, CallReason.onward)
        return heard

    def _remedied(self, planned: Planned, error: str) -> Maybe:
        """Return the reply after a tool removed the cause of an error; None if none did."""
        for remedy in self._remedies.against(error, planned, self._state.memory.known):
            tried = yield from self._state.ask(remedy, CallReason.remedy)
            if not tried.is_error:
                again = yield from self._state.ask(planned, CallReason.after_remedy)
                # Another error is progress: the cause is gone, and what is left is for the other skills.
                if again.reply.text != error:
                    return again
        return None

    def search_again(self, planned: Planned) -> Maybe:
        """Repeat the reads that returned a record which is not found now; None if no read returned it."""
        memory = self._state.memory
        found: HeardReply | None = None
        for value in planned.arguments.values():
            if not isinstance(value, str) or not memory.heard_of(value):
                continue
            for read in memory.showing(value, but=planned):
                if not self._state.doubt():
                    return found
                found = yield from self._state.ask(read, CallReason.searched)
                if not found.is_error and value in found.reply.text:
                    break
        return found

    def valid(self, planned: Planned) -> Planned:
        """Return the call; arguments that do not fit the tool's schema are fitted to it."""
        tool = self._state.tools.get(planned.tool)
        if tool is None or validator(tool.input_schema).is_valid(planned.arguments):
            return planned
        return Planned(planned.tool, mend(planned.arguments, tool.input_schema))


def is_closed(error: str) -> bool:
    """True if an error says that a retry is pointless."""
    return bool(_CLOSED.search(error))


def is_down(error: str) -> bool:
    """True if an error is transient: the service does not answer at the moment."""
    return diagnose(error) in (Trouble.ambiguous, Trouble.transient)


def is_barred(error: str) -> bool:
    """True if an error says that the service does not carry out such calls at all, rather than that its rules forbid this one."""
    return is_down(error) or is_closed(error) or bool(_BARRED.search(error))


def rest_of_batch(planned: Planned, error: str) -> Planned:
    """Return the call with only the items of a list that the error names as failed; unchanged if it names none or all."""
    message = message_in(error)
    for name, value in planned.arguments.items():
        items = value if is_list(value) else []
        failed = [item for item in items if _names(message, item)]
        if 0 < len(failed) < len(items) and "fail" in message.lower():
            arguments: JsonObject = {**planned.arguments, name: failed}
            return Planned(planned.tool, arguments)
    return planned


def _names(message: str, item: JsonValue) -> bool:
    text = item if isinstance(item, str) else canonical(item).decode()
    return text in message
