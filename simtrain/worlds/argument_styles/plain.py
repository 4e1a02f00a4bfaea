"""Plain argument checks: the input schema decides, and every mistake is named with its path."""

from typing import Any

from simtrain.contracts.argument_style import Check, CheckedArguments
from simtrain.files.json_schemas import validator
from simtrain.values.types import JsonObject


def plain(tool: str, schema: JsonObject) -> Check:
    """Return the check by the schema alone: nothing is coerced, and all mistakes are in one line."""
    compiled = validator(schema)

    def check(arguments: JsonObject) -> CheckedArguments:
        if compiled.is_valid(arguments):
            return CheckedArguments(arguments)
        return CheckedArguments(arguments, "; ".join(_explain(error) for error in compiled.iter_errors(arguments)))

    return check


def _explain(error: Any) -> str:
    path = ".".join(str(part) for part in error.instance_path)
    return f"{path}: {error.message}" if path else str(error.message)
