"""The contract of worlds: a source is read from YAML, built into a base, and opened once for every episode."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Protocol

from pydantic import BaseModel

from simtrain.contracts.argument_mistakes import ArgumentMistakes
from simtrain.contracts.refusal_words import NO_WORDS, RefusalWords
from simtrain.contracts.request import Request
from simtrain.files.yaml_files import Document, Place
from simtrain.values.clock import Clock
from simtrain.values.types import Changes, JsonObject, JsonValue, Observation, ToolSpec


@dataclass(frozen=True, slots=True)
class Variant:
    """A variant of a world: its seed (None: the one in the file), and row counts by table that replace the file's."""

    seed: int | None = None
    rows: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class ErrorStyle:
    """How a world's servers word errors that occur before any tool runs; `{tool}` and `{detail}` are filled in.

    `arguments` names the style (simtrain.argument_styles) in which arguments are checked and `{detail}` is worded.
    Unknown tools and bad arguments are answered as `unknown_tool_as` and `bad_arguments_as` say: `error` reply, plain
    `result`, or a JSON-RPC error of that code. `words` are the server's own and take precedence over those of the
    style. `unknown_tool_empty` is the text for an unknown tool that is called without arguments, if that
    differs.
    """

    unknown_tool: str = "Unknown tool: {tool}"
    bad_arguments: str = "Invalid arguments for tool {tool}: {detail}"
    arguments: str = "plain"
    unknown_tool_as: str | int = "error"
    bad_arguments_as: str | int = "error"
    words: RefusalWords = NO_WORDS
    unknown_tool_empty: str | None = None

    def unknown(self, tool: str, arguments: JsonObject) -> str:
        """Return the text for an unknown tool; a server may check first whether there are arguments."""
        text = self.unknown_tool if arguments or self.unknown_tool_empty is None else self.unknown_tool_empty
        return text.format(tool=tool)

    def refusal(self, tool: str, detail: str, mistakes: ArgumentMistakes) -> tuple[str, str | int]:
        """Return the text for bad arguments, and its channel."""
        # The server's recorded wording before the style: it is what a real client saw.
        own = self.words.refusal(tool, mistakes) if mistakes.found else None
        return own or (self.bad_arguments.format(tool=tool, detail=detail), self.bad_arguments_as)


@dataclass(frozen=True, slots=True)
class Offer:
    """A resource, a template of resources, or a prompt: its MCP descriptor, and the server that offers it (empty: the only one)."""

    server: str
    descriptor: JsonObject


@dataclass(slots=True, weakref_slot=True, eq=False)
class HeldRows:
    """The rows of a state at one moment, as `changes` reports them; None while they equal those of the state."""

    version: int
    rows: Changes | None = None


