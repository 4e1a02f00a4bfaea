"""Tool results as an MCP client receives them."""

from __future__ import annotations

from simtrain.values.types import JsonObject, Observation


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
