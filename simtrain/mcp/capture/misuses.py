"""Tool calls with bad arguments, covering each kind of mistake: the replies show how a server words its errors."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TypeAlias, cast

from simtrain.contracts.argument_mistakes import resolved, types_of
from simtrain.mcp_wire.answers import fitting
from simtrain.mcp_wire.manifest import NO_ARGUMENT
from simtrain.values.types import JsonObject, JsonValue, as_object, is_list

MISUSES = 400
"""Maximum calls with bad arguments to one server."""

_TANGLED = 4
"""Tools that are called with several mistakes at once."""

_READS = re.compile(
    r"(?:^|[_\-./])(?:get|list|read|search|find|query|describe|show|fetch|view|lookup|count|status|convert|current"
    r"|inspect|info|compare|diff|explain|preview|validate|calculate|analy[sz]e|summari[sz]e|stats?|history|tree|exists)",
    re.IGNORECASE,
)
_CHANGES = re.compile(
    r"delete|remove|drop|kill|send|post|pay|purge|reset|revoke|merge|close|shutdown|destroy|wipe|clear|execute|exec|run|write"
    r"|replace|create|update|insert|rename|upload|save|edit|(?:^|[_\-./])(?:add|set|put|move)(?![a-z])",
    re.IGNORECASE,
)

_OF_OTHER_TYPE: Mapping[str, JsonValue] = {
    "string": 7_070_707, "integer": "no number", "number": "no number", "boolean": "no answer", "array": "no list",
    "object": "no object",
}  # fmt: skip
"""A wrong-typed value for each JSON type; the number cannot be an open file descriptor."""

_NOT_LISTED = "none of these"

_TEXT = "simtrain_text"
"""Placeholder for any text: a refusal that contains it is about the text, not about the mistake being tested."""

Call: TypeAlias = tuple[str, JsonObject]


def misuses(tools: Sequence[JsonObject], *, writes: bool) -> Iterator[Call]:
    """Return at most MISUSES calls with bad arguments to the read-only tools, or to all; the most informative first."""
    named = [tool for tool in tools if isinstance(tool.get("name"), str) and (writes or _only_reads(tool))]
    parts = [_Misused(tool) for tool in named]
    calls = chain(
        *(part.of_nothing() for part in parts),
        *(part.of_several() for part in [part for part in parts if len(part.required) > 1][:_TANGLED]),
        *(part.of_one() for part in parts),
    )
    return islice(calls, MISUSES)


def sure_misuses(tools: Sequence[JsonObject]) -> Iterator[Call]:
    """Return calls without required arguments, to at most two tools: a library that validates first refuses them before the tool runs."""
    named = [tool for tool in tools if isinstance(tool.get("name"), str)]
    # Even a refused call is not made to a tool that says it destroys.
    harmless = [tool for tool in named if as_object(tool.get("annotations")).get("destructiveHint") is not True]
    needy = [part for part in map(_Misused, harmless) if part.required]
    return chain(*(part.of_nothing() for part in needy[:2]))


class _Misused:
    """The calls to one tool."""

    def __init__(self, tool: JsonObject) -> None:
        self.name = tool["name"]
        schema = as_object(tool.get("inputSchema"))
        self._known = {name: resolved(given, schema) for name, given in as_object(schema.get("properties")).items()}
        self.required = cast("list[str]", schema.get("required") or [])
        self._whole: JsonObject = {name: plausible(self._known.get(name, {}), schema) for name in self.required}
        self._schema = schema

    def of_nothing(self) -> Iterator[Call]:
        """Yield calls without the required arguments, and with unknown ones."""
        if self.required:
            yield self.name, {}
            yield self.name, {NO_ARGUMENT: 1}

    def of_several(self) -> Iterator[Call]:
        """Yield calls with several mistakes: wrong-typed values, once with required arguments missing."""
        wrong = {name: value for name in self.required for value in self._wrong(name)[:1]}
        if len(wrong) > 1:
            yield self.name, self._whole | wrong
        for name in list(wrong)[-1:]:
            yield self.name, {name: wrong[name]}

    def of_one(self) -> Iterator[Call]:
        """Yield calls that omit each required argument, and calls with an invalid value for each argument."""
        for name in self.required if len(self.required) > 1 else ():
            yield self.name, {other: value for other, value in self._whole.items() if other != name}
        for name in self._known:
            for value in self._wrong(name):
                yield self.name, self._whole | {name: value}

    def _wrong(self, name: str) -> list[JsonValue]:
        described = self._known.get(name, {})
        found = [_OF_OTHER_TYPE[kind] for kind in types_of(described, self._schema)[:1] if kind in _OF_OTHER_TYPE]
        return [*found, _NOT_LISTED] if described.get("enum") else found


def plausible(schema: JsonValue, root: JsonObject, depth: int = 0) -> JsonValue:
    """Return a value that a schema probably allows; only simple constraints are considered."""
    described = resolved(schema, root)
    if "default" in described or described.get("enum") or depth > 8:
        return fitting(described)
    if "const" in described:
        return described["const"]
    for key in ("anyOf", "oneOf", "allOf"):
        options: JsonValue = described.get(key)
        if is_list(options) and options:
            return plausible(options[0], root, depth + 1)
    kind = (types_of(described, root) or ["string"])[0]
    if kind == "object":
        known = as_object(described.get("properties"))
        needed = cast("list[str]", described.get("required") or [])
        return {name: plausible(known.get(name), root, depth + 1) for name in needed}
    if kind == "array":
        return [plausible(described.get("items"), root, depth + 1)] * described.get("minItems", 0)
    if kind == "string" and not {"format", "minLength", "maxLength", "pattern"} & described.keys():
        return _TEXT
    return fitting({**described, "type": kind})


def _only_reads(tool: JsonObject) -> bool:
    """True if a tool declares that it is read-only, or its name suggests it and it does not declare the opposite."""
    hints = as_object(tool.get("annotations"))
    if hints.get("readOnlyHint") is True:
        return True
    named = _READS.search(tool["name"]) is not None and _CHANGES.search(tool["name"]) is None
    return named and hints.get("destructiveHint") is not True and hints.get("readOnlyHint") is not False
