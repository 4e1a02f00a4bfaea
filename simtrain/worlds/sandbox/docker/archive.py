"""Files as a tar archive that goes into a container, and what came out of one: read by whoever trusts none of it."""

import io
import os
import stat
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from posixpath import normpath

from simtrain.contracts.sandbox_runs import Entry, File, Files, Folder, SymbolicLink
from simtrain.values.errors import SimulatorFault

BLOCK = tarfile.RECORDSIZE
"""Archives are a multiple of so many bytes long."""
_KINDS = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.GNUTYPE_SPARSE)


@dataclass(frozen=True, slots=True)
class LeftEntry:
    """What lies at a path after a run: an entry whose time is the one of the container's clock."""

    entry: Entry
    modified: float


def packed(files: Files, *, start: float, access: Mapping[str, int]) -> bytes:
    """Return files as an archive. `access` takes from their owner what it does not give."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT) as archive:
        # A folder right before all that lies in it: tar closes it when it leaves it.
        for path in sorted(files, key=lambda path: path.split("/")):
            entry = files[path]
            member = tarfile.TarInfo(path[1:])
            member.mtime = int(start)
            if isinstance(entry, SymbolicLink):
                member.type, member.linkname = tarfile.SYMTYPE, entry.target
                archive.addfile(member)
                continue
            member.mode = put_mode(entry, access.get(path))
            if isinstance(entry, Folder):
                member.type = tarfile.DIRTYPE
                archive.addfile(member)
                continue
            member.size = len(entry.content)
            member.mtime = put_time(entry, start)
            archive.addfile(member, io.BytesIO(entry.content))
    return made.getvalue()


def check_paths(files: Files) -> None:
    """Raise SimulatorFault for a path that is relative or not in plain form."""
    for path in files:
        if not path.startswith("/") or path.startswith("//") or path != normpath(path) or "\0" in path:
            raise SimulatorFault(f"{path!r} is not an absolute path in plain form")


def put_mode(entry: File | Folder, access: int | None) -> int:
    """Return the mode that an entry gets: its own, without what its user may not do with it."""
    if access is None:
        return entry.mode
    if isinstance(entry, Folder) and access & 2:
        # What a program can fill must be readable afterwards.
        access |= 4
    return entry.mode & (0o7077 | access << 6)


def put_time(entry: File, start: float) -> int:
    """Return the time that a file gets, in whole seconds."""
    return int(max(0.0, start if entry.modified is None else entry.modified))


def unpacked(archive: bytes, *, modes: Mapping[str, int]) -> Iterator[tuple[str, LeftEntry]]:
    """Yield path and content of what lies in an archive. `modes` are those that were changed for the sake of reading.

    Raises tarfile.TarError for one that is no archive, or not a whole one.
    """
    contents: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:", errors="surrogateescape") as opened:
        for member in opened:
            path = normpath(f"/{_text(member.name)}")
            mode = modes.get(path, stat.S_IMODE(member.mode))
            if member.isdir():
                yield path, LeftEntry(Folder(mode), member.mtime)
            elif member.issym():
                yield path, LeftEntry(SymbolicLink(_text(member.linkname)), member.mtime)
            elif member.islnk():
                # A further name of a file.
                yield path, LeftEntry(File(contents.get(member.linkname, b""), mode), member.mtime)
            elif member.type in _KINDS:
                content = opened.extractfile(member)
                contents[member.name] = content.read() if content is not None else b""
                yield path, LeftEntry(File(contents[member.name], mode), member.mtime)


def _text(name: str) -> str:
    """Return a name as text: a program can give files names that are no UTF-8."""
    return os.fsencode(name).decode(errors="replace")
