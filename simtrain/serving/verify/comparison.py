"""Whether two responses to the same call agree: same channel, same content blocks, same structured content, same text."""

from __future__ import annotations

from typing import cast

from simtrain.serving.verify.pairing import Pairing
from simtrain.types import JsonObject, JsonValue

COMPARED = ("content", "structuredContent")
"""What is compared of a result, beside `isError` (absent means false). `_meta` and `resultType` belong to the transport."""


def difference(real: JsonObject, own: JsonObject, pairing: Pairing) -> str | None:
    """The first place where a stand-in's response differs from the real one, in a few words; None where they agree.

    Responses are {"result": CallToolResult} or {"error": {code, message}}; tokens are paired as they are met.
    """
    if channel(real) != channel(own):
        return f"channel: {channel(real)} in the real server, {channel(own)} in the stand-in"
    if "error" in real:
        parts = {key: real["error"].get(key) for key in ("code", "message")}
        return _differs(parts, {key: own["error"].get(key) for key in ("code", "message")}, "error", pairing)
    for part in COMPARED:
        if (part in real["result"]) != (part in own["result"]):
            return f"{part}: only in the {'real server' if part in real['result'] else 'stand-in'}"
        found = _differs(real["result"].get(part), own["result"].get(part), part, pairing)
        if found is not None:
            return found
    return None


def channel(response: JsonObject) -> str:
    """How a response says what it says: result, error result, or protocol error."""
    if "error" in response:
        return "protocol error"
    return "error result" if response["result"].get("isError", False) else "result"


def _differs(real: JsonValue, own: JsonValue, place: str, pairing: Pairing) -> str | None:
    if isinstance(real, str) and isinstance(own, str):
        return None if pairing.same_text(real, own) else f"{place}: other text"
    if isinstance(real, dict) and isinstance(own, dict):
        return _differs_in_keys(cast(JsonObject, real), cast(JsonObject, own), place, pairing)
    if isinstance(real, list) and isinstance(own, list):
        return _differs_in_items(cast(list[JsonValue], real), cast(list[JsonValue], own), place, pairing)
    # 1 and true are equal to Python and to nobody who reads JSON; 1 and 1.0 are the same number of JSON.
    if isinstance(real, bool) is isinstance(own, bool) and real == own:
        return None
    return f"{place}: other value"


def _differs_in_keys(real: JsonObject, own: JsonObject, place: str, pairing: Pairing) -> str | None:
    partners = {key: pairing.from_real(key) for key in real}
    for partner in partners.values():
        if partner not in own:
            return f"{place}.{partner}: only in the real server"
    extra = next((key for key in own if key not in partners.values()), None)
    if extra is not None:
        return f"{place}.{extra}: only in the stand-in"
    found = (_differs(value, own[partners[key]], f"{place}.{partners[key]}", pairing) for key, value in real.items())
    return next((problem for problem in found if problem is not None), None)


def _differs_in_items(real: list[JsonValue], own: list[JsonValue], place: str, pairing: Pairing) -> str | None:
    if len(real) != len(own):
        return f"{place}: {len(real)} items in the real server, {len(own)} in the stand-in"
    found = (
        _differs(one, other, f"{place}[{index}]", pairing)
        for index, (one, other) in enumerate(zip(real, own, strict=True))
    )
    return next((problem for problem in found if problem is not None), None)
