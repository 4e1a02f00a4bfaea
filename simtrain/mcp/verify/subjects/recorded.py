"""A captured server: its recorded calls, and others from its schemas."""

from __future__ import annotations

from copy import deepcopy
from functools import partial

from simtrain.mcp.verify.call_makers import CallMaker, Kind
from simtrain.mcp.verify.draw import Draw
from simtrain.mcp.verify.subjects.generic import Generic
from simtrain.mcp_wire.manifest import Exchange, Manifest
from simtrain.scenarios.ad_hoc import native_server
from simtrain.values.types import JsonObject

WEIGHT = 4.0
"""Weight of a recorded call relative to one from the schema alone."""


class Recorded(Generic):
    """Repeats every recorded call, valid or invalid."""

    def __init__(self, manifest: Manifest, server: str | None) -> None:
        """`server` is the server's name in the manifest's world; None for all servers."""
        self._calls = [
            exchange
            for name, captured in manifest.servers.items()
            if server in (None, native_server(name))
            for exchange in captured.exchanges
            if exchange.method == "tools/call" and isinstance(exchange.params.get("name"), str)
        ]

    def makers(self) -> tuple[CallMaker, ...]:
        """Return a maker for each recorded call."""
        return tuple(
            CallMaker(exchange.params["name"], _kind(exchange), WEIGHT, partial(_again, exchange))
            for exchange in self._calls
        )


def _kind(exchange: Exchange) -> Kind:
    result = exchange.result
    return "invalid" if result is None or result.get("isError") else "valid"


def _again(exchange: Exchange, draw: Draw) -> JsonObject:
    return deepcopy(exchange.params.get("arguments") or {})
