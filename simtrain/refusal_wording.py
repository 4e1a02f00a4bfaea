"""How a server words that arguments are wrong, learnt from calls that it refused: a style, or a text with the name of a field."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from simtrain.argument_mistakes import argument_mistakes
from simtrain.argument_style import ArgumentStyle, Check
from simtrain.registry import resolve
from simtrain.types import JsonObject, JsonValue

STYLES = (
    "zod", "zod_json", "zod3_json", "zod_coercing", "pydantic", "pydantic_strict", "pydantic_call", "jsonschema", "plain",
)  # fmt: skip
"""Argument styles that a captured wording is compared with, in this order."""

_UNKNOWN_TO: tuple[tuple[str, str | int, str, str], ...] = (
    ("MCP error -32602: Tool {tool} not found", "error", "zod",
     "MCP error -32602: Input validation error: Invalid arguments for tool {tool}: {detail}"),
    ("MCP error -32602: Tool {tool} not found", -32602, "zod3_json", "MCP error -32602: Invalid arguments for tool {tool}: {detail}"),
    ("Unknown tool: {tool}", "error", "pydantic", "Error executing tool {tool}: {detail}"),
    ("Unknown tool: '{tool}'", "error", "pydantic_call", "{detail}"),
)  # fmt: skip
"""What a library says of an unknown tool, and how; the style of its argument checks, and what it says of bad arguments."""

_COMPLAINT = re.compile(r"\W*(?:error|invalid|missing|failed)\b", re.IGNORECASE)

Schemas: TypeAlias = Mapping[str, JsonObject]
Channel: TypeAlias = str | int


@dataclass(frozen=True)
class Refused:
    """A call with bad arguments, what the server said, and how: an `error` reply, a plain `result`, or a JSON-RPC error's code."""

    tool: str
    arguments: JsonObject
    text: str
    channel: Channel


def refusal_texts(unknown: tuple[str, Channel] | None, refused: Sequence[Refused], schemas: Schemas) -> JsonObject:
    """The keys of `server_errors` that answer bad arguments as the server did.

    `unknown` is what it says of an unknown tool, with `{tool}`, and how. What nothing explains is left to the words of `plain`, which
    name the field that is wrong: another call's words would name another one.
    """
    if not refused:
        return _by_library(unknown, schemas)
    return _by_style(refused, schemas) or _by_hand([one for one in refused if _is_refusal(one)], schemas)


def template(text: str, fields: Mapping[str, str]) -> str:
    """The text with values replaced by fields, and its own braces kept from being any."""
    parts = re.split(f"({any_of(fields)})", text) if fields else [text]
    return "".join(fields.get(part) or part.replace("{", "{{").replace("}", "}}") for part in parts)


def any_of(words: Mapping[str, str]) -> str:
    """A pattern for the words where they stand alone, the longer before the shorter."""
    ordered = sorted(words, key=len, reverse=True)
    return "|".join(rf"(?<![\w-]){re.escape(word)}(?![\w-])" for word in ordered)


def _by_style(refused: Sequence[Refused], schemas: Schemas) -> JsonObject:
    """The style, the template and the channel that explain most of the refusals; nothing where no style explains any."""
    best: tuple[int, JsonObject] = (0, {})
    for style in STYLES:
        checks = _checks(style, schemas)
        if checks is None:
            continue
        found: Counter[tuple[str, Channel]] = Counter()
        for one in refused:
            problem = checks[one.tool](one.arguments).problem
            if problem and problem in one.text:
                found[template(one.text, {problem: "{detail}", one.tool: "{tool}"}), one.channel] += 1
        for (text, channel), times in found.most_common(1):
            if times > best[0]:
                best = times, {"bad_arguments": text, "bad_arguments_as": channel, "arguments": style}
    return best[1]


def _by_library(unknown: tuple[str, Channel] | None, schemas: Schemas) -> JsonObject:
    """What the library does that words unknown tools like this. Its name for a tool's arguments stands in the schemas of the first SDK."""
    for text, channel, style, said in _UNKNOWN_TO:
        if unknown != (text, channel) or _checks(style, schemas) is None:
            continue
        if style == "pydantic" and not all(_titled(tool, schema) for tool, schema in schemas.items()):
            continue
        as_told: Channel = channel
        return {"bad_arguments": said, "bad_arguments_as": as_told, "arguments": style}
    return {}


