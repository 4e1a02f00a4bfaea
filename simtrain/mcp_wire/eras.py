"""The two eras of MCP: the handshake era, up to revision 2025-11-25, and the stateless era that began with 2026-07-28.

Source: the revisions of the specification, modelcontextprotocol.io/specification.
"""

from simtrain.values.types import JsonObject
from simtrain.values.version import VERSION

HANDSHAKE = "2025-11-25"
MODERN = "2026-07-28"
ERAS = (HANDSHAKE, MODERN)

HANDSHAKE_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The revisions that begin with `initialize`, newest first."""


def other_era_limit(started: float) -> float:
    """Return the seconds that a server which took `started` to start in one era may take in the other.

    Some never answer an unknown method; others are slow, on a busy machine, and must not be taken for these.
    """
    return max(10.0, 5 * started)


VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"
INFO_KEY = "io.modelcontextprotocol/clientInfo"

CLIENT_INFO: JsonObject = {"name": "simtrain", "version": VERSION}

ALL_CAPABILITIES: JsonObject = {
    "roots": {"listChanged": True},
    "sampling": {"tools": {}, "context": {}},
    "elicitation": {"form": {}, "url": {}},
}
"""The declaration of a client with all capabilities."""

TASKS: JsonObject = {
    "tasks": {
        "list": {},
        "cancel": {},
        "requests": {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}},
    }
}
"""A capability of revision 2025-11-25 that our client lacks. Some servers show more tools to clients that have it."""
