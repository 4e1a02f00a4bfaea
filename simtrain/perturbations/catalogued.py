"""Base of the perturbations in the catalogue: the replies that they make name them as their source."""

import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from simtrain.contracts.perturbation import Call, Perturbation
from simtrain.contracts.request import Answer
from simtrain.mcp_wire.raw_replies import reworded
from simtrain.perturbations.error_wordings import Kind, refusal
from simtrain.perturbations.reply_edits import content_of, rewritten
from simtrain.values.types import JsonObject, JsonValue, Observation, Provenance

_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


class Catalogued(Perturbation):
    """A perturbation of the catalogue. Its replies have its name as provenance."""

    @property
    def source(self) -> str:
        """The name in the catalogue, derived from the class: `rate_limit` for RateLimit."""
        return _name_of(type(self))

    def signed(self, reply: Observation) -> Observation:
        """Return the reply with this perturbation as its provenance."""
        return replace(reply, provenance=Provenance(self.source))

    def reply(self, text: str, *, is_error: bool = False) -> Observation:
        """Return a reply with this text."""
        return Observation(text, is_error=is_error, provenance=Provenance(self.source))

    def refusal(self, call: Call, kind: Kind, detail: str = "", *, retry_after: int | None = None) -> Observation:
        """Return the error that a call gets from its server. `detail` adds sentences; `retry_after` is in seconds of virtual time."""
        return refusal(call, kind, by=self.source, detail=detail, retry_after=retry_after)

    def reworded(self, reply: Observation, text: str, structured: JsonObject | None = None) -> Observation:
        """Return the reply with another text and structured content; its raw reply is changed alike."""
        return self.signed(reworded(reply, text, structured))

    def rewritten(
        self, call: Call, reply: Observation, content: JsonValue, words: Mapping[str, str] | None = None
    ) -> Observation:
        """Return the reply with other content, and its prose reworded to match; unchanged if that is impossible."""
        found = rewritten(reply, content, tool=call.request.tool, source=self.source, words=words, world=call.world)
        return found or reply


@lru_cache
def _name_of(kind: type[Perturbation]) -> str:
    return _CAPITAL.sub("_", kind.__name__).lower()


class Lasting(Catalogued):
    """Stays active from the call on which it fires. `follow` answers that call and later ones, using what `begin` noted."""

    def begin(self, call: Call) -> None:
        """Note in the memory that this fires on a call: the name of its tool, unless something else is to be known."""
        call.memory[call.request.tool.name] = True

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Begin, and answer the call like all later ones."""
        self.begin(call)
        return await self.follow(call, proceed)


class Refusing(Lasting):
    """Refuses calls from the one on which it fires; `refused` decides which ones."""

    @abstractmethod
    def refused(self, call: Call) -> Observation | None:
        """Return the error for a call, by what was noted; None for a call that passes."""

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Refuse a call, or pass it on."""
        return self.refused(call) or await proceed(call.request)


class ReplyPerturbation(Catalogued):
    """Changes the reply to a call that was carried out; errors are unchanged."""

    @abstractmethod
    def changed(self, call: Call, reply: Observation) -> Observation:
        """Return what arrives in place of a successful reply."""

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Pass the call on and change its reply."""
        reply = await proceed(call.request)
        return reply if reply.is_error else self.changed(call, reply)


class ContentPerturbation(ReplyPerturbation):
    """Changes the content of a reply, both structured and as text; replies that are not JSON are unchanged."""

    @abstractmethod
    def changed_content(self, call: Call, content: JsonValue) -> JsonValue:
        """Return the content that replaces this one."""

    def changed(self, call: Call, reply: Observation) -> Observation:
        """Return the reply with its content changed."""
        content = content_of(reply)
        changed = None if content is None else self.changed_content(call, content)
        return reply if changed == content else self.rewritten(call, reply, changed)
