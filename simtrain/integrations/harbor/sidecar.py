"""The service beside a task's container that plays a simulated world: what a docker-compose.yaml says of it, and served without Docker."""

import asyncio
import os
import sys
import tempfile
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import orjson
from pydantic import Field

from simtrain.files.file_model import FileModel
from simtrain.files.yaml_files import read_document
from simtrain.integrations.harbor.inside import pump
from simtrain.scenarios.harbor.folder import SERVED
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.values.types import JsonObject, as_object

TOKEN = "SIMTRAIN_CONTROL_TOKEN"
SERVICE, PORT, CONTROL_PORT = "world", 8765, 8766
_STARTING = 120.0


class SidecarEpisode(FileModel):
    """One episode of a scenario, as a service of a docker-compose.yaml plays it."""

    scenario: str = Field(min_length=1, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_./-]*$")
    case: int = Field(default=0, ge=0)
    seed: int = 0
    token: str = Field(min_length=16)

    def command(self, *, host: str, port: int, control_port: int) -> list[str]:
        """Return the arguments of `simtrain` that serve it."""
        return [
            "serve", self.scenario, "--case", str(self.case), "--seed", str(self.seed), "--host", host, "--port", str(port),
            "--control-port", str(control_port), "--control-token-env", TOKEN, "--allow-host", SERVICE, "--idle", "0", "--json",
        ]  # fmt: skip


class Sidecar(FileModel):
    """An episode, and the folder in which its scenario is looked up."""

    episode: SidecarEpisode
    folder: Path
    service: str = SERVICE


def read_sidecar(compose: Path) -> Sidecar:
    """Return the world that a docker-compose.yaml serves beside the task. Raises InputError if it needs Docker."""
    document = read_document(compose)
    if SERVED not in document.data:
        raise InputError("its services need Docker", remedy="play the folder where Docker is", file=compose, line=1)
    further = sorted(set(as_object(document.data.get("services"))) - {"main", SERVICE})
    if further:
        place = ("services", further[0])
        raise document.error(place, f"the service {further[0]!r} needs Docker", "play the folder where Docker is")
    episode = document.parse(SidecarEpisode, as_object(document.data[SERVED]), (SERVED,))
    if ".." in episode.scenario.split("/"):
        raise document.error((SERVED, "scenario"), "the scenario lies outside of environment/world", "move it there")
    return Sidecar(episode=episode, folder=compose.parent / "world")


@asynccontextmanager
async def served_world(sidecar: Sidecar) -> AsyncGenerator[dict[int, Path]]:
    """Serve the world in a process of its own while the block runs.

    The block receives Unix sockets, by the ports that they stand for. Raises SimulatorFault if it cannot be served.
    """
    command = sidecar.episode.command(host="127.0.0.1", port=0, control_port=0)
    with tempfile.TemporaryDirectory(prefix="simtrain-world-") as place:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "simtrain",
            *command,
            cwd=sidecar.folder if sidecar.folder.is_dir() else place,
            env={**_environment(), TOKEN: sidecar.episode.token},
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
        )
        assert process.stdout is not None and process.stderr is not None
        try:
            line = await asyncio.wait_for(process.stdout.readline(), _STARTING)
            if not line:
                said = (await process.stderr.read()).decode(errors="replace").strip().splitlines()
                raise SimulatorFault(f"the world cannot be served: {said[-1] if said else 'no reason given'}")
            facts: JsonObject = orjson.loads(line)
            # What the process says later must not fill its pipes.
            draining = [asyncio.create_task(_drain(stream)) for stream in (process.stdout, process.stderr)]
            reach = {PORT: str(facts["mcp"]), CONTROL_PORT: str(facts["control"])}
            servers = [await _led(Path(place, f"{port}.sock"), url) for port, url in reach.items()]
            yield {port: Path(place, f"{port}.sock") for port in reach}
            for server in servers:
                server.close()
            for task in draining:
                task.cancel()
        finally:
            with suppress(ProcessLookupError):
                process.terminate()
            await process.wait()


def _environment() -> dict[str, str]:
    # Nothing that a task could be told by: the package is found, and the rest is plain.
    kept = ("PATH", "PYTHONPATH", "HOME", "SIMTRAIN_PATH", "XDG_CACHE_HOME", "LANG")
    return {name: os.environ[name] for name in kept if name in os.environ}


async def _led(socket: Path, url: str) -> asyncio.Server:
    port = urlsplit(url).port
    assert port is not None
    server = await asyncio.start_unix_server(partial(_connected, port=port), socket)
    # The user of the container is another one. What it reaches there asks for a token where it matters.
    socket.chmod(0o666)
    socket.parent.chmod(0o755)
    return server


async def _connected(reader: StreamReader, writer: StreamWriter, *, port: int) -> None:
    try:
        other_reader, other_writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        writer.close()
        return
    await asyncio.gather(pump(reader, other_writer), pump(other_reader, writer))


async def _drain(stream: StreamReader) -> None:
    while await stream.read(65_536):
        pass
