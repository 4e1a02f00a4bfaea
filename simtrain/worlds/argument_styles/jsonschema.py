"""Argument checks as servers on the first Python MCP SDK make them: the `jsonschema` package, which names the best match alone."""

from typing import Any, cast

from jsonschema import exceptions
from jsonschema.validators import validator_for
from referencing import Registry

from simtrain.contracts.argument_style import Check, CheckedArguments
from simtrain.files.json_schemas import validator
from simtrain.values.types import JsonObject


def jsonschema(tool: str, schema: JsonObject) -> Check:
    """Return the check by the schema alone, which reports the mistake that `jsonschema` ranks as the best match.

    Raises ValueError for an invalid JSON Schema, and for one that refers to another file.
    """
    compiled = validator(schema)
    # The compiled validator is a hundred times as fast; the slow one only words errors. An empty registry fetches no `$ref` from the net.
    words: Any = validator_for(schema)(schema, registry=Registry[Any]())

    def check(arguments: JsonObject) -> CheckedArguments:
        if compiled.is_valid(arguments):
            return CheckedArguments(arguments)
        found = cast(Any, exceptions).best_match(words.iter_errors(arguments))
        return CheckedArguments(arguments, found and found.message)

    return check
