"""Getting a call across: repeated while the trouble may pass, fixed where it was wrong, its cause removed where a tool does that."""

import re
from collections.abc import Mapping

from simtrain.agents.plan import Planned
from simtrain.agents.reasons import CallReason
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
"""How services say that they do not know a record."""

_CLOSED = re.compile(
    r"\bquota\b|\bused up\b|until further notice|permanently|\bdiscontinued\b|end of life", re.IGNORECASE
)
"""How they say that to try again is in vain."""

_BARRED = re.compile(
    r"\b(?:401|403|507)\b|\bunauthori[sz]ed\b|\bforbidden\b|permission|not (?:allowed|permitted)|access (?:is )?denied|\blocked\b"
    r"|storage|not installed",
    re.IGNORECASE,
)
"""How they say that it is not the request that is wrong."""


class Across:
    """Makes calls, with what helps against errors."""

    def __init__(
        self, state: SkillState, remedies: Remedies, *, retries: int, equivalents: Mapping[str, tuple[str, ...]]
    ) -> None:
        self._state = state
        self._remedies = remedies
        self._retries = retries
        self._equivalents = equivalents
        self._switched: dict[str, str] = {}

    def make(self, planned: Planned) -> Hearing:
        """Return the reply to a call, or to its likeness of a tool that does the same; the last error where nothing helps."""
        other = self._switched.get(planned.tool)
        heard = yield from self._attempt(planned if other is None else Planned(other, planned.arguments))
        named = self._equivalents.get(planned.tool, ())
        for other in stand_ins(heard.planned, self._state.tools, named=named):
            if not heard.is_error or not self._is_down(heard):
                break
            again = yield from self._attempt(other, CallReason.instead)
            if not again.is_error:
                self._switched[planned.tool] = other.tool
                return again
        return heard

    def _is_down(self, heard: HeardReply) -> bool:
        """True if it is the service that will not, not the request that is wrong."""
        return diagnose(heard.reply.text) is not Trouble.arguments and not self.speaks_of_request(heard)

    def speaks_of_request(self, heard: HeardReply) -> bool:
        """True if an error names a value of the call, as a refusal by the rules of a service does."""
        message = message_in(heard.reply.text)
        return any(
            isinstance(value, str) and len(value) > 2 and value in message for value in heard.planned.arguments.values()
        )

    def _attempt(self, planned: Planned, reason: CallReason | None = None) -> Hearing:
        """Return one call, with its repetitions. Whether a write has landed is looked up before it is repeated.

        A tool that is not offered is not called.
        """
        state = self._state
        # Who has not made a single call has not looked: then the refusal itself is what is looked at.
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
            if remedied is not None:
                heard = remedied
                continue
            if is_closed(error):
                break
            if trouble is Trouble.refused:
                if searched or not _ABSENT.search(error) or not (yield from self.search_again(planned)):
                    break
                searched, reason = True, CallReason.searched
            elif trouble is Trouble.arguments:
                tool = state.tools.get(planned.tool)
                planned, reason = next(fixed(planned, tool, error, state.memory.known), planned), CallReason.fixed
            elif trouble is Trouble.ambiguous and state.writes(planned):
                # A write that is repeated unseen may be done twice, which no later call can undo.
                uncertain = True
                landed = yield from state.landed(planned)
                if landed is not None:
                    return landed
            else:
                planned = rest_of_batch(planned, error)
            heard = yield from self._followed((yield from state.ask(planned, reason)))
        if heard.is_error and uncertain and says_done(heard.reply.text):
            # The repetition is refused because the first attempt had landed.
            return (yield from state.landed(planned, known=True)) or heard
        if not heard.is_error:
            state.verifier.note(planned, heard.observation)
        return heard

    def _followed(self, heard: HeardReply) -> Hearing:
        """Return the reply, or that of the address it redirects to."""
        for _ in range(MOST):
            onward = followed(heard.planned, heard.reply.text) if heard.is_error else None
            if onward is None:
                break
            heard = yield from self._state.ask(onward, CallReason.onward)
        return heard

    def _remedied(self, planned: Planned, error: str) -> Maybe:
        """Return the reply after a tool has removed the cause of an error; None if none did."""
        for remedy in self._remedies.against(error, planned, self._state.memory.known):
            tried = yield from self._state.ask(remedy, CallReason.remedy)
            if not tried.is_error:
                again = yield from self._state.ask(planned, CallReason.after_remedy)
                if again.reply.text != error:
                    return again
        return None

    def search_again(self, planned: Planned) -> Maybe:
        """Make the reads again that told of a record which is not found now; None if nothing told of it."""
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
        """Return the call with arguments of the types that its tool takes, where those that it has do not fit."""
        tool = self._state.tools.get(planned.tool)
        if tool is None or validator(tool.input_schema).is_valid(planned.arguments):
            return planned
        return Planned(planned.tool, mend(planned.arguments, tool.input_schema))


def is_closed(error: str) -> bool:
    """True if an error says that to try again is in vain."""
    return bool(_CLOSED.search(error))


def is_down(error: str) -> bool:
    """True if an error is one that passes, of a service that does not answer now."""
    return diagnose(error) in (Trouble.ambiguous, Trouble.transient)


def is_barred(error: str) -> bool:
    """True if an error says that the service will not carry the call out at all, rather than that its rules speak against it."""
    return is_down(error) or is_closed(error) or bool(_BARRED.search(error))


def rest_of_batch(planned: Planned, error: str) -> Planned:
    """Return the call with those items of a list only that the error names as failed; the same where it names none, or all."""
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
