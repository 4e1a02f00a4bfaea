"""Cursors of paged lists: opaque and signed, so that altered ones are refused."""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from hashlib import blake2b
from secrets import token_bytes

# A key for each process: cursors are not meant to survive it.
_KEY = token_bytes(32)
# 96 bits: a forged cursor would only show a list from another place, so guessing need not be harder.
_SIGN = 12


def seal(text: str) -> str:
    """Return the text as an opaque, signed token, valid as long as this process runs."""
    content = text.encode()
    return urlsafe_b64encode(_signature(content) + content).decode()


def unseal(token: str) -> str:
    """Return the text in a token. Raises ValueError for a token that this process did not make."""
    try:
        whole = urlsafe_b64decode(token.encode())
    except (NotBase64, UnicodeEncodeError):
        raise ValueError("not a token of this server") from None
    if not hmac.compare_digest(whole[:_SIGN], _signature(whole[_SIGN:])):
        raise ValueError("not a token of this server")
    return whole[_SIGN:].decode()


def _signature(content: bytes) -> bytes:
    return blake2b(content, key=_KEY, digest_size=_SIGN).digest()
