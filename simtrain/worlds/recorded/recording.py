"""Recordings: the traffic between MCP clients and a server, frame by frame, as append-only JSON lines.

A file holds one run or several. A run begins with its head, `{"format", "server", "transport"}`; each line after it
is a frame. A perturbed frame is recorded as its sender sent it, with the forwarded one under `perturbed`.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Literal, TypeAlias, cast

import orjson

from simtrain.files.file_bytes import opened
from simtrain.files.jsonl import LineWriter, whole_lines
from simtrain.files.redaction import Redactor
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue, is_object

FORMAT = "simtrain-recording/1"

Sender: TypeAlias = Literal["client", "server"]
Transport: TypeAlias = Literal["stdio", "http"]

SHOWN_TEXT = 2000
"""Characters kept of input that is not a frame."""

# Some patterns for secrets take quadratic time on hostile text, hence the bound: 0.1 s at 16,000 characters.
_SEARCHED_TEXT = 16_000
_LONGEST_SECRET = 8_000

_OPTIONAL = ("session", "era", "http", "status", "text", "perturbed")


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame. `seconds` are counted from the beginning of the run.

    `session` names an MCP session without giving its id away. `http` numbers the HTTP request on which the frame
    travelled, from 1, and `status` is the HTTP status of a reply. `text` is input that is not JSON-RPC; `frame` is
    then None, as it is for a reply that no server gave. `perturbed` is None for a frame that went through untouched,
    else `{"by": [...], "frame": what was passed on, or null}`.
    """

    number: int
    seconds: float
    sender: Sender
    frame: JsonObject | None
    session: str | None = None
    era: str | None = None
    http: int | None = None
    status: int | None = None
    text: str | None = None
    perturbed: JsonObject | None = None


@dataclass(frozen=True)
class RecordedRun:
    """One run of a recording: the server's name, the transport, and the frames in order."""

    server: str
    transport: Transport
    frames: list[Frame] = field(default_factory=list[Frame])


class Recorder:
    """Appends one run to a recording. Secrets never reach the file: those that `redactor` knows, and what looks like one."""

    def __init__(self, path: Path, *, server: str, transport: Transport, redactor: Redactor | None = None) -> None:
        """Open the file, cutting off a line that a killed process left unfinished. Raises InputError for a file of another kind."""
        _refuse_other_files(path)
        self._lines = LineWriter(path)
        self._redactor = redactor or Redactor()
        self._numbers = count(1)
        self._begun = monotonic()
        self._lines.write(run_head(server, transport))

    def now(self) -> float:
        """Return seconds since the run began."""
        return monotonic() - self._begun

    def write(self, frame: Frame) -> None:
        """Append one frame, under the next number. Raises InputError when the disk is full."""
        self._lines.write(frame_line(replace(frame, number=next(self._numbers)), self._redactor))

    def close(self) -> None:
        """End the run."""
        self._lines.close()


def append_run(path: Path, frames: Iterable[Frame], *, server: str, transport: Transport) -> None:
    """Append a whole run, without what looks secret; other processes may append to the same file. Raises InputError."""
    _refuse_other_files(path)
    numbered = (replace(frame, number=number) for number, frame in enumerate(frames, start=1))
    redactor = Redactor()
    lines = LineWriter(path, shared=True)
    try:
        # One write: runs of several processes never mix.
        lines.write(run_head(server, transport) + b"".join(frame_line(frame, redactor) for frame in numbered))
    finally:
        lines.close()


def run_head(server: str, transport: Transport) -> bytes:
    """Return the line that begins a run."""
    return _encode({"format": FORMAT, "server": server, "transport": transport})


def frame_line(frame: Frame, redactor: Redactor) -> bytes:
    """Return a frame as a line, newline included, without secrets."""
    written: JsonObject = {
        "n": frame.number,
        "t": round(frame.seconds, 6),
        "from": frame.sender,
        "session": frame.session,
        "era": frame.era,
        "http": frame.http,
        "status": frame.status,
        "frame": redactor.value(frame.frame),
        "text": None if frame.text is None else _shown(frame.text, redactor),
        "perturbed": redactor.value(frame.perturbed),
    }
    return _encode({key: value for key, value in written.items() if value is not None or key not in _OPTIONAL})


