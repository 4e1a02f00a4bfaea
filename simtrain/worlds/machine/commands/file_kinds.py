"""Kinds of files by their content: packed data, pictures, databases and programs by their first bytes, all else as text or data."""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from simtrain.worlds.machine.commands.file_texts import text_kind

_LOOKED_AT = 7_340_032
"""Bytes of a file that are looked at."""


@dataclass(frozen=True, slots=True)
class FileKind:
    """What is said of a file: in words, as a MIME type, and how its text is encoded."""

    text: str
    mime: str
    charset: str = "binary"


def kind_of(content: bytes) -> FileKind:
    """Return the kind of a file by its content."""
    if not content:
        return FileKind("empty", "inode/x-empty")
    if len(content) == 1:
        return FileKind("very short file (no magic)", "application/octet-stream")
    for magic, place, tell, mime in _MAGIC:
        if content.startswith(magic, place):
            try:
                text = tell(content)
            except (struct.error, IndexError, ValueError):
                continue
            return FileKind(text, mime)
    found = text_kind(content[:_LOOKED_AT])
    return FileKind(*found) if found else FileKind("data", "application/octet-stream")


def _gzip(content: bytes) -> str:
    flags, moment, level, system = struct.unpack_from("<xxxBIBB", content)
    words = ["gzip compressed data"]
    if flags & 8:
        start = 10 + (2 + int.from_bytes(content[10:12], "little") if flags & 4 else 0)
        words.append(f'was "{content[start : content.index(0, start)].decode("utf-8", "replace")}"')
    if moment:
        then = datetime.fromtimestamp(moment, UTC)
        words.append(f"last modified: {then:%a %b} {then.day:2d} {then:%H:%M:%S %Y}")
    words += {2: ["max compression"], 4: ["max speed"]}.get(level, [])
    words += {0: ["from FAT filesystem (MS-DOS, OS/2, NT)"], 3: ["from Unix"]}.get(system, [])
    return ", ".join([*words, f"original size modulo 2^32 {int.from_bytes(content[-4:], 'little')}"])


def _bzip2(content: bytes) -> str:
    return f"bzip2 compressed data, block size = {int(content[3:4])}00k"


def _xz(content: bytes) -> str:
    kind = {0: "NONE", 1: "CRC32", 4: "CRC64", 10: "SHA-256"}.get(content[7])
    return "XZ compressed data" + (f", checksum {kind}" if kind else "")


def _zip(content: bytes) -> str:
    version, _, method = struct.unpack_from("<HHH", content, 4)
    name = {0: "store", 8: "deflate", 12: "bzip2", 14: "lzma"}.get(method, f"[{method:#x}]")
    return f"Zip archive data, at least v{version // 10}.{version % 10} to extract, compression method={name}"


def _sqlite(content: bytes) -> str:
    def number(place: int) -> int:
        return struct.unpack_from(">I", content, place)[0]

    writer, reader = content[18], content[19]
    words = ["SQLite 3.x database"]
    words += [f"application id {number(68)}"] if number(68) else []
    words += [f"user version {number(60)}"] if number(60) else []
    words.append(f"last written using SQLite version {number(96)}")
    size = int.from_bytes(content[16:18], "big")
    words += [f"page size {size}"] if size != 4096 else []
    words += [f"writer version {writer}"] if writer != 1 else []
    words += [f"read version {reader}"] if reader != 1 else []
    words += [f"file counter {number(24)}", f"database pages {number(28)}"]
    words += [f"1st free page {number(32)}, free pages {number(36)}"] if number(32) else []
    words += [f"cookie {number(40):#x}", f"schema {number(44)}"]
    words.append({1: "UTF-8", 2: "UTF-16 little endian", 3: "UTF-16 big endian"}.get(number(56), "unknown 0 encoding"))
    return ", ".join([*words, f"version-valid-for {number(92)}"])


def _png(content: bytes) -> str:
    width, height, depth, color, _, _, laced = struct.unpack_from(">IIBBBBB", content, 16)
    kind = {0: " grayscale", 2: "/color RGB", 3: " colormap", 4: " gray+alpha", 6: "/color RGBA"}[color]
    return f"PNG image data, {width} x {height}, {depth}-bit{kind}, {'' if laced else 'non-'}interlaced"


