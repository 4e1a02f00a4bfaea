"""How a command and what came of it pass between processes: lines of JSON with the lengths of what follows, then the bytes.

The files of a run lie on disk, in a folder that the command names. No pickle: what comes back was made beside a program that
nobody trusts.
"""

import json
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

from simtrain.contracts.sandbox_runs import Ending, SandboxCommand, SandboxLimits

_HEAD = 8


@dataclass(frozen=True, slots=True)
class PlacedCommand:
    """A command whose files lie in a folder of the host: `files` and `stdin` below `place`.

    `fresh`: files that were written since then, in nanoseconds of the host's clock, are of the start of the run. `modes` are the
    modes that the component does not take for granted.
    """

    place: str
    fresh: int
    modes: Mapping[str, int]
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    start: float
    seed: int
    uid: int
    gid: int
    closed: bool
    limits: SandboxLimits


@dataclass(frozen=True, slots=True)
class PlayedCommand:
    """What a run said and how it ended; `modes` are those that it changed. What it did to the files lies on disk."""

    exit_code: int
    output: tuple[tuple[int, bytes], ...]
    ended_by: Ending | None
    seconds: float
    exact: bool
    modes: Mapping[str, int]


def placed(command: SandboxCommand, *, place: str, fresh: int, modes: Mapping[str, int]) -> PlacedCommand:
    """Return a command as it is sent when its files are in place."""
    return PlacedCommand(
        place=place,
        fresh=fresh,
        modes=modes,
        argv=command.argv,
        env=command.env,
        cwd=command.cwd,
        start=command.start,
        seed=command.seed,
        uid=command.uid,
        gid=command.gid,
        closed=bool(command.access),
        limits=command.limits,
    )


def send_command(line: socket.socket, command: PlacedCommand) -> None:
    """Send a command."""
    _send(line, {name: getattr(command, name) for name in PlacedCommand.__slots__} | {"limits": asdict(command.limits)})


def receive_command(line: socket.socket) -> PlacedCommand:
    """Receive what `send_command` sent. Raises EOFError if the other side is gone."""
    head, _ = _receive(line)
    given: dict[str, Any] = {**head, "argv": tuple(head["argv"]), "limits": SandboxLimits(**head["limits"])}
    return PlacedCommand(**given)


def send_played(line: socket.socket, played: PlayedCommand) -> None:
    """Send what came of a command."""
    head = {name: getattr(played, name) for name in PlayedCommand.__slots__}
    head["output"] = [[stream, len(part)] for stream, part in played.output]
    _send(line, head, b"".join(part for _, part in played.output))


def receive_played(line: socket.socket) -> PlayedCommand:
    """Receive what `send_played` sent. Raises EOFError if the process died before."""
    head, body = _receive(line)
    output: list[tuple[int, bytes]] = []
    at = 0
    for stream, size in head["output"]:
        output.append((int(stream), body[at : at + size]))
        at += size
    return PlayedCommand(
        exit_code=int(head["exit_code"]),
        output=tuple(output),
        ended_by=cast("Ending | None", head["ended_by"]),
        seconds=float(head["seconds"]),
        exact=bool(head["exact"]),
        modes={str(path): int(mode) for path, mode in head["modes"].items()},
    )


def _send(line: socket.socket, head: dict[str, Any], body: bytes = b"") -> None:
    told = json.dumps(head, default=dict).encode("utf-8", "surrogatepass")
    line.sendall(len(told).to_bytes(_HEAD, "big") + len(body).to_bytes(_HEAD, "big") + told)
    # Who has received all may be gone: even sending nothing would fail then.
    if body:
        line.sendall(body)


def _receive(line: socket.socket) -> tuple[dict[str, Any], bytes]:
    lengths = _exactly(line, 2 * _HEAD)
    told = _exactly(line, int.from_bytes(lengths[:_HEAD], "big"))
    return json.loads(told), _exactly(line, int.from_bytes(lengths[_HEAD:], "big"))


def _exactly(line: socket.socket, size: int) -> bytes:
    # Mostly one part: in a forked process memory that is touched for the first time is the dearest.
    parts: list[bytes] = []
    while size:
        part = line.recv(size, socket.MSG_WAITALL)
        if not part:
            raise EOFError("the other side is gone")
        parts.append(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