def _shown(text: str, redactor: Redactor) -> str:
    """Return the beginning of a text, without secrets. It is redacted first: a cut within a secret would hide it from the redactor."""
    redacted = redactor.text(text[:_SEARCHED_TEXT])
    if len(text) > _SEARCHED_TEXT:
        # The end may hold the beginning of a secret.
        redacted = redacted[:-_LONGEST_SECRET]
    return redacted[:SHOWN_TEXT]


def read_runs(path: Path) -> Iterator[RecordedRun]:
    """Yield the runs of a recording, in order; an unfinished last line of a killed process is ignored.

    Raises InputError for a file that is not a recording, that is of another version, or that is damaged.
    """
    run: RecordedRun | None = None
    for number, line in whole_lines(path):
        fields = _read_line(line, path, number)
        if "format" in fields or run is None:
            if run is not None:
                yield run
            run = _read_head(fields, path, number)
        else:
            run.frames.append(_read_frame(fields, path, number))
    if run is None:
        raise InputError("the file is empty", remedy="record with `simtrain relay --record FILE`", file=path)
    yield run


def _refuse_other_files(path: Path) -> None:
    """Raise InputError for a file of another kind: appending cuts off an unfinished line, which may be all of such a file."""
    if not path.exists() or path.stat().st_size == 0:
        return
    first = next(whole_lines(path), None)
    if first is not None:
        _read_head(_read_line(first[1], path, 1), path, 1)
        return
    # No whole line yet: the recorder may have been killed while it wrote its first one.
    head = run_head("", "stdio")[:30]
    with opened(path) as file:
        if file.read(len(head)) != head:
            raise InputError("this is not a recording", remedy="record into a new file", file=path)


def _read_head(fields: JsonObject, path: Path, number: int) -> RecordedRun:
    form = fields.get("format")
    if form != FORMAT:
        problem = f"the format is {form!r}, not {FORMAT!r}" if isinstance(form, str) else "this is not a recording"
        raise InputError(problem, remedy="record with `simtrain relay --record FILE`", file=path, line=number)
    transport = fields.get("transport")
    if not isinstance(fields.get("server"), str) or transport not in ("stdio", "http"):
        raise _damaged(path, number)
    return RecordedRun(fields["server"], transport)


def _read_frame(fields: JsonObject, path: Path, number: int) -> Frame:
    frame: JsonValue = fields.get("frame")
    perturbed: JsonValue = fields.get("perturbed")
    moment: JsonValue = fields.get("t")
    whole = (
        fields.get("from") in ("client", "server")
        and isinstance(frame, dict | None)
        and isinstance(perturbed, dict | None)
        and isinstance(moment, int | float)
        and isinstance(fields.get("session"), str | None)
        and isinstance(fields.get("http"), int | None)
    )
    if not whole:
        raise _damaged(path, number)
    around = {key: fields.get(key) for key in _OPTIONAL}
    return Frame(number, float(moment), fields["from"], cast("JsonObject | None", frame), **around)


def _read_line(line: bytes, path: Path, number: int) -> JsonObject:
    try:
        # Not orjson: it rounds integers beyond 64 bits.
        fields: JsonValue = json.loads(line)
    except (ValueError, RecursionError):
        raise _damaged(path, number) from None
    if not is_object(fields):
        raise _damaged(path, number)
    return fields


def _damaged(path: Path, number: int) -> InputError:
    return InputError(
        "the line is not a frame of a recording", remedy="remove the line, or record again", file=path, line=number
    )


def _encode(fields: JsonObject) -> bytes:
    try:
        return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:
        # Integers beyond 64 bits and unpaired surrogates.
        return json.dumps(fields, separators=(",", ":")).encode() + b"\n"
