"""JSON-RPC frames as bytes and as dicts, without loss: integers of any size and unpaired surrogates survive."""

import json
from typing import NoReturn

import orjson

from simtrain.values.types import JsonObject, JsonValue, is_list, is_object


def encode_frame(frame: JsonObject) -> bytes:
    """Return one frame as one line of JSON, without the newline."""
    try:
        return orjson.dumps(frame)
    except orjson.JSONEncodeError:
        # Integers beyond 64 bits and unpaired surrogates are valid JSON, but orjson refuses them.
        return json.dumps(frame, separators=(",", ":"), allow_nan=False).encode()


def decode_frames(line: bytes) -> list[JsonObject] | None:
    """Return the frames in a line or a body: one, or several in a batch (revision 2025-03-26). None for input that is not JSON-RPC."""
    try:
        # The standard library's parser, since orjson's rounds integers beyond 64 bits.
        value = strict_json(line)
    except (ValueError, RecursionError):
        return None
    frames = value if is_list(value) else [value]
    if not frames or not all(is_object(frame) and "jsonrpc" in frame for frame in frames):
        return None
    return frames


def reply_body(frame: JsonObject) -> JsonObject:
    """Return a response without its envelope (`jsonrpc`, `id`), verbatim."""
    return {key: value for key, value in frame.items() if key not in ("jsonrpc", "id")}


def cancelled(request: int | str) -> JsonObject:
    """Return the notification that cancels a request."""
    params: JsonObject = {"requestId": request, "reason": "timeout"}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}


def objects(value: JsonValue) -> list[JsonObject]:
    """Return the objects in a value that should be a list of them."""
    return [item for item in value if is_object(item)] if is_list(value) else []


def strict_json(text: bytes | bytearray) -> JsonValue:
    """Return the value in a JSON text. Raises ValueError, also for NaN and infinities, and RecursionError."""
    return json.loads(text, parse_constant=_refuse)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
