"""The body of a posted form, read as it arrives: a file of any size takes no more memory than the largest that a form takes."""

from collections.abc import AsyncIterable
from urllib.parse import parse_qsl

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from simtrain.worlds.app.fields import MOST_FILE, Upload
from simtrain.worlds.app.web.exchange import Entries

MOST_FIELDS = 1_100
"""Most fields of a form, its files included."""

MOST_FILES = 20


class BodyTooLarge(ValueError):
    """The fields of a form, its files aside, are beyond the limit."""


async def read_form(content_type: str, body: AsyncIterable[bytes], *, limit: int) -> Entries:
    """Return the fields of a form, in order, to the end of its body. Of a file that is too large only name and size are kept.

    `limit`: most bytes of all but files. Raises ValueError for what is no form, BodyTooLarge for one that is too large.
    """
    kind, options = parse_options_header(content_type)
    if kind in (b"application/x-www-form-urlencoded", b""):
        sent = bytearray()
        size = 0
        async for chunk in body:
            size += len(chunk)
            # Read to the end all the same: a browser that is cut off shows nothing of what it is answered.
            sent += chunk[: max(0, limit - len(sent))]
        if size > limit:
            raise BodyTooLarge
        text = sent.decode("utf-8", "replace")
        return tuple(parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS))
    if kind != b"multipart/form-data" or b"boundary" not in options:
        raise ValueError("the body is no form")
    parts = _Parts(limit)
    parser = MultipartParser(
        options[b"boundary"],
        {
            "on_part_begin": parts.begin,
            "on_header_field": parts.header_field,
            "on_header_value": parts.header_value,
            "on_header_end": parts.header_end,
            "on_headers_finished": parts.headers_finished,
            "on_part_data": parts.data,
            "on_part_end": parts.end,
        },
    )
    try:
        async for chunk in body:
            parser.write(chunk)
        parser.finalize()
    except FormParserError as error:
        raise ValueError(str(error)) from None
    return parts.entries()


class _Parts:
    """What the parser found so far."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._entries: list[tuple[str, str | Upload]] = []
        self._header = self._value = b""
        self._headers: dict[bytes, bytes] = {}
        self._name = ""
        self._file: str | None = None
        self._content, self._length = bytearray(), 0
        self._files = 0

    def entries(self) -> Entries:
        """Return what was found. Raises BodyTooLarge."""
        if self._size > self._limit:
            raise BodyTooLarge
        return tuple(self._entries)

    def begin(self) -> None:
        """Begin a part."""
        self._headers, self._content, self._length = {}, bytearray(), 0

    def header_field(self, data: bytes, start: int, end: int) -> None:
        """Read on in the name of a header."""
        self._header += data[start:end]

    def header_value(self, data: bytes, start: int, end: int) -> None:
        """Read on in the value of a header."""
        self._value += data[start:end]

    def header_end(self) -> None:
        """End a header."""
        self._headers[self._header.lower()] = self._value
        self._header = self._value = b""

    def headers_finished(self) -> None:
        """Begin the content of a part."""
        _, options = parse_options_header(self._headers.get(b"content-disposition"))
        if b"name" not in options or len(self._entries) >= MOST_FIELDS:
            raise ValueError("a part of the form has no name, or there are too many")
        self._name = options[b"name"].decode("utf-8", "replace")
        name = options.get(b"filename")
        self._file = None if name is None else name.decode("utf-8", "replace")
        self._files += name is not None
        if self._files > MOST_FILES:
            raise ValueError("the form has too many files")

    def data(self, data: bytes, start: int, end: int) -> None:
        """Keep content, as far as it may grow."""
        self._length += end - start
        if self._file is None:
            self._size += end - start
        room = (MOST_FILE if self._file is not None else self._limit) - len(self._content)
        self._content += data[start : min(end, start + max(0, room))]

    def end(self) -> None:
        """End a part."""
        text = self._content.decode("utf-8", "replace")
        if self._file is None:
            self._entries.append((self._name, text))
            return
        kept = text.replace("\0", "�") if self._length <= MOST_FILE else ""
        self._entries.append((self._name, Upload(self._file, kept, self._length)))
