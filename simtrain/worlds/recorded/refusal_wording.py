"""A server's refusals of bad arguments, learnt from calls that it refused: the style of a library, or words of its own."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TypeAlias

from simtrain.contracts.argument_mistakes import argument_mistakes
from simtrain.contracts.argument_style import Check
from simtrain.contracts.refusal_words import Channel, RefusalWords, WordedText, all_arguments
from simtrain.contracts.registry import resolve
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.recorded.learned_words import Example, general_words, particular_words, slotted

STYLES = (
    "zod", "zod3", "zod_json", "zod3_json", "zod_coercing", "pydantic", "pydantic_strict", "pydantic_call", "jsonschema", "plain",
)  # fmt: skip
"""Argument styles that captured refusals are compared with, in this order; the first of equals is taken."""

_UNKNOWN_TO: tuple[tuple[str, str | int, str, str], ...] = (
    ("MCP error -32602: Tool {tool} not found", "error", "zod",
     "MCP error -32602: Input validation error: Invalid arguments for tool {tool}: {detail}"),
    ("MCP error -32602: Tool {tool} not found", -32602, "zod3_json", "MCP error -32602: Invalid arguments for tool {tool}: {detail}"),
    ("Unknown tool: {tool}", "error", "pydantic", "Error executing tool {tool}: {detail}"),
    ("Unknown tool: '{tool}'", "error", "pydantic_call", "{detail}"),
)  # fmt: skip
"""A library's text for an unknown tool, its channel, its argument style, and its text for bad arguments."""

_COMPLAINT = re.compile(r"\W*(?:error|invalid|missing|failed)\b", re.IGNORECASE)

MIN_TELLING = 4
"""Shorter values may occur in a text by chance."""

Schemas: TypeAlias = Mapping[str, JsonObject]


@dataclass(frozen=True)
class RefusedCall:
    """A call with bad arguments, the server's text, and its channel: `error` reply, plain `result`, or a JSON-RPC error's code."""

    tool: str
    arguments: JsonObject
    text: str
    channel: Channel


def refusal_texts(
    unknown: tuple[str, Channel] | None, refused: Sequence[RefusedCall], schemas: Schemas, *, python: bool = False
) -> JsonObject:
    """Return the keys of `server_errors` that answer bad arguments as the server did.

    `unknown` is its text for an unknown `{tool}`, and the channel; `python`: it is made with the first Python SDK.
    Refusals that nothing explains are left to the style `plain`, since their text would name the wrong field for other calls.
    """
    refused = [one for one in refused if _is_refusal(one)]
    if not refused:
        return _by_library(unknown, schemas, python=python)
    style, explained_by_style, left = _by_style(refused, schemas)
    unlike = {number for number in left if not _speaks_of_others(refused[number], schemas)}
    made = [
        Example(one.tool, argument_mistakes(schemas[one.tool], one.arguments), one.text, one.channel) for one in refused
    ]
    examples = [one for number, one in enumerate(made) if number in unlike or number not in left]
    words, explained = general_words(
        examples, {tool: list(schema.get("properties", {})) for tool, schema in schemas.items()}
    )
    # A library's style wins a tie: it also words mistakes that nobody captured.
    if style and explained_by_style >= explained:
        sayings = particular_words([made[number] for number in sorted(unlike)])
        return style | _written(RefusalWords(tuple(sayings)))
    unexplained = [one for one in examples if words.refusal(one.tool, one.mistakes) != (one.text, one.channel)]
    channel = Counter(one.channel for one in refused).most_common(1)[0][0]
    whole = RefusalWords((*particular_words(unexplained), *words.sayings), words.stages, words.frames)
    return {"bad_arguments_as": channel} | _written(whole)


def _speaks_of_others(one: RefusedCall, schemas: Schemas) -> bool:
    """True if the text quotes a valid argument: then it is not about the wrong one."""
    made = argument_mistakes(schemas[one.tool], one.arguments)
    wrong = {mistake.field for mistake in made.found}
    right = [value for name, value in one.arguments.items() if name not in wrong and isinstance(value, str)]
    text = slotted(one.text, {reply: name for name, reply in all_arguments(made).items()})
    return any(value in text for value in right if len(value) >= MIN_TELLING)


def _written(words: RefusalWords) -> JsonObject:
    """Return the words in the form of a world file."""
    written: JsonObject = {}
    if words.sayings:
        written["sayings"] = [_saying(saying) for saying in words.sayings]
    if words.stages:
        written["stages"] = [list(stage) for stage in words.stages]
    if words.frames is not None:
        written["frames"] = {kinds: asdict(frame) for kinds, frame in words.frames.items()}
    return written


def _saying(saying: WordedText) -> JsonObject:
    return {key.replace("channel", "as"): value for key, value in asdict(saying).items() if value is not None}


def _by_style(refused: Sequence[RefusedCall], schemas: Schemas) -> tuple[JsonObject, int, Sequence[int]]:
    """Return style, template and channel that explain most refusals, how many they explain, and the numbers of the others."""
    best: tuple[JsonObject, int, Sequence[int]] = ({}, 0, range(len(refused)))
    for style in STYLES:
        checks = _checks(style, schemas)
        if checks is None:
            continue
        found: list[tuple[str, Channel] | None] = []
        for one in refused:
            problem = checks[one.tool](one.arguments).problem
            if problem and problem in one.text:
                found.append((slotted(one.text, {problem: "detail", one.tool: "tool"}), one.channel))
            else:
                found.append(None)
        for reply, times in Counter(filter(None, found)).most_common(1):
            if times > best[1]:
                texts: JsonObject = {"bad_arguments": reply[0], "bad_arguments_as": reply[1], "arguments": style}
                best = texts, times, [number for number, one in enumerate(found) if one != reply]
    return best


def checks_first(unknown: tuple[str, Channel] | None, schemas: Schemas) -> bool:
    """True if the library with this text for unknown tools checks arguments before it runs anything."""
    return bool(_by_library(unknown, schemas))


def _by_library(unknown: tuple[str, Channel] | None, schemas: Schemas, *, python: bool = False) -> JsonObject:
    """Return the texts and the style of the library with this text for unknown tools."""
    for text, channel, style, reply in _UNKNOWN_TO:
        if unknown != (text, channel) or _checks(style, schemas) is None:
            continue
        # The first Python SDK titles the schema of a tool `NAMEArguments`; other servers with the same text are not its.
        if style == "pydantic" and not all(_titled(tool, schema) for tool, schema in schemas.items()):
            continue
        sent_as: Channel = channel
        return {"bad_arguments": reply, "bad_arguments_as": sent_as, "arguments": style}
    if python and _checks("jsonschema", schemas) is not None:
        return {"bad_arguments": "Input validation error: {detail}", "arguments": "jsonschema"}
    return {}


def _is_refusal(one: RefusedCall) -> bool:
    """True unless it is a plain result that does not begin like a refusal: then the server carried the call out."""
    return one.channel != "result" or _COMPLAINT.match(one.text) is not None


def _checks(style: str, schemas: Schemas) -> Mapping[str, Check] | None:
    """Return the checks of all tools in a style; None if one of their schemas is beyond it."""
    compiled = resolve("argument_styles", style)
    try:
        return {name: compiled(name, schema) for name, schema in schemas.items()}
    except ValueError:
        return None


def _titled(tool: str, schema: JsonObject) -> bool:
    title: JsonValue = schema.get("title")
    return title == f"{tool}Arguments"
