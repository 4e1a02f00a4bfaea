"""The ledger of a language world model: facts established by its replies, with which later replies are compared."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TypeAlias

import orjson

from simtrain.contracts.request import Request
from simtrain.values.entities import PAGE, Entity, entities_in
from simtrain.values.tool_words import tool_words
from simtrain.values.types import JsonObject, JsonValue, Observation, canonical, is_list

SHOWN = 24
"""Most entities that are given back to the model with one call."""

VOLATILE = (
    "*cursor*", "*token*", "etag", "*request_id*", "now", "*elapsed*", "*duration*", "*score*", "*rank*", "retrieved*",
    "generated*", "fetched*", "page", "total*", "has_more", "count",
)  # fmt: skip
"""Globs of fields that may differ from reply to reply."""

_GONE = re.compile(r"not found|no such|does ?n[o']t exist|unknown|404|could not find", re.IGNORECASE)
_BACK = re.compile(r"restore|undelete|recover|trash|deleted|history|log|audit", re.IGNORECASE)
_CUT = re.compile(r"(…|\.\.\.)$")

Identity: TypeAlias = tuple[str, str]
"""Kind and id."""


@dataclass(slots=True)
class _Known:
    """An entity: the steps at which it was last shown (`seen`) and last written (`touched`), and its facts as JSON with their steps."""

    seen: int = 0
    touched: int = 0
    deleted: bool = False
    facts: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])


class Contradiction(ValueError):
    """A reply that contradicts earlier ones."""


class Ledger:
    """The facts that the replies of one episode have established."""

    def __init__(self, *, ignore: Iterable[str] = ()) -> None:
        """`ignore` holds globs of further fields that may differ from reply to reply."""
        self._entities: dict[Identity, _Known] = {}
        self._readings: dict[bytes, tuple[set[str], int]] = {}
        """Reading call -> the entities in its last reply, and the step of that reply."""
        self._ignored = (*VOLATILE, *ignore)
        self._step = 0
        self._last_write = 0

    def known(self, request: Request) -> str:
        """Return what is known about the entities that a call is about, one per line, for the model to keep to."""
        return "\n".join(self._line(identity) for identity in self._about(request))

    def check(self, request: Request, observation: Observation) -> None:
        """Raise a Contradiction for a reply that contradicts earlier ones."""
        if observation.is_error:
            self._check_absence(request, observation.text)
            return
        reply = _content(observation)
        found = entities_in(reply, tool=request.tool.name)
        mentioned = _values(request.arguments)
        for entity in found:
            self._check_entity(request, entity, named=entity.id in mentioned)
        if not request.tool.writes:
            self._check_reading(request, found)

    def note(self, request: Request, observation: Observation) -> None:
        """Note the facts in an accepted reply, and the entities that its call may have changed."""
        self._step += 1
        if observation.is_error:
            return
        found = entities_in(_content(observation), tool=request.tool.name)
        if request.tool.writes:
            # Which entities a write changes is not known, so everything it may have touched can differ from now on.
            self._last_write = self._step
            self._touch({*_values(request.arguments), *(entity.id for entity in found)})
        for entity in found:
            self._establish(entity)
        if request.tool.writes and tool_words(request.tool.name).intent == "delete":
            self._delete(request)
        if not request.tool.writes:
            self._readings[_call(request)] = {f"{entity.kind} {entity.id}" for entity in found}, self._step

    # Which entities a call is about

    def _about(self, request: Request) -> list[Identity]:
        """Return the entities that the arguments name; if they name none, those of the kind in the tool's name."""
        values = _values(request.arguments)
        named = sorted((known for known in self._entities if known[1] in values), key=lambda known: known[0])
        if not named:
            words = tool_words(request.tool.name)
            kinds = (words.noun, PAGE if words.intent == "search" else words.noun)
            named = [known for known in self._entities if known[0] in kinds]
        # Bounded, since this is part of the prompt of every call.
        return named[:SHOWN]

    def _line(self, identity: Identity) -> str:
        known, name = self._entities[identity], " ".join(identity)
        if known.deleted:
            return f"- {name}: deleted"
        facts = ", ".join(f"{field}={value}" for field, (value, _) in known.facts.items())
        return f"- {name}: {facts}" if facts else f"- {name}"

    # What contradicts

    def _check_entity(self, request: Request, entity: Entity, *, named: bool) -> None:
        before = self._entities.get((entity.kind, entity.id))
        if before is None:
            return
        words = tool_words(request.tool.name)
        # Deleting twice, and tools that list or restore deleted things, may mention it.
        if before.deleted and words.intent != "delete" and not _BACK.search(request.tool.name):
            raise Contradiction(
                f"{entity.kind} {entity.id} was deleted, and the reply speaks of it as if it were there"
            )
        if request.tool.writes:
            # An id among the arguments was chosen by the agent, and the server may accept it.
            if words.intent == "create" and entity.kind == words.noun and not named:
                raise Contradiction(f"the id {entity.id} of the new {entity.kind} is already taken")
            return
        for name, value in entity.fields.items():
            if self._may_differ(name):
                continue
            written, step = before.facts.get(name, ("", 0))
            # Facts from before the last write may have changed with it.
            if written and step >= before.touched and not _agree(written, value):
                raise Contradiction(
                    f"{name} of {entity.kind} {entity.id} is {written} since an earlier reply, and nothing has changed it"
                )

    def _check_absence(self, request: Request, text: str) -> None:
        if not _GONE.search(text) or request.tool.writes:
            return
        noun = tool_words(request.tool.name).noun
        for identity in _values(request.arguments):
            known = self._entities.get((noun, identity))
            if known is not None and not known.deleted and known.seen >= known.touched:
                raise Contradiction(f"{noun} {identity} exists since an earlier reply, and nothing has deleted it")

    def _check_reading(self, request: Request, found: list[Entity]) -> None:
        before, step = self._readings.get(_call(request), (set[str](), -1))
        # A write in between may have added or removed entries.
        if step < self._last_write:
            return
        now = {f"{item.kind} {item.id}" for item in found}
        if before != now:
            odd = sorted(before ^ now)[0]
            raise Contradiction(
                f"the same call was answered before with other entries ({odd}), and nothing has changed since"
            )

    def _may_differ(self, field: str) -> bool:
        return any(fnmatchcase(field.lower(), glob) for glob in self._ignored)

    # What is written down

    def _establish(self, entity: Entity) -> None:
        known = self._entities.setdefault((entity.kind, entity.id), _Known())
        known.seen, known.deleted = self._step, False
        for name, value in entity.fields.items():
            # Removed first, so that the latest value comes last.
            known.facts.pop(name, None)
            known.facts[name] = orjson.dumps(value).decode(), self._step

    def _touch(self, ids: set[str]) -> None:
        """Note that a write may have changed these entities, those that they refer to, and those that refer to them."""
        written = ids | {orjson.dumps(identity).decode() for identity in ids}
        own = [known for (_, identity), known in self._entities.items() if identity in ids]
        named = ids | {value.strip('"') for known in own for value, _ in known.facts.values()}
        for (_, identity), known in self._entities.items():
            if identity in named or any(value in written for value, _ in known.facts.values()):
                known.touched = self._step

    def _delete(self, request: Request) -> None:
        noun = tool_words(request.tool.name).noun
        for identity in _values(request.arguments):
            if (noun, identity) in self._entities:
                self._entities[noun, identity].deleted = True


