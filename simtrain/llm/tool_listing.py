"""List tools in one line each, for a fraction of the tokens of their JSON Schemas.

`orders_search(customer: string, cursor?: string, limit?: integer = 20) - Find the orders of a customer, newest first.`
"""

import re
from collections.abc import Sequence

from simtrain.values.types import JsonObject, JsonValue, as_object, encode, is_list, is_object

_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n")
_DEEPEST = 3

_HOW = """\
Call a tool as in the example. Several calls may stand in one message. Then end it, and wait for the replies.
"""


def compact_listing(tools: Sequence[JsonObject], call_example: str = "") -> str:
    """Return the part of a system prompt that lists tools (given as function definitions) and shows an example call."""
    lines = "\n".join(tool_line(as_object(tool.get("function"))) for tool in tools)
    how = f"\n\n{_HOW}{call_example}" if call_example else ""
    return f"# Tools\n\n{lines}{how}"


def tool_line(function: JsonObject) -> str:
    """Return a tool in one line: `name(argument: type, optional?: type = default) - first sentence of its description`."""
    schema = as_object(function.get("parameters"))
    about = first_sentence(str(function.get("description") or ""))
    return f"{function.get('name')}({_arguments(schema, _DEEPEST)})" + (f" - {about}" if about else "")


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, or its first line if that is shorter."""
    return _SENTENCE_END.split(text.strip(), maxsplit=1)[0]


def _arguments(schema: JsonObject, deepest: int) -> str:
    given = schema.get("required")
    required: list[JsonValue] = given if is_list(given) else []
    return ", ".join(
        _argument(name, as_object(kind), name in required, deepest)
        for name, kind in as_object(schema.get("properties")).items()
    )


def _argument(name: str, schema: JsonObject, required: bool, deepest: int) -> str:
    default = f" = {encode(schema['default'])}" if schema.get("default") is not None else ""
    return f"{name}{'' if required else '?'}: {_type(schema, deepest)}{default}"


def _type(schema: JsonObject, deepest: int) -> str:
    """Return a JSON Schema in the short notation of type checkers: `string`, `"a"|"b"`, `integer[]`, `{x: number}`."""
    if "const" in schema:
        return encode(schema["const"])
    for key in ("enum", "anyOf", "oneOf"):
        choices = schema.get(key)
        if is_list(choices):
            return "|".join(encode(choice) if key == "enum" else _nested(choice, deepest) for choice in choices)
    kind = schema.get("type")
    if is_list(kind):
        return "|".join(_type({**schema, "type": one}, deepest) for one in kind)
    if kind == "array":
        items = _nested(schema.get("items"), deepest)
        return f"({items})[]" if "|" in items else f"{items}[]"
    if kind == "object" and is_object(schema.get("properties")) and deepest:
        return f"{{{_arguments(schema, deepest - 1)}}}"
    # Below the deepest level a bare "object" is left: a listing that long would save nothing.
    return str(kind or "any")


def _nested(schema: JsonValue, deepest: int) -> str:
    return _type(as_object(schema), deepest - 1) if deepest else "any"
