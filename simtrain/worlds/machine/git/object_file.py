"""The files of loose objects: head, zero byte and content in the format of zlib (RFC 1950; git's Documentation/gitrepository-layout).

They are stored, not compressed: libraries of zlib differ in what they make of the same content. Stored blocks (RFC 1951, 3.2.4) are
written and read here, since zlib takes ten times as long to begin as all of that.
"""

import struct
import zlib

from simtrain.worlds.handlers.git.objects import Kind

_HEAD = b"\x78\x01"
_BLOCK = struct.Struct("<BHH")
_SUM = struct.Struct(">L")
_LARGEST = 0xFFFF
_KINDS: dict[bytes, Kind] = {b"commit": "commit", b"tree": "tree", b"blob": "blob", b"tag": "tag"}


def object_file(kind: Kind, content: bytes) -> bytes:
    """Return the file of an object."""
    plain = b"%s %d\0%s" % (kind.encode(), len(content), content)
    written = [_HEAD]
    for place in range(0, len(plain), _LARGEST):
        block = plain[place : place + _LARGEST]
        last = place + _LARGEST >= len(plain)
        written += [_BLOCK.pack(last, len(block), len(block) ^ _LARGEST), block]
    return b"".join([*written, _SUM.pack(zlib.adler32(plain))])


def read_object(file: bytes) -> tuple[Kind, bytes]:
    """Return kind and content of an object from its file. Raises zlib.error or KeyError for a damaged one."""
    plain = _stored(file)
    head, _, content = (zlib.decompress(file) if plain is None else plain).partition(b"\0")
    return _KINDS[head.partition(b" ")[0]], content


def _stored(file: bytes) -> bytes | None:
    """Return what a file of one stored block holds; None for any other, and for a damaged one."""
    begin, end = len(_HEAD) + _BLOCK.size, len(file) - _SUM.size
    if (
        end < begin
        or not file.startswith(_HEAD)
        or _BLOCK.unpack_from(file, len(_HEAD)) != (1, end - begin, end - begin ^ _LARGEST)
    ):
        return None
    plain = file[begin:end]
    return plain if zlib.adler32(plain) == _SUM.unpack_from(file, end)[0] else None
