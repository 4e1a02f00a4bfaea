"""The plan, carried out with general recovery skills."""

from __future__ import annotations

from collections import deque
from functools import cached_property
from typing import Literal

from pydantic import Field

from simtrain.agents.plan import Narrator, PlanPolicy, Walk, declining
from simtrain.agents.planned import Calling, Planned, Walking
from simtrain.agents.skills.across import Across, is_barred, is_closed, is_down
from simtrain.agents.skills.believing import Believing
from simtrain.agents.skills.needs import may_fail
from simtrain.agents.skills.remedies import Remedies
from simtrain.agents.skills.renamed import new_names, translated
from simtrain.agents.skills.state import skill_state
from simtrain.agents.skills.trusting import Trusting
from simtrain.agents.wording.ending import EndingWords
from simtrain.agents.wording.sentences import Sentences, WordedByModel
from simtrain.contracts.agent import Briefing
from simtrain.contracts.plan import Plan
from simtrain.contracts.user import ASK
from simtrain.llm.client import ChatClient
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, Observation


class Resilient(PlanPolicy):
    """The reference plan with recovery skills, one file each in `simtrain/agents/skills`.

    Retries what may pass, fixes calls by the error and the schema, uses tools that remove the cause of an error, finds
    renamed tools, and reads replies in any notation. Asks again if a reply is doubtful, looks elsewhere for what it
    does not say, verifies a write before repeating it, and declines honestly when every path is closed.
    """

    retries: int = Field(default=4, ge=0, description="How often one call is repeated.")
    checks: int = Field(
        default=4,
        ge=0,
        description="Doubtful reads that an episode repeats, and as many checks of writes that were reported done.",
    )
    doubt: Literal["odd", "writes", "always"] = Field(
        default="odd",
        description="When to doubt: after something odd was seen; also about every write; or about every reply.",
    )

    narrate: bool = Field(default=True, description="Write a sentence or two beside the calls of every turn.")
    worded_by: str | None = Field(
        default=None,
        min_length=1,
        description="A chat model that words the text beside calls, limited to what is in view; unset, built in.",
    )
    base_url: str | None = Field(default=None, description="Server of that model; OPENAI_BASE_URL when not given.")

    def walk(self, plan: Plan, briefing: Briefing) -> Walking:
        """Return every call with recovery; decline the task if the plan cannot go on."""
        return _honest(_Caller(plan, briefing, self))

    def voice(self, briefing: Briefing) -> Narrator | None:
        """Return a narrator that writes a sentence or two beside the calls of every turn; None if nothing is to be narrated."""
        if not self.narrate:
            return None
        client = self._client
        return (Sentences(briefing) if client is None else WordedByModel(briefing, client)).beside

    def facts(self) -> JsonObject:
        """Return the name of the model that words the sentences, if any."""
        return {} if self.worded_by is None else {"worded_by": self.worded_by}

    async def ready(self) -> None:
        """Check that the model that words the sentences is available. Raises InputError."""
        if self._client is not None:
            await self._client.ready()

    async def close(self) -> None:
        """Close the connections to that model."""
        if self._client is not None:
            await self._client.close()

    @cached_property
    def _client(self) -> ChatClient | None:
        return None if self.worded_by is None else ChatClient(self.worded_by, base_url=self.base_url)


def _honest(caller: _Caller) -> Walking:
    """Follow the walk; decline the task if it cannot go on, or if every write was barred.

    If it stops because replies lack something, they are suspect: walk once more, warily, and repeat the reads.
    """
    try:
        try:
            message = yield from caller.walk()
        except InputError:
            if not caller.begins_again():
                raise
            message = yield from caller.walk()
    except InputError as error:
        return caller.ending.of(declining(caller.last_error or str(error)))
    return message if caller.barred is None or message.abstain else caller.ending.of(declining(caller.barred))


class _Caller:
    def __init__(self, plan: Plan, briefing: Briefing, knobs: Resilient) -> None:
        self.ending = EndingWords(briefing)
        self._plan = plan
        self._stated = briefing.stated
        self._state = skill_state(
            plan, briefing, checks=knobs.checks, wary=knobs.doubt == "always", watchful=knobs.doubt == "writes"
        )
        self._names = new_names(plan.calls(), briefing.tools)
        planned = frozenset(self._names.get(step.call, step.call) for step in plan.calls())
        self._across = Across(
            self._state,
            Remedies(briefing.tools, planned),
            retries=knobs.retries,
            equivalents=briefing.equivalents or {},
        )
        self._believing = Believing(self._state, self._across)
        self._trusting = Trusting(self._state, self._across)
        self._may_fail = may_fail(plan)
        self._written = 0
        self._done: dict[bytes, deque[Observation]] = {}
        self._replayed: dict[bytes, deque[Observation]] = {}
        self._barred: str | None = None
        self.last_error: str | None = None

    def walk(self) -> Walking:
        """Return a walk through the plan, with every call made by `call`. Raises InputError where it cannot go on."""
        return Walk(self._plan, self._stated, call=self.call, together=self.is_read, ending=self.ending.of).run()

    def is_read(self, tool: str) -> bool:
        """True if a tool of the plan is offered and read-only."""
        offered = self._state.tools.get(self._names.get(tool, tool))
        return offered is not None and not offered.writes and offered.name != ASK

    @property
    def barred(self) -> str | None:
        """Return the error that barred the latest write, if no write has been carried out."""
        return None if self._written else self._barred

    def begins_again(self) -> bool:
        """True if the plan is worth walking once more, warily, without repeating its writes."""
        if self.last_error is not None or not self._state.checks:
            return False
        # The second walk compares replies from the start: one of the first was wrong without looking so.
        self._state.wary = True
        # Writes that were carried out are answered from the record: the second walk must not do them twice.
        self._replayed, self._done = self._done, {}
        return True

    def call(self, planned: Planned) -> Calling:
        """Make a call, and go on trying as long as that makes sense. Return the reply that counts."""
        if earlier := self._replayed.get(planned.key):
            observation = earlier.popleft()
        else:
            observation = yield from self._made(planned)
        if not self.is_read(planned.tool) and not observation.is_error:
            self._done.setdefault(planned.key, deque()).append(observation)
        return observation

    def _made(self, planned: Planned) -> Calling:
        """Raise InputError for a write that the service refuses on principle, if the plan relies on it."""
        known = planned.tool
        state = self._state
        state.beside = tuple(self._across.valid(translated(call, self._names, state.tools)) for call in planned.beside)
        planned = translated(planned, self._names, state.tools)
        heard = yield from self._across.make(planned)
        if heard.is_error:
            heard = (yield from self._believing.instead(planned)) or heard
        elif self._state.writes(planned):
            heard = yield from self._trusting.judge(heard)
        else:
            heard = yield from self._believing.judge(heard)
        self.last_error = heard.reply.text if heard.is_error else None
        if self._state.writes(planned):
            # One write that worked shows that the service takes writes; a later refusal is then about that call.
            self._written += not heard.is_error
            if heard.is_error and is_barred(heard.reply.text) and not self._across.speaks_of_request(heard):
                self._barred = heard.reply.text
                if is_closed(heard.reply.text) or (known not in self._may_fail and is_down(heard.reply.text)):
                    raise InputError(heard.reply.text)
        return heard.observation
