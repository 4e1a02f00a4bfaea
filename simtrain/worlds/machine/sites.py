"""What the services of a machine answer over HTTP: files, templates over SQL, or a status."""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from posixpath import normpath
from urllib.parse import parse_qsl, unquote, urlsplit

import orjson

from simtrain.files.templates import Text
from simtrain.files.yaml_files import Document, Place
from simtrain.values.clock import seconds, stamp
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue, is_object
from simtrain.worlds.machine.files import Files
from simtrain.worlds.machine.records import Records
from simtrain.worlds.machine.spec import AnswerSource, HostSource

_KINDS = {"html": "text/html", "json": "application/json", "txt": "text/plain", "css": "text/css", "csv": "text/csv",
          "js": "text/javascript", "xml": "application/xml", "gz": "application/gzip", "log": "text/plain"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request to a service. `target` is path and query as on the request line."""

    method: str
    target: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: str = ""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """What a service answers, and after how many virtual seconds."""

    status: int
    body: bytes
    headers: Mapping[str, str]
    takes: float = 0.0

    @property
    def reason(self) -> str:
        """Return the phrase of the status."""
        try:
            return HTTPStatus(self.status).phrase
        except ValueError:
            return ""

    @property
    def head(self) -> str:
        """Return status line and headers as they are sent."""
        lines = [
            f"HTTP/1.1 {self.status} {self.reason}".rstrip(),
            *(f"{name}: {text}" for name, text in self.headers.items()),
        ]
        return "".join(f"{line}\r\n" for line in [*lines, ""])


class ServiceAnswer:
    """One answer of a service, ready to be used."""

    def __init__(self, source: AnswerSource) -> None:
        """Compile the templates. Raises InputError."""
        self.source = source
        self._template = None if source.template is None else Text(source.template)
        self._headers = {name: Text(text) for name, text in source.headers.items()}
        tail = r"(?P<rest>/.*)?" if source.folder is not None else ""
        shape = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(source.path.rstrip("/") if tail else source.path))
        self._shape = re.compile(shape + tail)

    def fits(self, request: HttpRequest) -> dict[str, str] | None:
        """Return the named parts of the path if this answers it; None otherwise. The method is not looked at."""
        found = self._shape.fullmatch(unquote(urlsplit(request.target).path))
        return None if found is None else {name: text or "" for name, text in found.groupdict().items()}

    def takes_method(self, method: str) -> bool:
        """True if the method is one of those that this answers."""
        return method in self.source.methods or (method == "HEAD" and "GET" in self.source.methods)

    def given(self, request: HttpRequest, parts: dict[str, str], files: Files, records: Records) -> HttpResponse:
        """Return the answer. SQL and templates that fail answer 500, as a program of that kind would."""
        source = self.source
        if source.folder is not None:
            return _file(f"{source.folder}{parts.get('rest') or '/'}", request, files, source)
        query: JsonObject = dict(parse_qsl(urlsplit(request.target).query, keep_blank_values=True))
        values: JsonObject = {
            **parts, "query": query, "method": request.method, "body": request.body, "now": stamp(files.clock.moment),
            "headers": {name.lower(): text for name, text in request.headers.items()}, "json": _json(request.body),
            "form": dict(parse_qsl(request.body, keep_blank_values=True)),
        }  # fmt: skip
        cells: dict[str, JsonValue] = {**_plain(values["form"]), **_plain(values["json"]), **_plain(query), **parts}
        cells |= {"body": request.body, "now": values["now"]}
        try:
            for statement in source.do:
                records.write(statement, _needed(statement, cells))
            rows = [] if source.rows is None else records.read(source.rows, _needed(source.rows, cells))
            if source.found and not rows:
                return plain(404)
            body = "" if self._template is None else self._template.render({**values, "rows": rows})
            headers = {name: text.render({**values, "rows": rows}) for name, text in self._headers.items()}
        except (sqlite3.Error, InputError):
            return plain(500)
        content = (
            body.encode()
            if not body or body.endswith("\n") or source.type == "application/json"
            else f"{body}\n".encode()
        )
        return _response(source.status, content, source.type, headers, takes=seconds(source.takes))


def answer(answers: Sequence[ServiceAnswer], request: HttpRequest, files: Files, records: Records) -> HttpResponse:
    """Return what a service answers to a request: by the first of its answers that fits path and method."""
    known = False
    for one in answers:
        parts = one.fits(request)
        if parts is None:
            continue
        known = True
        if one.takes_method(request.method):
            return one.given(request, parts, files, records)
    return plain(405 if known else 404)


def compiled_answers(sources: Sequence[AnswerSource], document: Document, place: Place) -> list[ServiceAnswer]:
    """Return the answers of a service. Raises InputError with the place in the file."""
    found: list[ServiceAnswer] = []
    for number, source in enumerate(sources):
        with document.at((*place, number)):
            found.append(ServiceAnswer(source))
    return found


def answers_of(host: HostSource, document: Document, place: Place) -> dict[str, list[ServiceAnswer]]:
    """Return what the services of a machine answer over HTTP, by name. Raises InputError with the place in the file."""
    return {
        name: compiled_answers(service.answers, document, (*place, "services", name, "answers"))
        for name, service in host.services.items()
        if service.answers
    }


def plain(status: int) -> HttpResponse:
    """Return a page that only names a status."""
    phrase = HTTPStatus(status).phrase
    return _response(status, f"{status} {phrase}\n".encode(), "text/plain", {})


def _response(
    status: int, content: bytes, kind: str, headers: Mapping[str, str], *, takes: float = 0.0
) -> HttpResponse:
    told = {"Content-Type": kind, "Content-Length": str(len(content)), **headers}
    return HttpResponse(status, content, told, takes)


def _file(path: str, request: HttpRequest, files: Files, source: AnswerSource) -> HttpResponse:
    path = normpath(path)
    if not f"{path}/".startswith(f"{normpath(source.folder or '/')}/".replace("//", "/")):
        return plain(404)
    try:
        if files.is_directory(path):
            path = f"{path}/index.html"
        content = files.read(path)
    except PermissionError:
        return plain(403)
    except OSError:
        return plain(404)
    kind = _KINDS.get(path.rpartition("/")[2].rpartition(".")[2], "application/octet-stream")
    return _response(source.status, content, kind, {}, takes=seconds(source.takes))


def _json(body: str) -> JsonValue:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None


def _plain(values: JsonValue) -> dict[str, JsonValue]:
    """Return what SQL can take of an object."""
    if not is_object(values):
        return {}
    return {name: cell for name, cell in values.items() if cell is None or isinstance(cell, str | int | float)}


def _needed(sql: str, cells: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a value for each parameter that a statement names: nothing for what the request does not say."""
    return {name: cells.get(name) for name in re.findall(r":(\w+)", sql)}
