"""Commits as mails: headers with their encoding, the short `--stat`, and binary patches (git help format-patch)."""

import re
import zlib
from base64 import b85encode
from collections.abc import Callable, Iterable, Sequence

from simtrain.worlds.handlers.git.deltas import Delta, is_binary
from simtrain.worlds.handlers.git.objects import Signature
from simtrain.worlds.handlers.git.patch import patch
from simtrain.worlds.machine.git.listing import stat

_WIDE = 72
_LINE = 78
_ENCODED_LINE = 76
_WORD = "=?UTF-8?q?"
_LONGEST_NAME = 64
_ROW = 52
"""How many bytes a line of a binary patch holds."""


def is_plain(text: str) -> bool:
    """Return whether a text may stand in a header as it is."""
    return text.isascii() and "=?" not in text


def encoded(text: str, column: int, *, address: bool = False) -> str:
    """Return a text as encoded words (RFC 2047) that begin in a column of the line."""
    safe = r"[A-Za-z0-9!*+/-]" if address else r"[!-<>@-^`-~]"
    parts, place = [_WORD], column + len(_WORD)
    for letter in text:
        raw = letter.encode("utf-8", "surrogateescape")
        shown = letter if re.fullmatch(safe, letter) else "".join(f"={byte:02X}" for byte in raw)
        if place + len(shown) + 2 > _ENCODED_LINE:
            parts.append(f"?=\n {_WORD}")
            place = len(_WORD) + 1
        parts.append(shown)
        place += len(shown)
    return "".join(parts) + "?="


def folded(text: str, column: int) -> str:
    """Return the text of a header, with further lines indented by a space where it gets too long."""
    if not is_plain(text):
        return encoded(text, column)
    lines, place = [""], column
    for word in text.split(" "):
        if lines[-1] and place + 1 + len(word) > _LINE:
            lines.append(word)
            place = 1 + len(word)
        else:
            place += len(word) + bool(lines[-1])
            lines[-1] += f" {word}" if lines[-1] else word
    return "\n ".join(lines)


def sender(who: Signature) -> str:
    """Return a person as a header names them."""
    name = who.name
    if not is_plain(name):
        name = encoded(name, len("From: "), address=True)
    elif re.search(r'[()<>@,;:\\".\[\]]', name):
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        name = f'"{escaped}"'
    return f"{name} <{who.email}>"


def sanitized(subject: str) -> str:
    """Return a subject as part of a file name."""
    text = re.sub(r"[^A-Za-z0-9._]+", "-", subject)
    return re.sub(r"\.+", ".", text).strip("-").rstrip(".-")


def file_name(number: int, subject: str, *, version: str = "", suffix: str = ".patch") -> str:
    """Return the name of the file for a mail."""
    text = f"{version}{number:04}-{sanitized(subject)}"
    return text[: _LONGEST_NAME - len(suffix) - 1] + suffix


def mail_stat(found: Sequence[Delta]) -> str:
    """Return `--stat` as wide as a mail."""
    return stat(found, columns=_WIDE)


def whole_patch(found: Iterable[Delta], *, context: int, abbreviate: Callable[[str], str]) -> str:
    """Return differences as patches that hold binary files as well."""
    return "".join(_patch(delta, context, abbreviate) for delta in found)


def _patch(delta: Delta, context: int, abbreviate: Callable[[str], str]) -> str:
    old, new = (side.content if side else b"" for side in (delta.old, delta.new))
    if old == new or not (is_binary(old) or is_binary(new)):
        return patch([delta], context=context, abbreviate=abbreviate)
    head = patch([delta], context=context, abbreviate=str).rpartition("Binary files ")[0]
    return f"{head}GIT binary patch\n{_literal(new)}\n{_literal(old)}\n"


def _literal(content: bytes) -> str:
    packed = zlib.compress(content, zlib.Z_BEST_SPEED)
    lines: list[str] = []
    for place in range(0, len(packed), _ROW):
        row = packed[place : place + _ROW]
        size = chr(64 + len(row)) if len(row) <= 26 else chr(70 + len(row))
        lines.append(f"{size}{b85encode(row, pad=True).decode()}\n")
    return f"literal {len(content)}\n{''.join(lines)}"
