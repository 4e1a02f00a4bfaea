"""Argument checks as the Python MCP SDK makes them: a pydantic model per tool, lax coercion, and pydantic's own words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from typing import Annotated, Any, Literal, Union
from uuid import UUID

from pydantic import AnyUrl, BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic_core import ErrorDetails, InitErrorDetails, SchemaError

from simtrain.contracts.argument_style import Check, CheckedArguments
from simtrain.files.json_schemas import validator
from simtrain.values.json_walk import each_leaf
from simtrain.values.types import JsonObject, JsonValue, is_list, is_object

_VERSION = re.compile(r"(?m)^(    For further information visit https://errors\.pydantic\.dev/)[\d.]+/")
# Texts must not depend on the pydantic that is installed; the imitated servers link to this version.
_LINK = r"\g<1>2.14/"

_BEYOND = 2**63
_PLAIN: Mapping[str, Any] = {"integer": int, "number": float, "boolean": bool, "null": None}
# Even a strict model reads addresses leniently.
_ADDRESS = Annotated[AnyUrl, Field(strict=False)]
_FORMATS: Mapping[str, Any] = {
    "date": date, "date-time": datetime, "time": time, "duration": timedelta, "uri": _ADDRESS, "uuid": UUID,
}  # fmt: skip
_LIMITS: Mapping[str, str] = {
    "minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt", "multipleOf": "multiple_of",
    "minLength": "min_length", "maxLength": "max_length", "minItems": "min_length", "maxItems": "max_length", "pattern": "pattern",
}  # fmt: skip


def pydantic(tool: str, schema: JsonObject, *, strict: bool = False) -> Check:
    """Return the check of a server made with the Python SDK. Arguments come out coerced, without unknown ones, with defaults.

    A text for an argument that is not text is read as JSON first, as that SDK does. Raises ValueError for an invalid JSON Schema,
    and for limits that pydantic lacks. `strict`: nothing is coerced, as in servers with strict models.
    """
    types = _Types(schema, strict=strict)
    model = _compiled(types, schema.get("title", f"{tool.rpartition('.')[2]}Arguments"), schema)
    properties = schema.get("properties", {})
    structured = {name for name, described in properties.items() if not types.is_text(described)}

    def check(arguments: JsonObject) -> CheckedArguments:
        whole = each_leaf(arguments, _whole)
        given = {name: _parsed(value) if name in structured else value for name, value in whole.items()}
        try:
            found = model.model_validate(given)
        except ValidationError as error:
            return CheckedArguments(arguments, _VERSION.sub(_LINK, str(error)))
        return CheckedArguments(each_leaf(found.model_dump(mode="json", by_alias=True), _within))

    return check


def pydantic_strict(tool: str, schema: JsonObject) -> Check:
    """Return the check of a server made with the Python SDK that coerces nothing. Raises ValueError as `pydantic` does."""
    return pydantic(tool, schema, strict=True)


def pydantic_call(tool: str, schema: JsonObject) -> Check:
    """Return the check of a server made with FastMCP, where pydantic calls the tool's function: unknown arguments are refused.

    Raises ValueError as `pydantic` does.
    """
    title = f"call[{tool.rpartition('.')[2]}]"
    model = _compiled(_Types(schema, strict=False), title, schema)
    known = schema.get("properties", {})

    def check(arguments: JsonObject) -> CheckedArguments:
        problems: list[InitErrorDetails] = [
            {"type": "unexpected_keyword_argument", "loc": (name,), "input": value}
            for name, value in arguments.items()
            if name not in known
        ]
        try:
            found = model.model_validate(each_leaf(arguments, _whole))
            if not problems:
                return CheckedArguments(each_leaf(found.model_dump(mode="json", by_alias=True), _within))
        except ValidationError as error:
            problems = [*(_of_a_call(one) for one in error.errors(include_url=False)), *problems]
        return CheckedArguments(
            arguments, _VERSION.sub(_LINK, str(ValidationError.from_exception_data(title, problems)))
        )

    return check


def _of_a_call(found: ErrorDetails) -> InitErrorDetails:
    """Return a model's error as that of a function call, where a missing field is a missing argument."""
    missing = found["type"] == "missing" and len(found["loc"]) == 1
    kind = "missing_argument" if missing else found["type"]
    return {"type": kind, "loc": found["loc"], "input": found["input"], "ctx": found.get("ctx", {})}


