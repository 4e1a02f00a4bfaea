"""The tools that an episode offers, with compiled checks of their arguments; shared by all episodes that offer the same."""

from __future__ import annotations

from typing import Any, cast

import jsonschema_rs

from simtrain.errors import InputError
from simtrain.types import JsonObject, ToolSpec


class Toolbox:
    """Tools by name, and whether arguments fit them."""

    __slots__ = ("_validators", "by_name", "tools")

    def __init__(self, tools: tuple[ToolSpec, ...]) -> None:
        """Raises ValueError for an input schema that is no JSON Schema."""
        self.tools = tools
        self.by_name = {tool.name: tool for tool in tools}
        self._validators = {tool.name: _validator(tool.input_schema) for tool in tools}

    def problem(self, tool: str, arguments: JsonObject) -> str | None:
        """What is wrong with the arguments, all of it in one line; None when they fit."""
        validator = self._validators[tool]
        if validator.is_valid(arguments):
            return None
        return "; ".join(_explain(error) for error in validator.iter_errors(arguments))


def check_schema(schema: JsonObject, *, place: str) -> None:
    """Refuse, with an InputError at the place of the mistake, what is no JSON Schema or refers to another file."""
    try:
        _validator(schema)
    except jsonschema_rs.ValidationError as error:
        parts = [part for part in cast(list[object], error.instance_path) if part != "properties"]
        raise InputError(
            f"not a JSON Schema: {error.message}", place=".".join(str(part) for part in (place, *parts))
        ) from None


def _validator(schema: JsonObject) -> Any:
    # A schema comes from a file that anybody may have written: it must not make us open an address or a file.
    return jsonschema_rs.validator_for(schema, offline=True)


def _explain(error: Any) -> str:
    path = ".".join(str(part) for part in cast(list[object], error.instance_path))
    return f"{path}: {error.message}" if path else str(error.message)
