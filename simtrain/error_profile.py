"""How a captured server words mistakes, learnt from its answers to those that were made on purpose."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias, cast

from simtrain.argument_style import ArgumentStyle
from simtrain.courses import MODERN
from simtrain.manifest import NO_METHOD, NO_PROMPT, NO_RESOURCE, NO_TOOL, Exchange, ServerManifest
from simtrain.registry import resolve
from simtrain.types import JsonObject, JsonValue

STYLES = ("zod", "zod_coercing", "pydantic", "pydantic_call", "jsonschema", "plain")
"""Argument styles that a captured wording is compared with, in this order."""

ASKED = {"unknown_method": NO_METHOD, "missing_resource": NO_RESOURCE, "missing_prompt": NO_PROMPT}
"""Kind of mistake -> what was asked for, and is replaced by what a client asks for."""

Schemas: TypeAlias = Mapping[str, JsonObject]


class Mistakes:
    """A captured server's own responses to what does not exist, with the names put in."""

    def __init__(self, server: ServerManifest) -> None:
        self._kept: dict[tuple[str, bool], JsonObject] = {}
        for exchange in server.exchanges:
            kind = _kind(exchange)
            if kind is not None:
                self._kept.setdefault((kind, exchange.era == MODERN), exchange.response)
        for kind, response in server.profile.items():
            for modern in (False, True):
                if isinstance(response, dict):
                    self._kept.setdefault((kind, modern), cast(JsonObject, response))

    def response(self, kind: str, name: str, *, modern: bool) -> JsonObject | None:
        """`{"result": ...}` or `{"error": ...}` for a method, resource or prompt of this name; None where it was not captured."""
        captured = self._kept.get((kind, modern))
        if captured is None:
            return None
        names = {ASKED[kind]: name}
        if kind == "missing_resource":
            # A server may speak of the scheme alone.
            names[NO_RESOURCE.partition(":")[0]] = name.partition(":")[0]
        return cast(JsonObject, _renamed(captured, names))


def error_texts(server: ServerManifest, schemas: Schemas) -> JsonObject:
    """The `server_errors` of a service world that answers unknown tools and bad arguments as the server did.

    `schemas` are the input schemas of its tools, by plain name. Empty for a server whose mistakes were not captured.
    """
    texts: JsonObject = {}
    unknown = _said(server.profile.get("unknown_tool"))
    if unknown is not None:
        texts["unknown_tool"] = _template(unknown[0], {NO_TOOL: "{tool}"})
        texts["unknown_tool_as"] = unknown[1]
    bad = _said(server.profile.get("bad_arguments"))
    if bad is not None:
        text, texts["bad_arguments_as"] = bad
        texts |= _worded(text, _misused(server), schemas)
    return texts


def _worded(text: str, tool: str | None, schemas: Schemas) -> JsonObject:
    """The template of bad arguments, and the style whose words stand in it: the first that says the same of the same mistake."""
    if tool is None or tool not in schemas:
        return {"bad_arguments": _template(text, {})}
    for style, problem in _problems(tool, schemas):
        if problem in text:
            template = _template(text, {problem: "{detail}", tool: "{tool}"})
            return {"bad_arguments": template, "arguments": style}
    return {"bad_arguments": _template(text, {tool: "{tool}"})}


def _problems(tool: str, schemas: Schemas) -> Iterator[tuple[str, str]]:
    """What the styles that know all tools of a server say to a call of one of them without arguments."""
    for style in STYLES:
        compiled = cast(ArgumentStyle, resolve("argument_styles", style))
        try:
            checks = {name: compiled(name, schema) for name, schema in schemas.items()}
        except ValueError:
            continue
        problem = checks[tool]({}).problem
        if problem:
            yield style, problem


def _misused(server: ServerManifest) -> str | None:
    """The tool whose arguments were left out to see what happens."""
    for exchange in server.exchanges:
        if exchange.method == "tools/call" and exchange.response == server.profile["bad_arguments"]:
            name: JsonValue = exchange.params.get("name")
            return name if isinstance(name, str) and not exchange.params.get("arguments") else None
    return None


def _kind(exchange: Exchange) -> str | None:
    if exchange.method == NO_METHOD:
        return "unknown_method"
    if exchange.method == "resources/read" and exchange.params.get("uri") == NO_RESOURCE:
        return "missing_resource"
    if exchange.method == "prompts/get" and exchange.params.get("name") == NO_PROMPT:
        return "missing_prompt"
    return None


def _said(response: JsonValue) -> tuple[str, str | int] | None:
    """The text of a captured response, and the way it went: error reply, plain result, or a JSON-RPC error's code."""
    found = _object(response)
    error, result = _object(found.get("error")), _object(found.get("result"))
    if isinstance(error.get("message"), str) and isinstance(error.get("code"), int):
        return error["message"], error["code"]
    content: JsonValue = result.get("content")
    blocks = [_object(block) for block in cast("list[JsonValue]", content)] if isinstance(content, list) else []
    texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    return ("\n".join(texts), "error" if result.get("isError") is True else "result") if texts else None


def _template(text: str, fields: Mapping[str, str]) -> str:
    """The text with values replaced by fields, and its own braces kept from being any."""
    parts = re.split(f"({_any_of(fields)})", text) if fields else [text]
    return "".join(fields.get(part) or part.replace("{", "{{").replace("}", "}}") for part in parts)


def _renamed(value: JsonValue, names: Mapping[str, str]) -> JsonValue:
    if isinstance(value, str):
        return re.sub(_any_of(names), lambda found: names[found[0]], value)
    if isinstance(value, list):
        return [_renamed(item, names) for item in cast("list[JsonValue]", value)]
    if isinstance(value, dict):
        return {key: _renamed(item, names) for key, item in cast(JsonObject, value).items()}
    return value


def _any_of(words: Mapping[str, str]) -> str:
    """A pattern for the words where they stand alone, the longer before the shorter."""
    ordered = sorted(words, key=len, reverse=True)
    return "|".join(rf"(?<![\w-]){re.escape(word)}(?![\w-])" for word in ordered)


def _object(value: JsonValue) -> JsonObject:
    return cast(JsonObject, value) if isinstance(value, dict) else {}
