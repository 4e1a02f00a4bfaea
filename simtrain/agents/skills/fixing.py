"""Fix a call by its error and its schema: rename arguments, fill them in, convert their types."""

import re
from collections.abc import Iterator, Mapping

from simtrain.agents.planned import Planned
from simtrain.agents.recovery import mend
from simtrain.agents.skills.messages import message_in, quoted_in
from simtrain.agents.skills.naming import likeness
from simtrain.files.json_schemas import properties_of
from simtrain.values.types import JsonObject, JsonValue, ToolSpec, canonical

_INSTEAD = re.compile(r"did you mean|use|renamed to|replaced by|instead|now called", re.IGNORECASE)
_PLAIN: dict[str, JsonValue] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
_DEFAULT_TEXT = "Needed to carry out the task as asked."


def fixed(planned: Planned, tool: ToolSpec | None, error: str, known: Mapping[str, JsonValue]) -> Iterator[Planned]:
    """Yield the call with other arguments, most likely first; never the same twice, never unchanged."""
    # Seeded with the refused arguments: sending them once more would be refused once more.
    seen = {canonical(planned.arguments)}
    for arguments in _ways(planned.arguments, tool.input_schema if tool else {}, error, known):
        if canonical(arguments) not in seen:
            seen.add(canonical(arguments))
            yield Planned(planned.tool, arguments)


def _ways(
    arguments: JsonObject, schema: JsonObject, error: str, known: Mapping[str, JsonValue]
) -> Iterator[JsonObject]:
    quoted = quoted_in(error)
    given = [name for name in quoted if name in arguments]
    absent = [name for name in quoted if name not in arguments and re.fullmatch(r"[A-Za-z_][\w-]*", name)]
    if given and absent and _INSTEAD.search(message_in(error)):
        yield _renamed(arguments, given[0], absent[0])
    for name in absent:
        # A missing argument may be present under its old name.
        old = max(arguments, key=lambda other: likeness(name, other), default="")
        if likeness(name, old) >= 0.5:
            yield _renamed(arguments, old, name)
    properties = properties_of(schema)
    for name in absent:
        if name in properties:
            yield {**arguments, name: known.get(name, allowed_value(properties[name]))}
    if properties:
        yield mend(arguments, schema)


def _renamed(arguments: JsonObject, old: str, new: str) -> JsonObject:
    return {new if name == old else name: value for name, value in arguments.items()}


def allowed_value(schema: JsonObject) -> JsonValue:
    """Return a value that a schema allows: the first that it lists, else one of its type."""
    named = [*schema.get("enum", []), *schema.get("examples", [])]
    if "const" in schema or "default" in schema:
        return schema.get("const", schema.get("default"))
    return named[0] if named else _PLAIN.get(str(schema.get("type")), _DEFAULT_TEXT)
