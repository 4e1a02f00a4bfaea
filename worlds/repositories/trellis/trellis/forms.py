"""What browsers send with forms."""

from dataclasses import dataclass

from trellis.errors import HttpError
from trellis.headers import parse_options
from trellis.urls import parse_query

MOST_PARTS = 100


@dataclass(frozen=True)
class Upload:
    """A file that was sent."""

    name: str
    kind: str
    content: bytes


def parse_form(body: bytes, content_type: str) -> dict[str, list[str | Upload]]:
    """Return the fields of a form by name. HttpError 415 for another content type, 400 for a broken body."""
    kind, options = parse_options(content_type)
    if kind == "application/x-www-form-urlencoded":
        return dict(parse_query(body.decode(errors="replace")))
    if kind != "multipart/form-data":
        raise HttpError(415, f"{kind or 'nothing'} is no form")
    boundary = options.get("boundary", "")
    if not boundary:
        raise HttpError(400, "the form has no boundary")
    found: dict[str, list[str | Upload]] = {}
    for part in _parts(body, boundary.encode()):
        name, value = _field(part)
        found.setdefault(name, []).append(value)
    return found


def _parts(body: bytes, boundary: bytes) -> list[bytes]:
    pieces = (b"\r\n" + body).split(b"\r\n--" + boundary)
    if len(pieces) < 2 or not pieces[-1].startswith(b"--"):
        raise HttpError(400, "the form does not end")
    parts = pieces[1:-1]
    if len(parts) > MOST_PARTS:
        raise HttpError(413, f"the form has more than {MOST_PARTS} parts")
    return [part.removeprefix(b"\r\n") for part in parts]


def _field(part: bytes) -> tuple[str, str | Upload]:
    head, empty, content = part.partition(b"\r\n\r\n")
    if not empty:
        raise HttpError(400, "a part of the form has no end of its head")
    headers: dict[str, str] = {}
    for line in head.decode(errors="replace").split("\r\n"):
        key, _, value = line.partition(":")
        headers[key.strip().lower()] = value.strip()
    kind, options = parse_options(headers.get("content-disposition", ""))
    if kind != "form-data" or "name" not in options:
        raise HttpError(400, "a part of the form has no name")
    if "filename" in options:
        name = options["filename"].replace("\\", "/").rpartition("/")[2]
        content_type = headers.get("content-type", "application/octet-stream")
        return options["name"], Upload(name, content_type, content)
    return options["name"], content.decode(errors="replace")
