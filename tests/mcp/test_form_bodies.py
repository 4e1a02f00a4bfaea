"""Bodies of forms are read as another library writes them, whatever the pieces in which they arrive."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simtrain.mcp.serve.form_bodies import MOST_FIELDS, MOST_FILES, BodyTooLarge, read_form
from simtrain.worlds.app.fields import MOST_FILE, Upload
from simtrain.worlds.app.web.exchange import Entries

# Browsers and httpx write quotes in names as %22, and so they stay.
NAMES = st.text(st.characters(exclude_categories=["C"], exclude_characters='"\\\\'), min_size=1, max_size=8)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


async def read(request: httpx.Request, *, piece: int = 1 << 16, limit: int = 10_000) -> Entries:
    content = request.read()

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(content), piece):
            yield content[start : start + piece]

    return await read_form(request.headers["content-type"], pieces(), limit=limit)


def posted(**body: Any) -> httpx.Request:
    return httpx.Request("POST", "http://site.example/", **body)


@given(fields=st.dictionaries(NAMES, TEXTS, min_size=1, max_size=4), piece=st.integers(1, 50))
async def test_fields_are_read_as_they_were_sent(fields: dict[str, str], piece: int) -> None:
    assert await read(posted(data=fields), piece=piece) == tuple(fields.items())


@given(fields=st.dictionaries(NAMES, TEXTS, max_size=3), name=NAMES, text=TEXTS, piece=st.integers(1, 50))
async def test_fields_and_files_are_read_as_they_were_sent(
    fields: dict[str, str], name: str, text: str, piece: int
) -> None:
    request = posted(data=fields, files={"file": (name, text.encode())})
    shown = text.replace("\0", "�")
    assert await read(request, piece=piece) == (*fields.items(), ("file", Upload(name, shown, len(text.encode()))))


async def test_of_a_file_that_is_too_large_name_and_size_are_kept() -> None:
    for size, kept in ((MOST_FILE, MOST_FILE), (MOST_FILE + 1, 0), (5 * MOST_FILE, 0)):
        ((_, found),) = await read(posted(files={"file": ("a.txt", b"x" * size)}))
        assert isinstance(found, Upload) and (found.size, len(found.text)) == (size, kept)


@pytest.mark.parametrize("files", [None, {"file": ("a.txt", b"")}])
async def test_fields_beyond_the_limit_are_refused_when_all_has_arrived(files: object) -> None:
    with pytest.raises(BodyTooLarge):
        await read(posted(data={"a": "x" * 6_000, "b": "x" * 6_000}, files=files))


@pytest.mark.parametrize(
    "body",
    [
        {"content": b"--B\r\n", "headers": {"content-type": "multipart/form-data"}},
        {"content": b"no boundary", "headers": {"content-type": "multipart/form-data; boundary=B"}},
        {"content": b"--B\r\n\r\nx\r\n--B--", "headers": {"content-type": "multipart/form-data; boundary=B"}},
        {"json": {}},
        {"data": {f"f{n}": "" for n in range(MOST_FIELDS + 1)}},
        {"data": {f"f{n}": "" for n in range(MOST_FIELDS + 1)}, "files": {"file": ("a", b"")}},
        {"files": [("file", ("a", b""))] * (MOST_FILES + 1)},
    ],
)
async def test_what_is_no_form_is_refused(body: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        await read(posted(**body), limit=1_000_000)
