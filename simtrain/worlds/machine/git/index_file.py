"""The file `.git/index`, version 2 (git's Documentation/gitformat-index)."""

import struct
from collections.abc import Mapping
from hashlib import sha1

from simtrain.worlds.handlers.git.objects import TreeEntry

_HEAD = struct.Struct(">4sLL")
_ENTRY = struct.Struct(">10L20sH")
_LONGEST = 0xFFF

Stages = Mapping[tuple[str, int], TreeEntry]
"""Path and stage -> entry. Stage 0 is the usual one; 1 to 3 are the base and both sides of a conflict."""


def encoded(entries: Stages) -> bytes:
    """Return the file for the given entries. What git notes of files on the disk is left at zero, so that it looks again."""
    content = _HEAD.pack(b"DIRC", 2, len(entries))
    for (path, stage), entry in sorted(entries.items(), key=lambda item: (item[0][0].encode(), item[0][1])):
        name = path.encode("utf-8", "surrogateescape")
        flags = stage << 12 | min(len(name), _LONGEST)
        row = _ENTRY.pack(0, 0, 0, 0, 0, 0, int(entry.mode, 8), 0, 0, 0, bytes.fromhex(entry.sha), flags) + name
        content += row + b"\0" * (8 - len(row) % 8)
    return content + sha1(content, usedforsecurity=False).digest()


def decoded(content: bytes) -> dict[tuple[str, int], TreeEntry]:
    """Return the entries of the file. Raises ValueError for a damaged one."""
    if not content:
        return {}
    if len(content) < _HEAD.size:
        raise ValueError("index file smaller than expected")
    mark, version, count = _HEAD.unpack_from(content)
    if mark != b"DIRC" or version not in (2, 3):
        raise ValueError("bad signature or version")
    found: dict[tuple[str, int], TreeEntry] = {}
    place = _HEAD.size
    for _ in range(count):
        try:
            fields = _ENTRY.unpack_from(content, place)
        except struct.error:
            raise ValueError("truncated index") from None
        mode, sha, flags = fields[6], fields[10], fields[11]
        start = place + _ENTRY.size
        end = content.index(b"\0", start)
        path = content[start:end].decode("utf-8", "surrogateescape")
        found[path, flags >> 12 & 3] = TreeEntry(f"{mode:o}", sha.hex())
        length = end - place
        place += length + 8 - length % 8
    return found
