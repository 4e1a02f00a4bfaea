"""Server-sent events, read from chunks of bytes. Source: the WHATWG HTML standard, section 9.2."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE_END = re.compile(rb"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event; `id` and `retry` (milliseconds) are None where the event has none."""

    data: str
    name: str = "message"
    id: str | None = None
    retry: int | None = None


class EventReader:
    """Takes chunks, gives events. A line or event of more than `limit` bytes raises ValueError."""

    def __init__(self, *, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._searched = 0
        self._fields: dict[str, str] = {}
        self._data: list[str] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[ServerSentEvent]:
        """Yield the events that `chunk` completes."""
        self._buffer += chunk
        if len(self._buffer) > self._limit:
            raise ValueError("the event is too large")
        while (line := self._take_line()) is not None:
            event = self._read(line)
            if event is not None:
                yield event

    def _take_line(self) -> str | None:
        """Return the next whole line; CR, LF and CRLF all end one, and a CR at the very end may be half of a CRLF."""
        found = _LINE_END.search(self._buffer, self._searched)
        if found is None:
            self._searched = len(self._buffer)
            return None
        if found.group() == b"\r" and found.end() == len(self._buffer):
            self._searched = found.start()
            return None
        line = self._buffer[: found.start()].decode(errors="replace")
        end = found.end()
        del found  # It holds the buffer, which could not shrink.
        del self._buffer[:end]
        self._searched = 0
        return line

    def _read(self, line: str) -> ServerSentEvent | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._size += len(value)
            if self._size > self._limit:
                raise ValueError("the event is too large")
            self._data.append(value)
        elif name in ("event", "id", "retry"):
            self._fields[name] = value
        return None

    def _dispatch(self) -> ServerSentEvent | None:
        fields, data = self._fields, self._data
        self._fields, self._data, self._size = {}, [], 0
        if not fields and not data:
            return None
        retry = fields.get("retry", "")
        return ServerSentEvent(
            "\n".join(data), fields.get("event", "message"), fields.get("id"), int(retry) if retry.isdecimal() else None
        )
