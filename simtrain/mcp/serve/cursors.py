"""Cursors of lists that are served in pages: opaque, and refused when somebody tampers with them."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from hashlib import blake2b
from secrets import token_bytes

_KEY = token_bytes(32)
_SIGN = 12


def seal(text: str) -> str:
    """Return the text as an opaque, signed token; it holds as long as this process."""
    content = text.encode()
    return urlsafe_b64encode(_signature(content) + content).decode()


def unseal(token: str) -> str:
    """Return the text in a token. Raises ValueError for one that was not made here."""
    try:
        whole = urlsafe_b64decode(token.encode())
    except (NotBase64, UnicodeEncodeError):
        raise ValueError("not a token of this server") from None
    if not hmac.compare_digest(whole[:_SIGN], _signature(whole[_SIGN:])):
        raise ValueError("not a token of this server")
    return whole[_SIGN:].decode()


def _signature(content: bytes) -> bytes:
    return blake2b(content, key=_KEY, digest_size=_SIGN).digest()
