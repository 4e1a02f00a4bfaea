"""Requests with invalid params: which params a method allows, and a name for each flaw."""

from collections.abc import Mapping

from simtrain.mcp_wire.manifest import NO_TOOL
from simtrain.values.types import JsonObject, JsonValue

MEMBERS: Mapping[str, tuple[tuple[str, str, bool], ...]] = {
    "tools/call": (("name", "string", True), ("arguments", "object", False)),
    "resources/read": (("uri", "string", True),),
    "resources/subscribe": (("uri", "string", True),),
    "resources/unsubscribe": (("uri", "string", True),),
    "prompts/get": (("name", "string", True), ("arguments", "object", False)),
    "completion/complete": (("ref", "object", True), ("argument", "object", True)),
    "logging/setLevel": (("level", "level", True),),
}
"""Method -> its params: name, type, and True if required."""

# bool comes before the numbers, since it is an int in Python.
_KINDS = ((str, "string"), (dict, "object"), (bool, "boolean"), ((int, float), "number"), (list, "array"))

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

MADE: tuple[tuple[str, JsonObject | None], ...] = (
    ("tools/call", None),
    ("tools/call", {"arguments": {}}),
    ("tools/call", {"name": 3, "arguments": {}}),
    ("tools/call", {"name": NO_TOOL, "arguments": []}),
    ("resources/read", {}),
    ("resources/subscribe", {}),
    ("resources/unsubscribe", {}),
    ("prompts/get", {}),
    ("completion/complete", {}),
    ("logging/setLevel", {"level": "loud"}),
)
"""Flawed requests that are sent to capture the server's responses: method and params, None for a request without params."""


def flaw(method: str, params: JsonObject | None) -> str | None:
    """Return the flaw in the params of a method, as `method member type`; None if there is none or the method is unknown."""
    members = MEMBERS.get(method)
    if members is None:
        return None
    if params is None:
        return f"{method} params missing"
    for name, wanted, needed in members:
        if name not in params:
            if needed:
                return f"{method} {name} missing"
        elif not _fits(params[name], wanted):
            return f"{method} {name} {_type(params[name])}"
    return None


def _fits(value: JsonValue, wanted: str) -> bool:
    if wanted == "level":
        return value in LEVELS
    return _type(value) == wanted


def _type(value: JsonValue) -> str:
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "null")