def _gif(content: bytes) -> str:
    width, height = struct.unpack_from("<HH", content, 6)
    return f"GIF image data, version {content[3:6].decode()}, {width} x {height}"


def _jpeg(content: bytes) -> str:
    words = ["JPEG image data"]
    if content[6:10] == b"JFIF":
        major, minor, unit, across, down = struct.unpack_from(">BBBHH", content, 11)
        measure = {0: "aspect ratio", 1: "resolution (DPI)", 2: "resolution (DPCM)"}.get(unit, "aspect ratio")
        words += [f"JFIF standard {major}.{minor:02d}", measure, f"density {across}x{down}"]
        words.append(f"segment length {int.from_bytes(content[4:6], 'big')}")
    place = 2
    while place + 9 < len(content) and content[place] == 0xFF:
        mark, length = content[place + 1], int.from_bytes(content[place + 2 : place + 4], "big")
        if mark in (0xC0, 0xC1, 0xC2):
            bits, height, width, parts = struct.unpack_from(">BHHB", content, place + 4)
            kind = {0xC0: "baseline", 0xC1: "extended sequential", 0xC2: "progressive"}[mark]
            return ", ".join([*words, kind, f"precision {bits}", f"{width}x{height}", f"components {parts}"])
        place += 2 + length
    return ", ".join(words)


def _elf(content: bytes) -> str:
    order = "<" if content[5] == 1 else ">"
    kind, processor, version = struct.unpack_from(f"{order}HHI", content, 16)
    names = {0: "no file type", 1: "relocatable", 2: "executable", 3: "shared object", 4: "core file"}
    processors = {3: "Intel 80386", 40: "ARM", 62: "x86-64", 183: "ARM aarch64", 243: "UCB RISC-V"}
    bits, ends = {1: "32-bit", 2: "64-bit"}[content[4]], "LSB" if order == "<" else "MSB"
    made = {0: "SYSV", 3: "GNU/Linux"}.get(content[7], "SYSV")
    name, machine = names.get(kind, "unknown"), processors.get(processor, "unknown architecture")
    return f"ELF {bits} {ends} {name}, {machine}, version {version} ({made})"


def _index(content: bytes) -> str:
    version, entries = struct.unpack_from(">II", content, 4)
    return f"Git index, version {version}, {entries} entries"


def _pack(content: bytes) -> str:
    version, objects = struct.unpack_from(">II", content, 4)
    return f"Git pack, version {version}, {objects} objects"


def _said(text: str) -> Callable[[bytes], str]:
    return lambda content: text


_MAGIC: tuple[tuple[bytes, int, Callable[[bytes], str], str], ...] = (
    (b"\x1f\x8b", 0, _gzip, "application/gzip"),
    (
        b"BZh",
        0,
        _bzip2,
        "application/x-bzip2",
    ),
    (b"\xfd7zXZ\0", 0, _xz, "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", 0, _said("Zstandard compressed data (v0.8+), Dictionary ID: None"), "application/zstd"),
    (b"PK\x05\x06", 0, _said("Zip archive data (empty)"), "application/zip"),
    (b"PK\x03\x04", 0, _zip, "application/zip"),
    (b"ustar  \0", 257, _said("POSIX tar archive (GNU)"), "application/x-tar"),
    (b"ustar\0", 257, _said("POSIX tar archive"), "application/x-tar"),
    (b"SQLite format 3\0", 0, _sqlite, "application/vnd.sqlite3"),
    (b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR", 0, _png, "image/png"),
    (b"GIF8", 0, _gif, "image/gif"),
    (b"\xff\xd8\xff", 0, _jpeg, "image/jpeg"),
    (b"\x7fELF", 0, _elf, "application/x-executable"),
    (b"DIRC", 0, _index, "application/octet-stream"),
    (b"PACK", 0, _pack, "application/x-git"),
    (b"\xfftOc\0\0\0\x02", 0, _said("Git pack index, version 2"), "application/octet-stream"),
)
"""First bytes, where they are, what is said of the content, and its MIME type."""
