"""The servers that a file can serve: those of a manifest, or of a recording, rebuilt from their replies."""

from collections.abc import Iterable
from pathlib import Path
from typing import cast

from simtrain.contracts.request import Caller
from simtrain.mcp_wire.manifest import LISTED, Exchange, Manifest, ServerManifest, Surface, read_manifest
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.recorded.recorded_sessions import ENVELOPE, MODERN, read_sessions

SERVER_INFO = f"{ENVELOPE}serverInfo"
GREETINGS = ("initialize", "server/discover")


def read_servers(path: Path) -> Manifest:
    """Return the servers of a manifest (.json) or a recording (.jsonl). Raises InputError, also for a recording without a
    greeting or tools.
    """
    if path.suffix == ".json":
        return read_manifest(path)
    servers: dict[str, list[Exchange]] = {}
    for session in read_sessions(path):
        servers.setdefault(session.server, []).extend(session.exchanges)
    return Manifest({name: _server(name, exchanges, path) for name, exchanges in servers.items()})


def _server(name: str, exchanges: list[Exchange], path: Path) -> ServerManifest:
    by_caller: dict[Caller, list[Exchange]] = {}
    for exchange in exchanges:
        by_caller.setdefault(Caller(exchange.era, frozenset(exchange.capabilities)), []).append(exchange)
    surfaces = tuple(found for exchanges in by_caller.values() if (found := _surface(exchanges)) is not None)
    if not any(surface.lists.get("tools/list") for surface in surfaces):
        raise InputError(
            f"no client of {name!r} connected and listed its tools while it was recorded",
            remedy="serve a manifest of it, and name the recording with --replay",
            file=path,
        )
    return ServerManifest(name, {"recording": path.name}, surfaces, tuple(exchanges))


def _surface(exchanges: list[Exchange]) -> Surface | None:
    """Return what one kind of client was shown; None for a handshake client whose connection was not recorded."""
    lists = {method: _pages(exchange for exchange in exchanges if exchange.method == method) for method in LISTED}
    shown = {method: pages for method, pages in lists.items() if pages}
    greeted = next(
        (exchange.result for exchange in exchanges if exchange.method in GREETINGS and exchange.result), None
    )
    # Clients probe for the modern era with a request; without a result, they went on in the other era.
    spoken = exchanges[0].era == MODERN and any(exchange.result is not None for exchange in exchanges)
    greeting = greeted or (_gathered(exchanges, shown) if spoken else None)
    return None if greeting is None else Surface(exchanges[0].era, exchanges[0].capabilities, greeting, shown)


def _gathered(exchanges: list[Exchange], shown: Iterable[str]) -> JsonObject:
    """Return the greeting of a server whose client asked for none, as 2026-07-28 allows: what its results tell about it."""
    metas = [cast(JsonObject, (exchange.result or {}).get("_meta") or {}) for exchange in exchanges]
    info = next((meta[SERVER_INFO] for meta in metas if SERVER_INFO in meta), None)
    capabilities: JsonObject = {method.partition("/")[0]: {} for method in shown}
    about: JsonObject = {"_meta": {SERVER_INFO: info}} if info is not None else {}
    return {"supportedVersions": [MODERN], "capabilities": capabilities, **about}


def _pages(listed: Iterable[Exchange]) -> tuple[JsonObject, ...]:
    """Return the pages of a list as first read, beginning with the one without a cursor."""
    by_cursor: dict[JsonValue, JsonObject] = {}
    for exchange in listed:
        if exchange.result is not None:
            by_cursor.setdefault(exchange.params.get("cursor"), exchange.result)
    pages: list[JsonObject] = []
    cursor: JsonValue = None
    # Each page is taken out, so a cursor that leads back ends the walk.
    while (page := by_cursor.pop(cursor, None)) is not None:
        pages.append(page)
        cursor = page.get("nextCursor")
        if cursor is None:
            break
    return tuple(pages)
