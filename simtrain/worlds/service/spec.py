"""A service world file as it is written."""

from __future__ import annotations

from functools import cached_property
from hashlib import blake2b
from typing import Annotated, Any, Literal, TypeAlias, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from simtrain.clock import DEFAULT_START, instant, seconds
from simtrain.documents import Document
from simtrain.errors import InputError
from simtrain.types import JsonObject, JsonValue, canonical
from simtrain.world import Variant, World

IDENTIFIER = r"^[A-Za-z_]\w*$"
Constraint: TypeAlias = Literal["unique", "check", "not_null", "foreign_key"]
Name: TypeAlias = Annotated[str, Field(pattern=IDENTIFIER)]


class _Spec(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class ClockSpec(_Spec):
    """Virtual time: where it starts and how far a tool call moves it."""

    start: str = DEFAULT_START
    per_step: str | float = 20.0

    @field_validator("start")
    @classmethod
    def _is_instant(cls, value: str) -> str:
        return _checked(value, instant)

    @field_validator("per_step")
    @classmethod
    def _is_duration(cls, value: str | float) -> str | float:
        return _checked(value, seconds)


def _checked(value: Any, parse: Any) -> Any:
    try:
        parse(value)
    except InputError as error:
        raise ValueError(str(error)) from None
    return value


class Block(_Spec):
    """Some rows of a table: literal ones, so many generated ones, or so many for each row of another table."""

    rows: list[dict[str, JsonValue]] | None = None
    each: str | None = None
    where: str | None = None
    count: int | tuple[int, int] = 1
    columns: dict[str, JsonValue] = Field(default_factory=dict, alias="with")


_BLOCK_KEYS = frozenset({"rows", "count", "each", "with"})


def _blocks(value: object) -> object:
    """One block, a list of blocks, or a list of literal rows: always as a list of blocks."""
    if isinstance(value, dict):
        return [cast(object, value)]
    if not isinstance(value, list) or not value:
        return cast(object, value)
    items = cast(list[object], value)
    blocks = any(not _BLOCK_KEYS.isdisjoint(cast(JsonObject, item)) for item in items if isinstance(item, dict))
    return items if blocks else [{"rows": items}]


_WrittenBlocks: TypeAlias = Block | list[Block] | list[dict[str, JsonValue]]


class Refusal(_Spec):
    """A precondition: when `if` holds, or `unless` does not, the call is refused with the error text."""

    holds: str | None = Field(default=None, alias="if")
    unless: str | None = None
    error: str
    label: str | None = Field(default=None, alias="as")


class ReadSpec(_Spec):
    """One query of a reply."""

    one: str | None = None
    rows: str | None = None
    value: str | None = None
    missing: str | None = None


class ConstraintTexts(_Spec):
    """What a service says when a constraint fails; `{what}` names the columns."""

    unique: str = "A record with this {what} already exists."
    check: str = "Invalid value for {what}."
    not_null: str = "{what} is required."
    foreign_key: str = "A referenced record does not exist."


class ErrorTexts(ConstraintTexts):
    """What a world's servers say before and while a tool runs."""

    unknown_tool: str = "Unknown tool: {tool}"
    bad_arguments: str = "Invalid arguments for tool {tool}: {detail}"


class ToolSource(_Spec):
    """A tool as it is written."""

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)?$", max_length=64)
    description: str = Field(min_length=1)
    input: dict[str, JsonValue] = Field(default_factory=dict)
    output: dict[str, JsonValue] | None = None
    let: dict[Name, str] = Field(default_factory=dict)
    ids: dict[Name, str] = Field(default_factory=dict)
    refuse: list[Refusal] = Field(default_factory=list[Refusal])
    write: list[str] = Field(default_factory=list)
    read: str | dict[str, JsonValue] | None = None
    page: int | None = Field(default=None, ge=1, le=1000)
    text: str | None = None
    handler: str | None = None
    writes: bool | None = None
    errors: dict[Constraint, str] = Field(default_factory=dict[Constraint, str])


class ServiceSpec(_Spec):
    """A service world: schema, rows, tools."""

    kind: Literal["service"]
    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    description: str = ""
    seed: int = 0
    clock: ClockSpec = ClockSpec()
    tables: str = Field(alias="schema")
    rows: dict[Name, Annotated[list[Block], BeforeValidator(_blocks, json_schema_input_type=_WrittenBlocks)]] = Field(
        default_factory=dict
    )
    after: list[str] = Field(default_factory=list)
    errors: ErrorTexts = ErrorTexts()
    tools: list[ToolSource] = Field(min_length=1)

    @classmethod
    def load(cls, document: Document) -> ServiceSource:
        """The source of a world, checked as far as it can be without building it. Raises InputError."""
        return ServiceSource(document, document.parse(cls))


class ServiceSource:
    """A service world file that was read and checked, not yet built."""

    kind = "service"

    def __init__(self, document: Document, spec: ServiceSpec) -> None:
        self.document = document
        self.spec = spec
        self.name = spec.name
        self._built: dict[Variant, World] = {}
        names = [tool.name for tool in spec.tools]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise document.error(("tools", index, "name"), f"the tool {name!r} stands twice", "rename one")

    @cached_property
    def digest(self) -> str:
        """A digest of what the file says; comments and layout do not count."""
        return blake2b(canonical(self.document.data), digest_size=16).hexdigest()

    def build(self, variant: Variant = Variant()) -> World:  # noqa: B008
        """The world in a variant, built once. Raises InputError with the place in the file."""
        from simtrain.worlds.service.world import ServiceWorld

        if variant not in self._built:
            self._built[variant] = ServiceWorld(self, variant)
        return self._built[variant]

    def input_schema(self, tool: ToolSource) -> JsonObject:
        """The JSON Schema of a tool's arguments: written out, or made from the short form."""
        source = tool.input
        if source.get("type") == "object" and isinstance(source.get("properties"), dict):
            return source
        properties: JsonObject = {}
        required: list[str] = []
        for name, given in source.items():
            entry: JsonObject = {"type": given} if isinstance(given, str) else dict(given or {})
            optional = entry.pop("optional", False) or "default" in entry
            properties[name] = entry
            if not optional:
                required.append(name)
        if tool.page is not None:
            properties.setdefault(
                "cursor",
                {"type": "string", "description": "Cursor of the page to fetch, from next_cursor of the reply before."},
            )
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
