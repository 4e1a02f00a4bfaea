"""What the skills share in one episode: the tools, what is needed, what was heard, and how many checks may still be made."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from simtrain.agent.plan import Planned
from simtrain.agent.skills.elsewhere import completed
from simtrain.agent.skills.memory import Memory
from simtrain.agent.skills.messages import texts_in
from simtrain.agent.skills.needs import names_read
from simtrain.agent.skills.reading import content_of, named, plain
from simtrain.agent.verifying import Verifier
from simtrain.policy import Briefing
from simtrain.reference import Plan
from simtrain.types import JsonObject, JsonValue, Observation, ToolSpec, encode

DOUBTS = 3
"""Calls for which doubts give cause, to each that caution asks for."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A reply: as it came, and its content as far as it can be read."""

    planned: Planned
    reply: Observation
    content: JsonObject | None = None

    @property
    def is_error(self) -> bool:
        """Whether the call was refused."""
        return self.reply.is_error

    @property
    def observation(self) -> Observation:
        """The reply as a plan can go on with it."""
        if self.is_error or self.content is None or self.content == self.reply.content:
            return self.reply
        return Observation(encode(self.content), json=True)

    def saying(self, content: JsonObject) -> Heard:
        """The reply, corrected."""
        return Heard(self.planned, self.reply, content)


Hearing: TypeAlias = Generator[Planned, Observation, Heard]
Maybe: TypeAlias = Generator[Planned, Observation, Heard | None]


@dataclass(slots=True)
class Session:
    """One episode. `checks` bounds the reads that are compared out of caution, `looks` those that look after a write, `doubts` those
    for which a reply gives cause.
    """

    tools: Mapping[str, ToolSpec]
    needed: frozenset[str]
    memory: Memory
    verifier: Verifier
    checks: int
    looks: int
    doubts: int
    texts: frozenset[str] = field(default_factory=frozenset[str])

    def ask(self, planned: Planned) -> Hearing:
        """Make one call and read its reply."""
        reply = yield planned
        content = None if reply.is_error else content_of(reply)
        if content is None:
            return Heard(planned, reply)
        formed = cast(JsonObject, plain(content, heard=self.memory.capitals, texts=self.texts))
        heard = Heard(planned, reply, cast(JsonObject, named(formed, self.documented(planned), self.needed)))
        self.memory.note(planned, cast(JsonObject, heard.content), writes=self.writes(planned))
        return heard

    def landed(self, write: Planned, *, known: bool = False) -> Maybe:
        """The reply that a write would have had, as reads tell it; None where there is no trace of it. `known`: it has landed."""
        looking = self.verifier.look(write, landed=known)
        try:
            read = next(looking)
            while True:
                heard = yield from self.ask(read)
                read = looking.send(heard.observation)
        except StopIteration as found:
            reply = cast("Observation | None", found.value)
        if reply is None:
            return None
        return Heard(write, reply, completed(write, reply.content or {}, self.documented(write) or {}, self.memory))

    def documented(self, planned: Planned) -> JsonObject | None:
        """The output schema of the called tool."""
        tool = self.tools.get(planned.tool)
        return None if tool is None else tool.output_schema

    def writes(self, planned: Planned) -> bool:
        """Whether the called tool may change the world."""
        tool = self.tools.get(planned.tool)
        return tool is not None and tool.writes

    def check(self) -> bool:
        """Whether one more read may be compared; it is then counted."""
        self.checks -= 1
        return self.checks >= 0

    def look(self) -> bool:
        """Whether one more look may be taken after a write; it is then counted."""
        self.looks -= 1
        return self.looks >= 0

    def doubt(self) -> bool:
        """Whether one more call may be made because of a doubt; it is then counted."""
        self.doubts -= 1
        return self.doubts >= 0


def session_of(plan: Plan, briefing: Briefing, *, checks: int) -> Session:
    """A new episode."""
    tools = {tool.name: tool for tool in briefing.tools}
    stated = dict(briefing.stated)
    texts = frozenset((*texts_in(stated), *_text_names(briefing.tools)))
    return Session(tools, names_read(plan), Memory(stated), Verifier(tools), checks, checks, DOUBTS * checks, texts)


def _text_names(tools: tuple[ToolSpec, ...]) -> Iterator[str]:
    """The names of arguments that are texts: a field of that name is one, even where it looks like a number."""
    for tool in tools:
        for name, schema in cast("dict[str, JsonValue]", tool.input_schema.get("properties") or {}).items():
            if isinstance(schema, dict) and cast(JsonObject, schema).get("type") == "string":
                yield name
