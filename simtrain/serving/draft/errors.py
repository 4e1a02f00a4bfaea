"""How a server words mistakes: the argument style and the texts that its capture shows."""

from __future__ import annotations

from typing import cast

from simtrain.argument_style import ArgumentStyle
from simtrain.free_play import native_server
from simtrain.registry import known, resolve
from simtrain.serving.draft.forms import object_of
from simtrain.serving.draft.observed import Call, Channel, Observed
from simtrain.serving.draft.page import block
from simtrain.serving.probes import NO_TOOL
from simtrain.types import JsonObject


def error_block(observed: Observed) -> list[str]:
    """The lines of `errors:` and `server_errors:`; none where nothing was captured of them."""
    unknown, bad = _unknown_tool(observed), _bad_arguments(observed)
    lines = block("errors", unknown) if unknown else []
    return [*lines, *(block("server_errors", {native_server(observed.manifest.name): bad}) if bad else [])]


def is_misuse(observed: Observed, call: Call) -> bool:
    """Whether a call was refused for its arguments, before the tool did anything."""
    if call.channel == "result" or call.text is None:
        return False
    return any(problem in call.text for _, problem in _problems(observed, call.tool, call.arguments))


def _problems(observed: Observed, tool: str, arguments: JsonObject) -> list[tuple[str, str]]:
    """What each argument style has to say against arguments: style and words, the longest words first."""
    found: list[tuple[str, str]] = []
    for style in known("argument_styles"):
        try:
            check = cast(ArgumentStyle, resolve("argument_styles", style))(
                tool, object_of(observed.tools[tool].get("inputSchema"))
            )
            problem = check(arguments).problem
        except ValueError:
            continue
        if problem:
            found.append((style, problem))
    return sorted(found, key=lambda pair: -len(pair[1]))


def _bad_arguments(observed: Observed) -> JsonObject:
    """The style and the template of what is said of bad arguments."""
    for call in observed.calls:
        if call.response != observed.manifest.profile.get("bad_arguments") or call.text is None:
            continue
        for style, problem in _problems(observed, call.tool, call.arguments):
            if problem in call.text:
                found: JsonObject = {
                    "arguments": style,
                    "bad_arguments": _template(call.text, {problem: "{detail}", call.tool: "{tool}"}),
                }
                return found | _channel("bad_arguments_as", call.channel)
    return {}


def _unknown_tool(observed: Observed) -> JsonObject:
    response = observed.manifest.profile.get("unknown_tool")
    if not isinstance(response, dict):
        return {}
    call = Call(0, 0, NO_TOOL, {}, cast(JsonObject, response))
    if call.text is None:
        return {}
    return {"unknown_tool": _template(call.text, {NO_TOOL: "{tool}"})} | _channel("unknown_tool_as", call.channel)


def _channel(key: str, channel: Channel) -> JsonObject:
    return {} if channel == "error" else {key: channel}


def _template(text: str, fields: dict[str, str]) -> str:
    """A text with fields in it; braces of its own are doubled."""
    doubled = text.replace("{", "{{").replace("}", "}}")
    for words, field in fields.items():
        doubled = doubled.replace(words.replace("{", "{{").replace("}", "}}"), field)
    return doubled
