"""The surface of a server: its greeting, and every list that it declares."""

from __future__ import annotations

from simtrain.mcp_wire.client import Client
from simtrain.mcp_wire.faults import ErrorReply
from simtrain.mcp_wire.manifest import LISTED, Surface
from simtrain.values.types import JsonObject, as_object


async def shown(client: Client, *, timeout: float | None = None) -> tuple[Surface, dict[str, JsonObject]]:
    """Return the surface, and the errors of lists that were declared but refused. Raises SimulatorFault."""
    lists: dict[str, tuple[JsonObject, ...]] = {}
    refused: dict[str, JsonObject] = {}
    for method in listable(client.greeting):
        try:
            lists[method] = tuple(await client.list(method, timeout=timeout))
        except ErrorReply as refusal:
            refused[method] = refusal.error
    return Surface(client.era, client.capabilities, client.greeting, lists), refused


def listable(greeting: JsonObject) -> list[str]:
    """Return the list methods for the capabilities that a server declares."""
    capabilities = as_object(greeting.get("capabilities"))
    return [method for method in LISTED if method.partition("/")[0] in capabilities]