def _compiled(types: _Types, name: str, schema: JsonObject) -> type[BaseModel]:
    validator(schema)
    try:
        return types.model(name, schema)
    except (PydanticUserError, SchemaError, TypeError, RecursionError) as error:
        raise ValueError(f"pydantic cannot check this schema: {error}") from None


def _whole(value: JsonValue) -> JsonValue:
    """Return a whole number beyond 64 bits, which arrives as a float, as the integer that the client wrote."""
    return int(value) if isinstance(value, float) and abs(value) >= _BEYOND and value.is_integer() else value


def _within(value: JsonValue) -> JsonValue:
    """Return an integer clamped to 64 bits; no server tells greater ones apart."""
    if isinstance(value, int) and abs(value) >= _BEYOND:
        return _BEYOND - 1 if value > 0 else 1 - _BEYOND
    return value


def _parsed(value: JsonValue) -> JsonValue:
    """Return a list, object or null written as JSON text, parsed; anything else unchanged."""
    if not isinstance(value, str):
        return value
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value
    # As the SDK's `pre_parse_json`: "123" and "true" stay text, which pydantic coerces where that is wanted.
    return value if isinstance(found, str | int | float) else found


def _union(types: Iterable[Any]) -> Any:
    return Union[tuple(types)]  # noqa: UP007


class _Types:
    """Python types for one JSON Schema and its definitions."""

    def __init__(self, root: JsonObject, *, strict: bool) -> None:
        self._root = root
        # Without protected namespaces, an argument may be called `model_name`.
        self._config = ConfigDict(protected_namespaces=(), strict=strict)
        self._models: dict[str, Any] = {}

    def model(self, name: str, schema: JsonObject) -> type[BaseModel]:
        """Return the model of an object with properties. Fields have neutral names, since an argument may be called `copy` or `_x`."""
        required = schema.get("required", [])
        fields: dict[str, Any] = {}
        properties = schema.get("properties", {})
        for index, (argument, described) in enumerate(properties.items()):
            default = ... if argument in required else described.get("default")
            # A default is validated too: an object among the defaults becomes a model, and is dumped like one that was given.
            whole = default is not ... and default is not None
            fields[f"f{index}"] = (
                self.annotation(described),
                Field(default, alias=argument, validate_default=whole),
            )
        return create_model(name, __config__=self._config, **fields)

    def is_text(self, described: JsonObject) -> bool:
        """True if a schema describes a text and nothing else."""
        return self.annotation({key: value for key, value in described.items() if key not in _LIMITS}) is str

    def annotation(self, schema: JsonValue) -> Any:
        """Return the type of a value that a schema describes."""
        if not is_object(schema):
            return Any
        if "$ref" in schema:
            return self._referred(schema["$ref"])
        if "const" in schema or "enum" in schema:
            return Literal[tuple(schema.get("enum", [schema.get("const")]))]
        for key in ("anyOf", "oneOf"):
            if schema.get(key):
                return _union(self.annotation(one) for one in schema[key])
        kind = schema.get("type")
        if is_list(kind):
            return _union(self.annotation({**schema, "type": one}) for one in kind)
        return self._limited(self._typed(kind, schema), schema)

    def _typed(self, kind: str | None, schema: JsonObject) -> Any:
        if kind == "string":
            return _FORMATS.get(schema.get("format", ""), str)
        if kind == "array":
            item = self.annotation(schema.get("items"))
            return set[item] if schema.get("uniqueItems") else list[item]
        if kind == "object":
            if schema.get("properties"):
                return self.model(schema.get("title", "Model"), schema)
            return dict[str, self.annotation(schema.get("additionalProperties"))]
        return _PLAIN.get(kind or "", Any)

    def _limited(self, annotation: Any, schema: JsonObject) -> Any:
        limits = {_LIMITS[key]: value for key, value in schema.items() if key in _LIMITS}
        if annotation is _ADDRESS or not limits:
            return annotation
        return Annotated[annotation, Field(**limits)]

    def _referred(self, reference: str) -> Any:
        if reference not in self._models:
            found: JsonValue = self._root
            for part in reference.removeprefix("#/").split("/"):
                found = found[part.replace("~1", "/").replace("~0", "~")]
            # Set first: a definition that contains itself then finds Any, and is checked one level deep.
            self._models[reference] = Any
            self._models[reference] = self.annotation({"title": reference.rpartition("/")[2], **found})
        return self._models[reference]
