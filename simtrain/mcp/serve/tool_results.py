"""Tool results as an MCP client receives them: fitted to their output schemas, so that every client accepts them, or errors."""

from functools import lru_cache
from typing import Any, cast

import orjson

from simtrain.files.json_schemas import validator
from simtrain.values.types import JsonObject, JsonValue, Observation, ToolSpec, canonical

MISFIT = "The reply of {tool} does not fit its output schema."
"""The error in place of a reply that client libraries would refuse."""


class Fitting:
    """Fits the results of the tools at one address. Caches their validators."""

    def __init__(self) -> None:
        self._checks: dict[str, Any] = {}

    def fit(self, result: JsonObject, tool: ToolSpec) -> JsonObject:
        """Return a CallToolResult that clients accept when they check it against the tool's output schema.

        Where the structured content is missing and the text holds it, it is put in place; where it is unavailable, the result
        becomes an error. Every official client raises on the rest, so that its agent would never see the reply.
        """
        if tool.output_schema is None or result.get("isError") is True:
            return result
        fits = self._checks.get(tool.name)
        if fits is None:
            fits = self._checks[tool.name] = _fits(canonical(tool.output_schema))
        if "structuredContent" in result and fits(result["structuredContent"]):
            return result
        written = _written(result)
        if written is not None and fits(written):
            # Servers with an output schema often write it only as text; the specification asks for both.
            return {**result, "structuredContent": written}
        text = MISFIT.format(tool=tool.name.rpartition(".")[2])
        return {"content": [{"type": "text", "text": text}], "isError": True}


def _written(result: JsonObject) -> JsonValue:
    """Return the JSON value that the only text block holds; None if there is none."""
    blocks = cast(list[JsonObject], result.get("content") or [])
    if len(blocks) != 1 or blocks[0].get("type") != "text":
        return None
    try:
        return orjson.loads(cast(str, blocks[0].get("text", "")))
    except orjson.JSONDecodeError:
        return None


@lru_cache(maxsize=4096)
def _fits(schema: bytes) -> Any:
    # An invalid schema never gets here: a world refuses it, and a capture leaves it out.
    return validator(orjson.loads(schema)).is_valid


def call_result(observation: Observation) -> JsonObject:
    """Return the CallToolResult of an observation, made from text and structured content. See `call_response` for `wire`."""
    result: JsonObject = {"content": [{"type": "text", "text": observation.text}]}
    structured = observation.content
    if structured is not None:
        result["structuredContent"] = structured
    if observation.is_error:
        result["isError"] = True
    return result


def call_response(observation: Observation) -> JsonObject:
    """Return the response to a tools/call: {"result": ...} or {"error": ...}."""
    # The wire form, if there is one, is the original: text and structured content were read from it and may hold less.
    wire = observation.wire
    if wire is None:
        return {"result": call_result(observation)}
    return {"error": wire["error"]} if "error" in wire else {"result": wire["result"]}
