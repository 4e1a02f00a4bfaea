"""Tools as methods that TRL can read: transformers derives a function definition from signature, hints and docstring.

It equals the tool's own as far as type hints can express it; what they cannot express of an argument (bounds, patterns, the
properties of an object) follows its description as JSON Schema. The format of the docstrings is that of
https://huggingface.co/docs/transformers/chat_extras#passing-tools. `OfferedTool` is the same tool without loss.
"""

import keyword
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from inspect import Parameter, Signature
from typing import Any, Literal, TypeAlias

from simtrain.llm.tool_names import definition, wire_names
from simtrain.values.types import JsonObject, JsonValue, ToolSpec, as_object, encode, is_list, is_object

Carry: TypeAlias = Callable[[Any, str, JsonObject], str]
"""Carries out a call, given environment, tool and arguments; returns the reply as text."""

_TYPES: dict[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}

# A docstring says with these words that a section begins, or which values there are.
_SECTION = re.compile(r"\b(Args|Returns|Raises|choices):", re.IGNORECASE)


class OfferedTool(dict[str, JsonValue]):
    """A tool's function definition that can also be called: TRL lists dictionaries unchanged, and calls what it lists."""

    def __init__(self, tool: ToolSpec, name: str, call: Callable[[JsonObject], str]) -> None:
        super().__init__(definition(tool, name))
        self.__name__ = name
        self._call = call

    def __call__(self, **arguments: JsonValue) -> str:
        return self._call(arguments)


def method_names(tools: Iterable[str]) -> dict[str, str]:
    """Return tool name -> method name: the name on the wire, unless TRL ignores methods of that name.

    TRL ignores `reset`, `get_reward` and names that begin with an underscore; these get the prefix `tool_`.
    """
    natives = list(dict.fromkeys(tools))
    taken, shown = set(natives), dict[str, str]()
    for name in natives:
        other = name
        while _passed_over(other) or (other != name and other in taken):
            other = f"tool_{other}"
        taken.add(other)
        shown[name] = other
    wire = wire_names(shown.values())
    return {name: wire[other] for name, other in shown.items()}


def _passed_over(name: str) -> bool:
    # On the wire, what is neither a letter nor a digit may become an underscore.
    return name in ("reset", "get_reward") or not (name[:1].isascii() and name[:1].isalnum())


def tool_method(tool: ToolSpec, name: str, carry: Carry) -> Callable[..., str]:
    """Return the method of a tool, called `name`; `carry` receives the call under the tool's own names."""
    schema = tool.input_schema
    properties = {key: as_object(value) for key, value in as_object(schema.get("properties")).items()}
    required: JsonValue = schema.get("required") or ()
    arguments = argument_names(properties)
    natives = {argument: key for key, argument in arguments.items()}

    def method(self: object, /, **given: JsonValue) -> str:
        return carry(self, tool.name, {natives.get(argument, argument): value for argument, value in given.items()})

    parameters = [
        Parameter(
            arguments[key],
            Parameter.KEYWORD_ONLY,
            annotation=hint(value),
            default=Parameter.empty if key in required else value.get("default"),
        )
        for key, value in properties.items()
    ]
    receiver = Parameter("self", Parameter.POSITIONAL_ONLY)
    method.__name__ = method.__qualname__ = name
    method.__doc__ = docstring(tool, arguments, properties)
    method.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {"return": str}
    # transformers reads the signature, not the code: the method itself takes any keyword.
    vars(method)["__signature__"] = Signature([receiver, *parameters], return_annotation=str)
    return method


def argument_names(keys: Iterable[str]) -> dict[str, str]:
    """Return argument key -> its name in Python: a free identifier that is neither a keyword nor `self`."""
    names = list(dict.fromkeys(keys))
    found = {name: name for name in names if _usable(name)}
    taken = set(found.values())
    for name in names:
        if name not in found:
            found[name] = _free(name, taken)
            taken.add(found[name])
    return found


def _usable(name: str) -> bool:
    # Docstrings are read with `\w+:`; all identifiers of ASCII match it.
    return (
        name.isascii() and name.isidentifier() and not keyword.iskeyword(name) and name not in ("self", "cls", "return")
    )


def _free(name: str, taken: set[str]) -> str:
    plain = re.sub(r"\W", "_", name, flags=re.ASCII) or "argument"
    plain = f"{plain}_" if keyword.iskeyword(plain) or plain in ("self", "cls", "return") else plain
    plain = plain if _usable(plain) else f"argument_{plain}"
    while plain in taken:
        plain += "_"
    return plain


def hint(schema: JsonObject) -> Any:
    """Return the type hint closest to a JSON Schema."""
    if "const" in schema or "enum" in schema:
        return _choice(schema["enum"] if "enum" in schema else [schema["const"]])
    for union in ("anyOf", "oneOf"):
        if schema.get(union):
            return _either([hint(as_object(one)) for one in schema[union]])
    kind = schema.get("type")
    if is_list(kind):
        return _either([hint({**schema, "type": one}) for one in kind])
    if kind == "array":
        items = as_object(schema.get("items"))
        return list[hint(items)] if items else list
    if kind == "object":
        values = schema.get("additionalProperties")
        return dict[str, hint(values)] if is_object(values) and not schema.get("properties") else dict
    return _TYPES.get(str(kind), Any)


def _choice(values: Sequence[JsonValue]) -> Any:
    scalar = [value for value in values if isinstance(value, str | int | float | bool) or value is None]
    return Literal[tuple(scalar)] if scalar and len(scalar) == len(values) else Any


def _either(hints: Sequence[Any]) -> Any:
    if Any in hints or not hints:
        return Any
    if set(hints) == {type(None)}:
        return type(None)
    bare = [one for one in hints if one is not type(None)]
    union: Any = reduce(lambda one, other: one | other, bare)
    return union | None if len(bare) < len(hints) else union


def docstring(tool: ToolSpec, arguments: Mapping[str, str], properties: Mapping[str, JsonObject]) -> str:
    """Return a docstring in Google's format: what the tool does, then one line per argument."""
    lines = [_line(tool.description) or tool.name]
    if arguments:
        lines += [
            "",
            "Args:",
            *(f"    {arguments[key]}: {_described(properties[key]) or arguments[key]}" for key in arguments),
        ]
    return "\n".join(lines)


def _described(schema: JsonObject) -> str:
    unsaid = _unsaid(schema)
    parts = [_line(str(schema.get("description") or "")), f"JSON Schema: {encode(unsaid)}" if unsaid else ""]
    return " ".join(part for part in parts if part)


def _unsaid(schema: JsonObject) -> JsonObject:
    """Return the keywords of an argument's schema that its type hint does not express."""
    stated = {"type", "description", "enum", "const"}
    if schema.get("type") == "object" and not schema.get("properties"):
        stated |= {"additionalProperties", "properties"}
    if is_object(schema.get("items")) and not _unsaid(as_object(schema["items"])):
        stated.add("items")
    for union in ("anyOf", "oneOf"):
        if is_list(schema.get(union)) and not any(_unsaid(as_object(one)) for one in schema[union]):
            stated.add(union)
    if hint(schema) is Any:
        stated -= {"type", "enum", "const"}
    return {keyword: value for keyword, value in schema.items() if keyword not in stated}


def _line(text: str) -> str:
    """Return a description on one line, without words that would begin a section of the docstring."""
    return _SECTION.sub(r"\1 :", " ".join(text.split()))
