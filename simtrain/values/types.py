"""The values that all packages share: tools, actions, observations and messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import orjson

from simtrain.values.tokens import Tokens

if TYPE_CHECKING:
    from typing_extensions import TypeIs


# JSON from outside is checked by schemas, not by Python types; only this alias says so.
JsonValue: TypeAlias = Any
JsonObject: TypeAlias = dict[str, JsonValue]


def is_object(value: object) -> TypeIs[JsonObject]:
    """True if a value is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeIs[list[JsonValue]]:
    """True if a value is a JSON array."""
    return isinstance(value, list)


def as_object(value: object) -> JsonObject:
    """Return a JSON object unchanged; for anything else an empty one."""
    return value if is_object(value) else {}


def encode(value: object) -> str:
    """Return compact JSON text, keys in their own order."""
    return orjson.dumps(value).decode()


def canonical(value: object) -> bytes:
    """Return compact JSON with sorted keys, the form for digests and comparisons."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def arguments_of(required: tuple[str, ...] = (), **properties: JsonValue) -> JsonObject:
    """Return the input schema of a tool that takes these arguments and refuses others."""
    return {**object_schema(required, **properties), "additionalProperties": False}


def object_schema(required: tuple[str, ...] = (), **properties: JsonValue) -> JsonObject:
    """Return the schema of an object with these properties, and any others."""
    return {"type": "object", "properties": properties, "required": list(required)}


def writable(value: JsonValue) -> JsonValue:
    """Return the value with every lone surrogate (valid in JSON escapes, not in UTF-8) replaced by a question mark."""
    if isinstance(value, str):
        # Lone surrogates come from models and from escapes in JSON; UTF-8, and so every file and socket, refuses them.
        return value.encode("utf-8", "replace").decode()
    if is_list(value):
        return [writable(item) for item in value]
    if is_object(value):
        return {writable(key): writable(item) for key, item in value.items()}
    return value


# No slots for parts of a trajectory: orjson writes a dataclass from its `__dict__` several times faster than from slots.


@dataclass(frozen=True)
class ToolSpec:
    """A tool as an agent is shown it. `input_schema` and `output_schema` are JSON Schemas (2020-12) of objects.

    The part of the name before the first dot is the server that offers it. `writes` says whether it may change the world.
    """

    ending: ClassVar[str] = ""
    """A list among the arguments: a call in which it is empty says that the task is complete."""

    name: str
    description: str
    input_schema: JsonObject
    output_schema: JsonObject | None = None
    writes: bool = False

    @property
    def server(self) -> str:
        """Return the server that offers the tool; empty if it has none."""
        return self.name.partition(".")[0] if "." in self.name else ""

    def completes(self, arguments: JsonObject) -> bool:
        """Return whether a call with these arguments says that the task is complete."""
        return bool(self.ending) and arguments.get(self.ending) == []


def complete(tools: Iterable[ToolSpec], calls: Iterable[Action]) -> bool:
    """Return whether one of some calls says that the task is complete."""
    ending = {tool.name: tool for tool in tools if tool.ending}
    return bool(ending) and any(call.tool in ending and ending[call.tool].completes(call.arguments) for call in calls)


WHOLE_CALL = "tool_call: "
"""Prefix of malformed arguments that are a whole call, which could otherwise be taken for arguments."""


@dataclass(frozen=True)
class Action:
    """One tool call by an agent. `id` is unique in its episode.

    `malformed` holds the arguments as they were written when they were not a JSON object; `arguments` is then empty. After
    WHOLE_CALL it holds the call itself, which was a JSON object, but not one of `name` and `arguments`. `written` is the text of
    the arguments if the agent wrote them differently from `encode`, so that its own text can be sent back to it.
    """

    id: str
    tool: str
    arguments: JsonObject
    malformed: str | None = None
    written: str | None = None

    @property
    def mistake(self) -> str | None:
        """Return the error in arguments that are not a JSON object; None if there is none."""
        if self.malformed is None:
            return None
        try:
            orjson.loads(self.malformed.removeprefix(WHOLE_CALL))
        except orjson.JSONDecodeError:
            return "not JSON"
        return "not a JSON object"


@dataclass(frozen=True)
class Usage:
    """The cost of model calls: tokens, and US dollars if prices are known."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cost + other.cost,
        )

    @property
    def tokens(self) -> int:
        """Return prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True)
class Provenance:
    """Who answered a call: the label of the world model, the cost of its answer, and the rule by which a world refused the call."""

    source: str
    model: str | None = None
    usage: Usage | None = None
    attempts: int = 1
    rule: str | None = None


@dataclass(frozen=True)
class Observation:
    """What a tool returned.

    `text` is what the agent reads. `structured` is the structured content if the text is not its JSON. `json` says that `text`
    is the structured content as JSON; it is then stored only once and parsed on demand (`content`). `wire` is the MCP reply on
    the wire, if text and structured content do not determine it: `{"result": ...}` or `{"error": ...}`, next to it
    `notifications`, `asks` and `rounds` as in a manifest's exchange.
    """

    text: str
    structured: JsonObject | None = None
    is_error: bool = False
    json: bool = False
    provenance: Provenance | None = None
    wire: JsonObject | None = None

    @property
    def content(self) -> JsonObject | None:
        """Return the structured content, parsed from the text if necessary; None if there is none."""
        if self.json:
            return orjson.loads(self.text)
        return self.structured


CUT = "length"
"""The finish reason of a reply that was cut off at max_tokens, or at the end of the context."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of an agent: its text, its reasoning, and its calls in order.

    A message without calls ends the episode: `answer` is what it answers (None: the whole text), `abstain` marks an answer
    that declines the task. `finish_reason` is the reason that the model's server gave for stopping. `written` and `tokens` are
    as in a Turn.
    """

    text: str = ""
    calls: tuple[Action, ...] = ()
    reasoning: str | None = None
    usage: Usage | None = None
    abstain: bool = False
    answer: str | None = None
    finish_reason: str | None = None
    written: str | None = None
    tokens: Tokens | None = None


@dataclass(frozen=True)
class Change:
    """One row of a world that an episode changed: `before` is None for a new row, `after` None for a deleted one."""

    rowid: int
    before: JsonObject | None
    after: JsonObject | None


Changes: TypeAlias = Mapping[str, tuple[Change, ...]]
"""The rows that an episode changed, by table; tables without a change are left out."""
