"""How a command and its outcome pass between processes: a line of JSON with the lengths of what follows, then the bytes.

No pickle: what comes back was made beside a program that nobody trusts.
"""

import json
import socket
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, cast

from simtrain.contracts.sandbox_runs import (
    Changes,
    Ending,
    Entry,
    File,
    Folder,
    SandboxCommand,
    SandboxLimits,
    SandboxOutcome,
    SymbolicLink,
)

_HEAD = 8


def send_command(line: socket.socket, command: SandboxCommand) -> None:
    """Send a command."""
    entries, blobs = _packed(command.files.items())
    head: dict[str, Any] = {
        "argv": command.argv,
        "env": dict(command.env),
        "cwd": command.cwd,
        "start": command.start,
        "seed": command.seed,
        "uid": command.uid,
        "gid": command.gid,
        "access": dict(command.access),
        "limits": asdict(command.limits),
        "files": entries,
        "stdin": len(command.stdin),
    }
    _send(line, head, [*blobs, command.stdin])


def receive_command(line: socket.socket) -> SandboxCommand:
    """Receive what `send_command` sent. Raises EOFError if the other side is gone."""
    head, body = _receive(line)
    files, at = _unpacked(head["files"], body)
    return SandboxCommand(
        argv=tuple(head["argv"]),
        files=cast("dict[str, Entry]", files),
        stdin=body[at : at + head["stdin"]],
        env=head["env"],
        cwd=head["cwd"],
        start=head["start"],
        seed=head["seed"],
        uid=head["uid"],
        gid=head["gid"],
        access=head["access"],
        limits=SandboxLimits(**head["limits"]),
    )


def send_outcome(line: socket.socket, outcome: SandboxOutcome) -> None:
    """Send an outcome."""
    entries, blobs = _packed(outcome.changes.items())
    head: dict[str, Any] = {
        "exit_code": outcome.exit_code,
        "ended_by": outcome.ended_by,
        "seconds": outcome.seconds,
        "exact": outcome.exact,
        "changes": entries,
        "output": [[stream, len(part)] for stream, part in outcome.output],
    }
    _send(line, head, [*blobs, *(part for _, part in outcome.output)])


def receive_outcome(line: socket.socket) -> SandboxOutcome:
    """Receive what `send_outcome` sent. Raises EOFError if the process died before."""
    head, body = _receive(line)
    changes, at = _unpacked(head["changes"], body)
    output: list[tuple[int, bytes]] = []
    for stream, size in head["output"]:
        output.append((int(stream), body[at : at + size]))
        at += size
    return SandboxOutcome(
        exit_code=int(head["exit_code"]),
        output=tuple(output),
        changes=cast("Changes", changes),
        ended_by=cast("Ending | None", head["ended_by"]),
        seconds=float(head["seconds"]),
        exact=bool(head["exact"]),
    )


def _packed(items: Iterable[tuple[str, Entry | None]]) -> tuple[list[list[Any]], list[bytes]]:
    entries: list[list[Any]] = []
    blobs: list[bytes] = []
    for path, entry in items:
        match entry:
            case File():
                entries.append([path, "file", entry.mode, entry.modified, len(entry.content)])
                blobs.append(entry.content)
            case Folder():
                entries.append([path, "folder", entry.mode])
            case SymbolicLink():
                entries.append([path, "link", entry.target])
            case None:
                entries.append([path, "gone"])
    return entries, blobs


def _unpacked(entries: list[list[Any]], body: bytes) -> tuple[dict[str, Entry | None], int]:
    found: dict[str, Entry | None] = {}
    at = 0
    for path, kind, *rest in entries:
        if kind == "file":
            mode, modified, size = rest
            found[path] = File(body[at : at + size], mode, modified)
            at += size
        elif kind == "folder":
            found[path] = Folder(rest[0])
        else:
            found[path] = SymbolicLink(rest[0]) if kind == "link" else None
    return found, at


def _send(line: socket.socket, head: dict[str, Any], blobs: list[bytes]) -> None:
    told = json.dumps(head).encode("utf-8", "surrogatepass")
    body = b"".join(blobs)
    line.sendall(len(told).to_bytes(_HEAD, "big") + len(body).to_bytes(_HEAD, "big") + told)
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
