"""What a run changed: what came out of a container beside what went in. Everything that came out may be forged."""

import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from simtrain.contracts.sandbox_runs import Changes, Ending, Entry, File, Files, Folder, SandboxCommand, SymbolicLink
from simtrain.worlds.sandbox.docker.archive import LeftEntry, put_mode, put_time, unpacked
from simtrain.worlds.sandbox.docker.container import Leftovers
from simtrain.worlds.sandbox.docker.places import carried

_LONGEST = 3_600
"""Seconds that no run takes by the container's clock: later times are those that files were given."""


@dataclass(frozen=True, slots=True)
class After:
    """The changes of a run, and the limit that they show it to have passed."""

    changes: Changes
    ended_by: Ending | None = None


def compared(
    command: SandboxCommand, given: Files, left: Leftovers | Ending, *, mounts: tuple[str, ...], now: float, fresh: int
) -> After:
    """Return what differs from the files put in. What was written since `fresh` was changed at the virtual time `now`."""
    if not isinstance(left, Leftovers):
        return After({}, left)
    try:
        there = dict(unpacked(left.archive, modes=left.modes))
    except (tarfile.TarError, ValueError, OSError):
        return After({}, "crash")
    implied = {*mounts, *_above((*given, *mounts, command.cwd)), command.cwd}
    kept = carried({path: one.entry for path, one in there.items()}, mounts)
    found: dict[str, Entry | None] = {path: None for path in given if path not in there}
    for path in kept:
        before = given.get(path)
        if before is None and path in implied:
            continue
        entry = _entry(before, there[path], command, path, now=now, fresh=fresh)
        if entry != before:
            found[path] = entry
    size = sum(len(entry.content) for entry in kept.values() if isinstance(entry, File))
    over = size > command.limits.scratch or len(kept) > command.limits.files
    return After({path: found[path] for path in sorted(found)}, "scratch" if over else None)


def _entry(
    before: Entry | None, left: LeftEntry, command: SandboxCommand, path: str, *, now: float, fresh: int
) -> Entry:
    entry = left.entry
    if isinstance(entry, SymbolicLink):
        return entry
    mode = entry.mode
    if (
        before is not None
        and not isinstance(before, SymbolicLink)
        and mode == put_mode(before, command.access.get(path))
    ):
        mode = before.mode
    if isinstance(entry, Folder):
        return Folder(mode)
    modified: float | None = now if fresh <= left.modified < fresh + _LONGEST else left.modified
    if (
        isinstance(before, File)
        and before.content == entry.content
        and left.modified == put_time(before, command.start)
    ):
        modified = before.modified
    return File(entry.content, mode, modified)


def _above(paths: Iterable[str]) -> Iterator[str]:
    """Yield the folders that lie above some paths."""
    for path in paths:
        while path := path.rpartition("/")[0]:
            yield path