class WorldState(ABC):
    """A world open for one episode. It changes only through `answer`, `execute` and `partial`; `close` frees it.

    It may be called from any thread: calls are serialized.

    `version` changes whenever rows may have been written, or writes undone: while it is equal, no row has changed.
    """

    clock: Clock
    version: int

    @abstractmethod
    def answer(self, request: Request) -> Observation:
        """Carry out a tool call as one transaction: an error leaves no trace. Raises SimulatorFault."""

    def takes_time(self, request: Request) -> bool:
        """True if a call may take so long, depending on the agent's request, that others should not wait for it."""
        return False

    async def answer_aside(self, request: Request) -> Observation:
        """Return what `answer` does, in a thread, while others go on. Raises SimulatorFault."""
        return await asyncio.to_thread(self.answer, request)

    @abstractmethod
    def query(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> list[JsonObject]:
        """Return the rows of one SELECT over the current state. Raises InputError for SQL that does not run."""

    @abstractmethod
    def execute(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> int:
        """Carry out one writing statement and commit; returns the number of rows. Raises InputError."""

    @abstractmethod
    def partial(self, request: Request, statements: int) -> Observation:
        """Carry out the first `statements` writing statements of a tool call and commit them; return the full call's reply."""

    @abstractmethod
    def statements(self, request: Request) -> int:
        """Return how many writing statements a tool call has; 0 for a call that only reads."""

    @abstractmethod
    def savepoint(self) -> AbstractContextManager[None]:
        """Return a block whose writes are undone at its end."""

    @abstractmethod
    def changes(self) -> Changes:
        """Return the rows that differ from the base, ordered by table and row id."""

    def held(self) -> HeldRows:
        """Return the current rows, for `differs`."""
        return HeldRows(self.version, self.changes())

    def differs(self, held: HeldRows) -> bool:
        """True if the rows differ from those held."""
        return self.version != held.version and self.changes() != held.rows

    @abstractmethod
    def fork(self) -> WorldState:
        """Return an independent copy of the current state, clock included."""

    @abstractmethod
    def describe(self) -> str:
        """Return the current state in a few lines of text, for the prompt of a language world model."""

    def tell(self, tool: ToolSpec, content: JsonObject) -> str | None:
        """Return the text of a tool's reply with this structured content; None if the text is the content as JSON, or
        cannot be derived.
        """
        return None

    def age(self, date: str) -> bool:
        """Answer reads as of an earlier date from now on; return False if the world could do that only by losing its newest records."""
        return False

    def read_resource(self, uri: str, *, server: str = "") -> JsonObject | None:
        """Return the MCP ReadResourceResult of a resource; None if there is none. Raises SimulatorFault."""
        return None

    def fill_prompt(self, name: str, arguments: JsonObject, *, server: str = "") -> JsonObject | None:
        """Return the MCP GetPromptResult of a prompt; None if there is none. Raises ToolError for invalid arguments."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Release the state's resources; closing twice is allowed."""


class World(ABC):
    """A built world: an immutable base that any number of episodes open at once."""

    name: str
    kind: str
    seed: int
    digest: str
    tools: tuple[ToolSpec, ...]
    errors: ErrorStyle
    server_errors: Mapping[str, ErrorStyle] = MappingProxyType({})
    """Server -> its own style, if it differs from the world's."""
    descriptors: Mapping[str, JsonObject]
    """Tool name -> fields of its MCP descriptor that a ToolSpec lacks: title, annotations, icons, _meta."""
    manifest: Path | None
    """The manifest whose surface is served verbatim, if the world names one."""
    resources: tuple[Offer, ...] = ()
    prompts: tuple[Offer, ...] = ()
    domain: str = "mcp"
    """The domain of its tools, for scenarios that name none."""
    left_to_models: tuple[str, ...] = ()
    """Programs that the world leaves to a world model. What came of them is made up, so that its episodes earn no reward."""

    def errors_of(self, tool: str) -> ErrorStyle:
        """Return the error style of the server that a tool's name belongs to, even if there is no such tool."""
        return self.server_errors.get(tool.partition(".")[0], self.errors)

    def spoken_name(self, tool: str) -> str:
        """Return a tool's name in errors: a server with its own style may use another name."""
        server, _, plain = tool.partition(".")
        return self.descriptors.get(tool, {}).get("name", plain) if server in self.server_errors else tool

    @abstractmethod
    def open(self, changes: Changes | None = None) -> WorldState:
        """Return a fresh episode's state; with `changes`, the state that a recorded episode left behind."""

    @abstractmethod
    def query(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> list[JsonObject]:
        """Return the rows of one SELECT over the base. Raises InputError for SQL that does not run."""

    @abstractmethod
    def columns_read(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> frozenset[tuple[str, str]]:
        """Return the (table, column) pairs that a SELECT reads."""

    @abstractmethod
    def columns(self) -> Mapping[str, tuple[str, ...]]:
        """Return the writable columns of each table."""

    @abstractmethod
    def altered(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> World:
        """Return a copy of the world with one writing statement applied to its base, constraints not checked. Raises InputError."""

    @abstractmethod
    def backwards(self) -> World:
        """Return a copy that yields rows in reverse wherever a query does not order them."""

    @abstractmethod
    def describe(self) -> str:
        """Return the base in a few lines of text, for the prompt of a language world model."""


@dataclass(frozen=True, slots=True)
class FinishedWorld:
    """The initial and the current state of an episode's world, and the rows that differ."""

    initial: World
    final: WorldState
    changes: Changes


class WorldSource(Protocol):
    """A world file that was read and checked, not yet built. The plug-in table names one class for each `kind:` of world file."""

    kind: str
    file_model: ClassVar[type[BaseModel]]
    """The model of its world files, from which their JSON Schema is made."""
    name: str
    digest: str
    document: Document

    @classmethod
    def load(cls, document: Document) -> WorldSource:
        """Return the source of a world, checked as far as it can be without building it. Raises InputError."""
        ...

    def configured(self, document: Document, knobs: JsonObject, place: Place) -> WorldSource:
        """Return the same world, configured by a scenario's knobs. Raises InputError with their place in the scenario."""
        ...

    def build(self, variant: Variant = ...) -> World:
        """Build the world. Raises InputError, with the place in the file, for rows or SQL that fail."""
        ...


def one_value(rows: Sequence[JsonObject]) -> JsonValue:
    """Return the single value of a query's single row; None if there is no row."""
    return next(iter(rows[0].values())) if rows else None
