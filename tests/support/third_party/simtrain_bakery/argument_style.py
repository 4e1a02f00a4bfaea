"""An argument style: how this package's servers word what is wrong."""

from __future__ import annotations

from simtrain.contracts.argument_style import Check, CheckedArguments
from simtrain.files.json_schemas import validator
from simtrain.values.types import JsonObject


def grumpy(tool: str, schema: JsonObject) -> Check:
    """Says no more than that it does not like it."""
    compiled = validator(schema)

    def check(arguments: JsonObject) -> CheckedArguments:
        return CheckedArguments(arguments, None if compiled.is_valid(arguments) else f"I do not like this, said {tool}")

    return check