def _by_hand(refused: Sequence[Refused], schemas: Schemas) -> JsonObject:
    """The words of a server that looks at each argument itself: of the first that is absent, and of tools given nothing at all."""
    if not refused:
        return {}
    channel = Counter(one.channel for one in refused).most_common(1)[0][0]
    refused = [one for one in refused if one.channel == channel]
    texts: JsonObject = {"bad_arguments_as": channel}
    templates = Counter(found for one in refused if (found := _missing_template(one, schemas[one.tool])) is not None)
    missing = templates.most_common(1)[0][0] if templates else None
    if missing is not None:
        texts["missing_argument"] = missing
    by_type: JsonObject = {}
    for one in refused:
        made = argument_mistakes(schemas[one.tool], one.arguments)
        if made.unknown and (found := _of_one_field(one, made.unknown[0], schemas)):
            texts.setdefault("unknown_argument", found)
        elif len(made.wrong) == 1 and not made.absent and (found := _of_one_field(one, made.wrong[0][0], schemas)):
            by_type.setdefault(made.wrong[0][1], found)
    if by_type:
        texts["wrong_type"] = by_type
    own = {one.tool: one.text for one in reversed(refused) if not one.arguments and not _misleads(one, schemas)}
    by_tool = {
        tool: text
        for tool, text in own.items()
        if missing is None or text != _filled(missing, tool, _absent(tool, {}, schemas))
    }
    return texts | ({"without_arguments": by_tool} if by_tool else {})


def _is_refusal(one: Refused) -> bool:
    """True unless it is a plain reply that does not begin like a refusal: such a server carried the call out."""
    return one.channel != "result" or _COMPLAINT.match(one.text) is not None


def _missing_template(one: Refused, schema: JsonObject) -> str | None:
    """The text with the names of the absent arguments taken out; None where it does not name them, or not once alone."""
    absent = [name for name in cast("list[str]", schema.get("required", [])) if name not in one.arguments]
    for words, field in ((", ".join(absent), "{fields}"), (absent[0] if absent else "", "{field}")):
        if words and len(re.findall(any_of({words: field}), one.text)) == 1:
            chosen = "{field}" if len(absent) == 1 else field
            return template(one.text, {words: chosen, one.tool: "{tool}"})
    return None


def _of_one_field(one: Refused, name: str, schemas: Schemas) -> str | None:
    """The text with one field's name taken out; None where it does not name that field once, or names another one."""
    if len(re.findall(any_of({name: ""}), one.text)) != 1:
        return None
    every = {known for schema in schemas.values() for known in cast(JsonObject, schema.get("properties", {}))}
    if re.search(any_of(dict.fromkeys(every - {name}, "")) or "$^", one.text):
        return None
    return template(one.text, {name: "{field}", one.tool: "{tool}"})


def _misleads(one: Refused, schemas: Schemas) -> bool:
    """True if the words name an argument of the server's tools that is not one of those that this tool requires."""
    every = {name for schema in schemas.values() for name in cast(JsonObject, schema.get("properties", {}))}
    other = every - set(_absent(one.tool, {}, schemas))
    return bool(other) and re.search(any_of(dict.fromkeys(other, "")), one.text) is not None


def _absent(tool: str, given: JsonObject, schemas: Schemas) -> list[str]:
    return [name for name in cast("list[str]", schemas[tool].get("required", [])) if name not in given]


def _filled(text: str, tool: str, absent: Sequence[str]) -> str | None:
    return text.format(tool=tool, field=absent[0], fields=", ".join(absent)) if absent else None


def _checks(style: str, schemas: Schemas) -> Mapping[str, Check] | None:
    """The checks of all tools in a style; None where one of their schemas is beyond it."""
    compiled = cast(ArgumentStyle, resolve("argument_styles", style))
    try:
        return {name: compiled(name, schema) for name, schema in schemas.items()}
    except ValueError:
        return None


def _titled(tool: str, schema: JsonObject) -> bool:
    title: JsonValue = schema.get("title")
    return title == f"{tool}Arguments"
