"""The YAML of a service world file."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, cast

from pydantic import BeforeValidator, Field, field_validator, model_validator

from simtrain.files.file_model import Duration, FileModel, Instant
from simtrain.mcp_wire.annotations import flaw_of
from simtrain.values.clock import DEFAULT_START
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue, is_list, is_object
from simtrain.worlds.service.error_texts import ConstraintText, ErrorTexts

IDENTIFIER = r"^[A-Za-z_]\w*$"
Constraint: TypeAlias = Literal["unique", "check", "not_null", "foreign_key"]
Name: TypeAlias = Annotated[str, Field(pattern=IDENTIFIER)]


MAX_ROWS = 200_000
Count: TypeAlias = Annotated[int, Field(ge=0, le=MAX_ROWS)]


class ServiceClockSpec(FileModel):
    """Virtual time: its start, and how far each tool call advances it."""

    start: Instant = DEFAULT_START
    per_step: Duration = 20.0


class RowBlock(FileModel):
    """Rows of a table: literal rows, a count of generated ones, or a count for each row of another table."""

    rows: list[dict[str, JsonValue]] | None = None
    each: str | None = None
    where: str | None = None
    count: Count | tuple[Count, Count] = 1
    columns: dict[str, JsonValue] = Field(default_factory=dict, alias="with")

    @field_validator("count")
    @classmethod
    def _is_ascending(cls, value: int | tuple[int, int]) -> int | tuple[int, int]:
        if isinstance(value, tuple) and value[0] > value[1]:
            raise ValueError("a range begins with its lower end")
        return value


_BLOCK_KEYS = frozenset({"rows", "count", "each", "with"})


def _blocks(value: object) -> object:
    """Return one block, a list of blocks or a list of literal rows as a list of blocks."""
    if is_object(value):
        return [value]
    if not is_list(value) or not value:
        return value
    blocks = any(not _BLOCK_KEYS.isdisjoint(item) for item in value if is_object(item))
    return value if blocks else [{"rows": value}]


_WrittenBlocks: TypeAlias = RowBlock | list[RowBlock] | list[dict[str, JsonValue]]
Rows: TypeAlias = dict[Name, Annotated[list[RowBlock], BeforeValidator(_blocks, json_schema_input_type=_WrittenBlocks)]]
"""Table -> its rows, as a file writes them."""


class Refusal(FileModel):
    """A precondition: if `if` holds, or `unless` does not, the call is refused with the error text."""

    holds: str | None = Field(default=None, alias="if")
    unless: str | None = None
    error: str
    error_as: Literal["error", "result"] | int = Field(
        default="error", description="The refusal is an error reply, a plain reply, or a JSON-RPC error of this code."
    )
    label: str | None = Field(default=None, alias="as")

    @model_validator(mode="after")
    def _has_one_condition(self) -> Refusal:
        if (self.holds is None) == (self.unless is None):
            raise ValueError("a refusal needs either `if` or `unless`")
        return self


class ReadSpec(FileModel):
    """One query of a reply."""

    one: str | None = None
    rows: str | None = None
    value: str | None = None
    missing: str | None = None


class HandlerStep(FileModel):
    """A handler that makes rows from its arguments in the file."""

    handler: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict, alias="with")


class ToolSource(FileModel):
    """The YAML of a tool."""

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z][A-Za-z0-9_-]*)?$", max_length=128)
    description: str = Field(default="", description="What the tool does; may be left to the world's manifest.")
    descriptor: dict[str, JsonValue] = Field(
        default_factory=dict, description="Further fields of the MCP descriptor: title, annotations, icons, _meta."
    )
    input: dict[str, JsonValue] = Field(default_factory=dict)
    output: dict[str, JsonValue] | None = None
    let: dict[Name, str] = Field(default_factory=dict)
    ids: dict[Name, str] = Field(default_factory=dict)
    refuse: list[Refusal] = Field(default_factory=list[Refusal])
    write: list[str] = Field(default_factory=list)
    read: str | dict[str, JsonValue] | None = None
    page: int | None = Field(default=None, ge=1, le=1000)
    text: str | None = None
    each: str | None = Field(
        default=None,
        description="A list of the reply: `text` is written for each `item` of it, as a text block of its own.",
    )
    structured: bool = Field(default=True, description="Whether the reply has structured content beside its text.")
    handler: str | None = None
    unbound: bool = Field(default=False, description="Nothing answers the tool here: it says that it is not supported.")
    writes: bool | None = None
    errors: dict[Constraint, ConstraintText] = Field(default_factory=dict[Constraint, str])

    @field_validator("descriptor")
    @classmethod
    def _has_sound_annotations(cls, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        flaw = flaw_of(value)
        if flaw is not None:
            raise ValueError(flaw)
        return value

    def input_schema(self) -> JsonObject:
        """Return the JSON Schema of the arguments, made from the short form if need be. Raises InputError for an invalid one."""
        source = self.input
        if source.get("type") == "object" and is_object(source.get("properties")):
            return source
        properties: JsonObject = {}
        required: list[str] = []
        for name, given in source.items():
            if not isinstance(given, str | dict | None):
                raise InputError("an argument needs a JSON Schema or the name of a type", place=f"input.{name}")
            entry: JsonObject = {"type": given} if isinstance(given, str) else dict(cast(JsonObject, given or {}))
            optional = entry.pop("optional", False) or "default" in entry
            properties[name] = entry
            if not optional:
                required.append(name)
        if self.page is not None:
            properties.setdefault(
                "cursor",
                {"type": "string", "description": "Cursor of the page to fetch, from next_cursor of the reply before."},
            )
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


class ResourceSource(FileModel):
    """A resource or resource template of a server. `{variables}` in the URI are parameters of `read`, a SELECT for its text."""

    uri: str = Field(min_length=1)
    name: str = Field(min_length=1)
    server: str = ""
    mime_type: str | None = None
    read: str | None = None
    handler: str | None = None
    descriptor: dict[str, JsonValue] = Field(default_factory=dict)


class PromptArgument(FileModel):
    """An argument of a prompt; always text."""

    name: Name
    description: str = ""
    required: bool = False


class PromptSource(FileModel):
    """A prompt of a server: a text with its arguments filled in, or a handler that returns the MCP result."""

    name: str = Field(min_length=1)
    server: str = ""
    description: str = ""
    arguments: list[PromptArgument] = Field(default_factory=list[PromptArgument])
    text: str | None = None
    handler: str | None = None
    descriptor: dict[str, JsonValue] = Field(default_factory=dict)


class TablesSpec(FileModel):
    """The part of a world file that makes its database: schema, rows, statements that run after them, and the clock."""

    seed: int = 0
    clock: ServiceClockSpec = ServiceClockSpec()
    tables: str = Field(alias="schema")
    rows: Rows = Field(default_factory=dict)
    after: list[str | HandlerStep] = Field(default_factory=list[str | HandlerStep])


class ServiceSpec(TablesSpec):
    """A service world: schema, rows, tools."""

    kind: Literal["service"]
    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    description: str = ""
    manifest: str | None = Field(
        default=None, description="A captured manifest, beside this file, to be served verbatim."
    )
    errors: ErrorTexts = ErrorTexts()
    server_errors: dict[str, ErrorTexts] = Field(
        default_factory=dict[str, ErrorTexts],
        description="What single servers say instead; `{tool}` is then the name without the server.",
    )
    tools: list[ToolSource] = Field(min_length=1)
    resources: list[ResourceSource] = Field(default_factory=list[ResourceSource])
    prompts: list[PromptSource] = Field(default_factory=list[PromptSource])

    def errors_of(self, tool: str) -> ErrorTexts:
        """Return the error texts of a tool's server."""
        return self.server_errors.get(tool.partition(".")[0], self.errors)
