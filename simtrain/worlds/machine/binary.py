"""Binary data in pipes, which carry text only: a byte that is no UTF-8 travels as a character of Unicode's last private plane.

Commands of ours that read or write binary data (tar, gzip) use it on both sides; the machine's files turn such characters into bytes.
"""

_FIRST = 0xF0000
_TO_PRIVATE = {0xDC00 + byte: _FIRST + byte for byte in range(0x80, 0x100)}
_TO_BYTES = {_FIRST + byte: 0xDC00 + byte for byte in range(0x80, 0x100)}
_TO_SIGNS = dict.fromkeys(_TO_BYTES, 0xFFFD)
_LEAD = b"\xf3\xb0"
"""How all these characters begin in UTF-8."""


def as_text(content: bytes) -> str:
    """Return bytes as a pipe carries them."""
    return content.decode("utf-8", "surrogateescape").translate(_TO_PRIVATE)


def as_bytes(text: str) -> bytes:
    """Return the bytes that a pipe carried."""
    return text.translate(_TO_BYTES).encode("utf-8", "surrogateescape")


def restored(content: bytes) -> bytes:
    """Return what a pipe writes into a file, with binary data as bytes again."""
    return as_bytes(content.decode("utf-8", "surrogateescape")) if _LEAD in content else content


def shown(text: str) -> str:
    """Return output as a terminal shows it: U+FFFD for each byte that is no UTF-8."""
    return text.translate(_TO_SIGNS) if any(letter >= "\U000f0000" for letter in text) else text
