"""State shared by the skills in one episode: tools, needed fields, replies seen, and checks left."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias, cast

from simtrain.agents.planned import CallReason, Planned
from simtrain.agents.recovery import Trouble, diagnose, is_failure
from simtrain.agents.skills.doubts import is_certain
from simtrain.agents.skills.elsewhere import completed
from simtrain.agents.skills.memory import ReplyMemory
from simtrain.agents.skills.needs import kinds_read, lists_indexed, names_read
from simtrain.agents.skills.reading import content_of, named
from simtrain.agents.skills.typed import TypedReader
from simtrain.agents.verifying import WriteVerifier
from simtrain.contracts.agent import Briefing
from simtrain.contracts.plan import Plan
from simtrain.files.json_schemas import properties_of, validator
from simtrain.values.json_walk import texts_in
from simtrain.values.types import JsonObject, Observation, ToolSpec, encode, is_object

DOUBTS = 3
"""Calls allowed because of doubts, per call allowed out of caution."""


@dataclass(frozen=True, slots=True)
class HeardReply:
    """A reply as it came, and its content as far as it could be read."""

    planned: Planned
    reply: Observation
    content: JsonObject | None = None

    @property
    def is_error(self) -> bool:
        """True if the call was refused, or what it asked a shell for could not be done."""
        return is_failure(self.reply)

    @property
    def observation(self) -> Observation:
        """Return the reply in a form that the plan can use."""
        if self.is_error or self.content is None or self.content == self.reply.content:
            return self.reply
        return Observation(encode(self.content), json=True)

    def saying(self, content: JsonObject) -> HeardReply:
        """Return the reply with corrected content."""
        return HeardReply(self.planned, self.reply, content)


Hearing: TypeAlias = Generator[Planned, Observation, HeardReply]
Maybe: TypeAlias = Generator[Planned, Observation, HeardReply | None]


@dataclass(slots=True)
class SkillState:
    """One episode. `checks` limits the reads repeated out of caution, `looks` those that confirm a write, `doubts` those
    made because a reply is doubtful.

    `wary` is set once something odd was seen: from then on replies are compared and writes confirmed. `watchful` confirms
    writes even without it. `beside` are calls that go in the turn of the next one.
    """

    tools: Mapping[str, ToolSpec]
    needed: frozenset[str]
    indexed: frozenset[tuple[str, str]]
    memory: ReplyMemory
    verifier: WriteVerifier
    checks: int
    looks: int
    doubts: int
    wary: bool = False
    watchful: bool = False
    texts: frozenset[str] = field(default_factory=frozenset[str])
    beside: tuple[Planned, ...] = ()
    asked: int = 0
    """Calls made so far."""

    def ask(self, planned: Planned, reason: CallReason | None = None) -> Hearing:
        """Make one call and read its reply."""
        self.asked += 1
        # Calls of one turn are announced with the first of them; the others get their replies without a new turn.
        beside, self.beside = self.beside, ()
        reply = yield replace(planned, beside=beside, reason=reason)
        failed = is_failure(reply)
        content = None if failed else content_of(reply)
        if content is None:
            self.wary = self.wary or (failed and self.is_trouble(planned, reply.text))
            return HeardReply(planned, reply)
        schema, memory = self.documented(planned), self.memory
        shaped = named(content, schema, self.needed)
        reader = TypedReader(memory.capitals, self.texts, memory.kinds_with(shaped))
        heard = HeardReply(planned, reply, reader.read(shaped, schema))
        writes = self.writes(planned)
        if self._is_odd(heard) or (not writes and self.memory.contradicts(planned, heard.content or {})):
            self.wary = True
        self.memory.note(planned, cast(JsonObject, heard.content), writes=writes)
        return heard

    def is_trouble(self, planned: Planned, error: str) -> bool:
        """True if a healthy service would not return this error to a call that fits its tool."""
        trouble = diagnose(error)
        if trouble is not Trouble.arguments:
            return trouble is not Trouble.refused
        tool = self.tools.get(planned.tool)
        return tool is not None and validator(tool.input_schema).is_valid(planned.arguments)

    def _is_odd(self, heard: HeardReply) -> bool:
        """True if a reply does not fit its tool's output schema, or is not JSON."""
        content, schema = heard.reply.content, self.documented(heard.planned)
        if content is None or (schema is not None and not validator(schema).is_valid(content)):
            return True
        return is_certain(heard.content or {}, schema, self.needed)

    def landed(self, write: Planned, *, known: bool = False) -> Maybe:
        """Return the reply that a write would have had, from reads; None without a trace. `known`: it is known to have taken effect."""
        looking = self.verifier.look(write, landed=known)
        try:
            read = next(looking)
            while True:
                heard = yield from self.ask(read, CallReason.landed)
                read = looking.send(heard.observation)
        except StopIteration as found:
            reply = found.value
        if reply is None:
            return None
        return HeardReply(
            write, reply, completed(write, reply.content or {}, self.documented(write) or {}, self.memory)
        )

    def lacks_items(self, heard: HeardReply) -> bool:
        """True if a reply has an empty list from which the plan takes an item."""
        content = heard.content or {}
        return any(tool == heard.planned.tool and content.get(name) == [] for tool, name in self.indexed)

    def documented(self, planned: Planned) -> JsonObject | None:
        """Return the output schema of the called tool."""
        tool = self.tools.get(planned.tool)
        return None if tool is None else tool.output_schema

    def writes(self, planned: Planned) -> bool:
        """True if the called tool may change the world."""
        tool = self.tools.get(planned.tool)
        return tool is not None and tool.writes

    def check(self) -> bool:
        """True if one more read may be repeated for comparison; counts it."""
        if not self.wary:
            return False
        self.checks -= 1
        return self.checks >= 0

    def look(self) -> bool:
        """True if one more read may confirm a write; counts it."""
        self.looks -= 1
        return self.looks >= 0

    def doubt(self) -> bool:
        """True if one more call may be made because of a doubt; counts it."""
        self.doubts -= 1
        return self.doubts >= 0


def skill_state(plan: Plan, briefing: Briefing, *, checks: int, wary: bool, watchful: bool) -> SkillState:
    """Return the state of a new episode."""
    tools = {tool.name: tool for tool in briefing.tools}
    stated = dict(briefing.stated)
    texts = frozenset((*texts_in(stated), *_text_names(briefing.tools)))
    return SkillState(
        tools=tools,
        needed=names_read(plan),
        indexed=lists_indexed(plan),
        memory=ReplyMemory(stated, kinds=kinds_read(plan)),
        verifier=WriteVerifier(tools),
        checks=checks,
        looks=checks,
        doubts=DOUBTS * checks,
        wary=wary,
        watchful=wary or watchful,
        texts=texts,
    )


def _text_names(tools: tuple[ToolSpec, ...]) -> Iterator[str]:
    """Yield the names of arguments that are texts: fields of that name are texts even if they look like numbers."""
    for tool in tools:
        for name, schema in properties_of(tool.input_schema).items():
            if is_object(schema) and schema.get("type") == "string":
                yield name