def _content(observation: Observation) -> JsonValue:
    """Return the structured content of a reply, or its text parsed as JSON; None for prose."""
    if observation.content is not None:
        return observation.content
    try:
        return orjson.loads(observation.text)
    except orjson.JSONDecodeError:
        return None


def _values(arguments: JsonObject) -> set[str]:
    """Return the argument values that may be ids, as text."""
    found: set[str] = set()
    for value in arguments.values():
        items = value if is_list(value) else [value]
        found.update(str(item) for item in items if isinstance(item, str | int) and not isinstance(item, bool))
    return found


def _agree(written: str, value: JsonValue) -> bool:
    """Return True if a value equals the noted one; a text may be truncated."""
    before = orjson.loads(written)
    if isinstance(before, str) and isinstance(value, str):
        return before == value or _is_cut(before, value) or _is_cut(value, before)
    # 3 and 3.0 are equal in JSON, but not as bytes.
    if isinstance(before, int | float) and isinstance(value, int | float):
        return before == value
    return canonical(before) == canonical(value)


def _is_cut(text: str, whole: str) -> bool:
    """Return True if a text is the beginning of another, marked as such by an ellipsis."""
    beginning = _CUT.sub("", text)
    return beginning != text and whole.startswith(beginning)


def _call(request: Request) -> bytes:
    return canonical([request.tool.name, request.arguments])
