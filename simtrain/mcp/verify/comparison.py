"""Compare two responses to the same request: channel, content blocks, structured content and text must be equal."""

from dataclasses import dataclass

from simtrain.mcp.verify.pairing import Pairing
from simtrain.values.types import JsonObject, JsonValue, is_list, is_object

FIRST = ("content", "structuredContent")
"""Members of a result that are compared before the others."""

UNCOMPARED = frozenset({"isError", "_meta", "resultType", "ttlMs", "cacheScope"})
"""Members that are not compared: `isError` is part of the channel (absent means false); the others belong to the transport."""


def difference(real: JsonObject, own: JsonObject, pairing: Pairing, *, other: str = "stand-in") -> str | None:
    """Describe the first place where a stand-in's response differs from the real one; None if they agree.

    Responses are {"result": any result} or {"error": {code, message}}; tokens are paired in the order in which they occur. `other` names
    the second side in the description.
    """
    sides = _Sides(pairing, other)
    # First, since an agent's client handles the three channels in different ways.
    if channel(real) != channel(own):
        return f"channel: {channel(real)} in the real server, {channel(own)} in the {other}"
    if "error" in real:
        # JSON-RPC leaves `data` to the server, so only code and message can be expected to agree.
        parts = {key: real["error"].get(key) for key in ("code", "message")}
        return sides.differ(parts, {key: own["error"].get(key) for key in ("code", "message")}, "error")
    for part in dict.fromkeys([*FIRST, *real["result"], *own["result"]]):
        if part in UNCOMPARED:
            continue
        if (part in real["result"]) != (part in own["result"]):
            return f"{part}: only in the {'real server' if part in real['result'] else other}"
        found = sides.differ(real["result"].get(part), own["result"].get(part), part)
        if found is not None:
            return found
    return None


def channel(response: JsonObject) -> str:
    """Return the channel of a response: result, error result, or protocol error."""
    if "error" in response:
        return "protocol error"
    return "error result" if response["result"].get("isError", False) else "result"


@dataclass(frozen=True, slots=True)
class _Sides:
    """Compares two values, part by part: each method describes the first difference, or returns None."""

    pairing: Pairing
    other: str

    def differ(self, real: JsonValue, own: JsonValue, place: str) -> str | None:
        if isinstance(real, str) and isinstance(own, str):
            return None if self.pairing.same_text(real, own) else f"{place}: other text"
        if is_object(real) and is_object(own):
            return self._keys(real, own, place)
        if is_list(real) and is_list(own):
            return self._items(real, own, place)
        # In Python 1 == True, in JSON they differ; 1 and 1.0 are the same JSON number.
        if isinstance(real, bool) is isinstance(own, bool) and real == own:
            return None
        return f"{place}: other value"

    def _keys(self, real: JsonObject, own: JsonObject, place: str) -> str | None:
        # Keys may be ids too, as in a map of records by id.
        partners = {key: self.pairing.from_real(key) for key in real}
        for partner in partners.values():
            if partner not in own:
                return f"{place}.{partner}: only in the real server"
        extra = next((key for key in own if key not in partners.values()), None)
        if extra is not None:
            return f"{place}.{extra}: only in the {self.other}"
        found = (self.differ(value, own[partners[key]], f"{place}.{partners[key]}") for key, value in real.items())
        return next((problem for problem in found if problem is not None), None)

    def _items(self, real: list[JsonValue], own: list[JsonValue], place: str) -> str | None:
        if len(real) != len(own):
            return f"{place}: {len(real)} items in the real server, {len(own)} in the {self.other}"
        pairs = enumerate(zip(real, own, strict=True))
        found = (self.differ(one, other, f"{place}[{index}]") for index, (one, other) in pairs)
        return next((problem for problem in found if problem is not None), None)
