"""Converts raw MCP replies to observations, and rewords observations together with their raw reply."""

import json
from dataclasses import replace

import orjson

from simtrain.mcp_wire.frames import objects
from simtrain.values.types import JsonObject, JsonValue, Observation, Provenance, as_object, encode, is_object, writable


def observation_of(reply: JsonObject, provenance: Provenance | None = None) -> Observation:
    """Return the observation of a raw reply to a tools/call, `{"result": ...}` or `{"error": ...}`. The reply is kept as its `wire`.

    The text is that of the text blocks, one per line; other blocks are named in square brackets. Values that a trajectory cannot hold
    are replaced: an unpaired surrogate by a question mark, an integer beyond 64 bits by the nearest float.
    """
    reply = _recordable(reply)
    if "error" in reply:
        return Observation(error_text(reply["error"]), is_error=True, provenance=provenance, wire=reply)
    result = as_object(reply.get("result"))
    structured: JsonValue = result.get("structuredContent")
    blocks = objects(result.get("content"))
    text = "\n".join(block_text(block) for block in blocks)
    if not is_object(structured):
        return Observation(text, is_error=result.get("isError") is True, provenance=provenance, wire=reply)
    # Some servers send structured content without a text, and agents read the text.
    shown = text if text or result.get("content") == [{"type": "text", "text": ""}] else encode(structured)
    return Observation(shown, structured, result.get("isError") is True, False, provenance, reply)


def reworded(observation: Observation, text: str, structured: JsonObject | None) -> Observation:
    """Return the observation with another text and structured content. Its raw reply is changed alike and keeps everything else."""
    changed = replace(observation, text=text, structured=structured, json=False, wire=None)
    wire = observation.wire
    if wire is None:
        return changed
    if not is_object(wire.get("result")):
        return replace(changed, wire={**wire, "error": {**wire["error"], "message": text}})
    result = wire["result"]
    others = [block for block in objects(result.get("content")) if block.get("type") != "text"]
    result = {**result, "content": [{"type": "text", "text": text}, *others]}
    if structured is None:
        result.pop("structuredContent", None)
    else:
        result["structuredContent"] = structured
    return replace(changed, wire={**wire, "result": result})


def _recordable(reply: JsonObject) -> JsonObject:
    try:
        encode(reply)
    except TypeError:
        return orjson.loads(json.dumps(writable(reply)))
    return reply


def error_text(error: JsonValue) -> str:
    """Return the message of a JSON-RPC error."""
    message: JsonValue = error.get("message") if is_object(error) else error
    return message if isinstance(message, str) else encode(message)


def block_text(block: JsonObject) -> str:
    """Return the text of a content block; for a block without text, its kind in square brackets."""
    text: JsonValue = block.get("text")
    if isinstance(text, str):
        return text
    resource: JsonValue = block.get("resource")
    if is_object(resource) and isinstance(resource.get("text"), str):
        return resource["text"]
    kind = block.get("mimeType") or block.get("uri") or block.get("type") or "content"
    return f"[{kind}]"
