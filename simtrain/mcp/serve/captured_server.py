"""Captured servers, ready to be served: read and indexed once for all episodes."""

from collections.abc import Mapping
from functools import cached_property, lru_cache
from pathlib import Path

from simtrain.contracts.request import Caller
from simtrain.mcp_wire.manifest import ServerManifest
from simtrain.scenarios.ad_hoc import native_server
from simtrain.worlds.recorded.error_profile import Mistakes
from simtrain.worlds.recorded.recorded_sessions import by_caller, captured_session
from simtrain.worlds.recorded.replay_index import ReplayIndex
from simtrain.worlds.recorded.served_servers import read_servers


class CapturedServer:
    """One captured server; immutable while it is served."""

    def __init__(self, manifest: ServerManifest) -> None:
        self.manifest = manifest
        self.mistakes = Mistakes(manifest)

    @property
    def name(self) -> str:
        """The server's name in a world."""
        return native_server(self.manifest.name)

    @cached_property
    def says_success(self) -> bool:
        """True if successful results have `isError: false`, which some server libraries write and others omit."""
        results = (exchange.result for exchange in self.manifest.exchanges if exchange.method == "tools/call")
        return any(result is not None and result.get("isError") is False for result in results)

    @cached_property
    def recordings(self) -> Mapping[Caller, ReplayIndex]:
        """The exchanges recorded with each client."""
        parts = by_caller(captured_session(self.manifest))
        return {client: ReplayIndex([part], match="normalised") for client, part in parts.items()}


def captured_servers(path: Path) -> Mapping[str, CapturedServer]:
    """Return the servers of a manifest or recording, by their names in a world. Raises InputError."""
    return _captured(path, path.stat().st_mtime_ns if path.exists() else 0)


# The modification time is part of the key, so that a file that is captured again is read again.
@lru_cache(maxsize=64)
def _captured(path: Path, _: int) -> Mapping[str, CapturedServer]:
    found = (CapturedServer(manifest) for manifest in read_servers(path).servers.values())
    return {server.name: server for server in found}
