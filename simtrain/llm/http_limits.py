"""HTTP replies of a model's server: read and decompress the body up to a limit, and parse Retry-After."""

import errno
import zlib
from collections.abc import AsyncIterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

MOST: Final = 64 * 1024 * 1024
"""Maximum bytes of a body, compressed and decompressed."""

ACCEPTED: Final = "gzip, deflate"
"""The value of Accept-Encoding: the encodings that can be decompressed incrementally."""

_ANY_HEADER = zlib.MAX_WBITS | 32


class Unfit(ValueError):
    """A body that is too large, or in an encoding that was not requested."""


async def unpacked(pieces: AsyncIterable[bytes], *, encoding: str = "", most: int = MOST) -> bytes:
    """Return the whole body, its `encoding` (a Content-Encoding) undone. Raises Unfit."""
    packed = encoding.strip().lower()
    if packed not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise Unfit(f"a reply encoded as {packed[:40]!r}, which was not requested")
    unpacker = zlib.decompressobj(_ANY_HEADER) if packed not in ("", "identity") else None
    body, received = bytearray(), 0
    async for piece in pieces:
        received += len(piece)
        try:
            # Bounded per piece: a few kilobytes of gzip can expand to gigabytes.
            body += piece if unpacker is None else unpacker.decompress(piece, most + 1 - len(body))
        except zlib.error:
            raise Unfit("a reply that cannot be decompressed") from None
        if received > most or len(body) > most:
            raise Unfit(f"a reply of more than {most // 1024 // 1024} MiB")
    # Without this check a reply that was cut off would count as complete.
    if unpacker is not None and received and not unpacker.eof:
        raise Unfit("a compressed reply that ends too early")
    return bytes(body)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the wait in seconds that a Retry-After header asks for, written as seconds or as a date (RFC 9110, 10.2.3).

    A date is compared with the reply's own Date header if there is one, so that a wrong clock does no harm.
    """
    given = headers.get("retry-after")
    if given is None:
        return None
    try:
        return max(0.0, float(given))
    except ValueError:
        moment, now = _date(given), _date(headers.get("date", ""))
    if moment is None:
        return None
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


def system_error(error: BaseException) -> str | None:
    """Return the operating system's message about a failed connection; None if there is none."""
    below: BaseException | None = error
    while below is not None:
        # The transport wraps the error several times; only the innermost one names the reason.
        if isinstance(below, ConnectionRefusedError) or getattr(below, "errno", None) == errno.ECONNREFUSED:
            return "connection refused"
        if isinstance(below, OSError) and not isinstance(below, TimeoutError) and below.strerror:
            found = below.strerror
            return found[0].lower() + found[1:]
        below = below.__cause__ or below.__context__
    return None


def _date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
