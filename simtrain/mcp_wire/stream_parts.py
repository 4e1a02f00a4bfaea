"""Splits byte streams into lines and events without changing a byte."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BLANK_LINE = re.compile(rb"(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r(?!\n))")


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes as received. `whole` is false for a part of something larger than the limit, which is only passed on, not parsed."""

    data: bytes
    whole: bool = True


class _Cutter:
    """Splits after each match of a pattern. Input of more than `limit` bytes without a match is given out in parts."""

    def __init__(self, pattern: re.Pattern[bytes], *, limit: int) -> None:
        self._pattern = pattern
        self._limit = limit
        self._buffer = bytearray()
        self._searched = 0
        self._partial = False

    def feed(self, chunk: bytes) -> Iterator[Piece]:
        """Yield the pieces that `chunk` completes."""
        buffer = self._buffer
        buffer += chunk
        while (found := self._pattern.search(buffer, self._searched)) is not None:
            piece = Piece(bytes(buffer[: found.end()]), not self._partial)
            del buffer[: found.end()]
            self._searched, self._partial = 0, False
            yield piece
        # The longest match has four bytes (CR LF CR LF), three of which may be here already.
        self._searched = max(0, len(buffer) - 3)
        if len(buffer) > self._limit:
            self._partial = True
            yield Piece(bytes(buffer), False)
            buffer.clear()
            self._searched = 0

    def rest(self) -> Iterator[Piece]:
        """Yield what is left at the end of the stream."""
        if self._buffer:
            yield Piece(bytes(self._buffer), not self._partial)
            self._buffer.clear()


class StreamLines(_Cutter):
    """Lines, each with its newline."""

    def __init__(self, *, limit: int) -> None:
        super().__init__(re.compile(rb"\n"), limit=limit)


class Events(_Cutter):
    """Server-sent events, each with its final blank line. Source: WHATWG HTML standard, section 9.2."""

    def __init__(self, *, limit: int) -> None:
        super().__init__(_BLANK_LINE, limit=limit)


def event_data(event: bytes) -> bytes:
    """Return the data of an event; empty if it has none."""
    return b"\n".join(line[5:].removeprefix(b" ") for line in event.splitlines() if line.startswith(b"data:"))


def with_data(event: bytes, data: bytes) -> bytes:
    """Return the event with its data replaced by one line; other fields stay."""
    end = b"\r\n" if b"\r\n" in event else b"\n"
    fields = [line for line in event.splitlines() if line and not line.startswith(b"data:")]
    return end.join((*fields, b"data: " + data, b"", b""))
