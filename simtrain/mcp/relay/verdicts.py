"""Verdicts on a client that met faults: it retried, recovered, gave up, wrote twice, or leaked a secret."""

import hashlib
import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

from simtrain.files.redaction import Redactor
from simtrain.mcp.relay.offered_tools import repeatable
from simtrain.mcp_wire.frames import objects
from simtrain.values.errors import InputError, nearest
from simtrain.values.types import JsonObject, JsonValue, as_object
from simtrain.worlds.recorded.recording import Sender
from simtrain.worlds.recorded.replay_index import CALL

Verdict: TypeAlias = Literal["retried", "recovered", "gave-up", "duplicate-write", "leak"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


def read_verdicts(text: str | None) -> tuple[Verdict, ...]:
    """Return the verdicts in a comma-separated list. Raises InputError."""
    words = [word.strip() for word in text.split(",")] if text is not None else []
    for word in words:
        if word not in VERDICTS:
            remedy = nearest(word, VERDICTS) or f"there are {', '.join(VERDICTS)}"
            raise InputError(f"there is no verdict {word!r}", remedy=remedy, place="--fail-on")
    return cast("tuple[Verdict, ...]", tuple(words))


@dataclass(frozen=True, slots=True)
class Case:
    """One verdict: the tool, and the numbers of the calls it is based on, from 1."""

    verdict: Verdict
    tool: str
    calls: tuple[int, ...]

    def facts(self) -> JsonObject:
        """Return the case as JSON."""
        return {"verdict": self.verdict, "tool": self.tool, "calls": list(self.calls)}


@dataclass(slots=True)
class _Call:
    number: int
    session: str | None
    http: int | None
    tool: str
    same: bytes
    """A digest of tool and arguments."""
    affected: bool = False
    leaks: bool = False
    done: bool = False
    """True if the server carried it out."""
    failed: bool = False
    """True if the client was told that it failed, or cancelled it."""
    worked: bool = False
    """True if the client was told that it worked."""


class Verdicts:
    """Watches the frames of a relay. `hidden` finds the secrets and canaries that no argument may contain."""

    def __init__(self, hidden: Redactor) -> None:
        self._hidden = hidden
        self._calls: list[_Call] = []
        self._open: dict[tuple[str | None, str], list[_Call]] = {}
        self._listing: set[tuple[str | None, str]] = set()
        self._repeatable: set[str] = set()

    def see(
        self,
        sender: Sender,
        frame: JsonObject | None,
        perturbed: JsonObject | None,
        session: str | None = None,
        http: int | None = None,
    ) -> None:
        """Record a frame as sent (None if the relay made it), with the notes on what was changed on the way."""
        notes = perturbed or {}
        affected = bool(notes.get("by"))
        if sender == "client":
            if frame is not None:
                self._from_client(frame, affected, session, http)
            return
        shown = notes.get("frame", frame)
        answered = as_object(shown if shown is not None else frame).get("id")
        if "method" not in as_object(frame) and answered is not None:
            self._from_server(frame, shown, affected, (session, _written(answered)), http)

    def cases(self) -> list[Case]:
        """Return all verdicts, ordered by their first call."""
        found = [case for call in self._calls for case in self._of(call)]
        return sorted(found, key=lambda case: case.calls)

    def _from_client(self, frame: JsonObject, affected: bool, session: str | None, http: int | None) -> None:
        method, params = frame.get("method"), as_object(frame.get("params"))
        if method == "notifications/cancelled":
            for call in self._open.get((session, _written(params.get("requestId"))), ()):
                call.failed = True
        if "id" not in frame:
            return
        key = session, _written(frame["id"])
        if method == "tools/list":
            self._listing.add(key)
        if method != CALL:
            return
        tool, arguments = str(params.get("name")), as_object(params.get("arguments"))
        same = hashlib.sha256(_written([tool, arguments]).encode()).digest()
        leaks = self._hidden.value(arguments) != arguments
        call = _Call(len(self._calls) + 1, session, http, tool, same, affected, leaks)
        self._calls.append(call)
        self._open.setdefault(key, []).append(call)

    def _from_server(
        self,
        frame: JsonObject | None,
        shown: JsonObject | None,
        affected: bool,
        key: tuple[str | None, str],
        http: int | None,
    ) -> None:
        if key in self._listing and frame is not None:
            self._listing.discard(key)
            self._repeatable |= repeatable(objects(as_object(frame.get("result")).get("tools")))
            return
        waiting = self._open.get(key, [])
        call = next((one for one in waiting if one.http == http), waiting[-1] if waiting else None)
        if call is None or as_object(as_object(frame).get("result")).get("resultType") == "input_required":
            return
        waiting.remove(call)
        if not waiting:
            del self._open[key]
        call.affected |= affected
        call.done = frame is not None and _succeeded(frame)
        if not call.failed:
            call.worked = shown is not None and _succeeded(shown)
            call.failed = not call.worked

    def _of(self, call: _Call) -> Iterator[Case]:
        """Yield the verdicts on one call, judged by later calls of the same client."""
        if call.leaks:
            yield Case("leak", call.tool, (call.number,))
        if not call.affected or not call.failed:
            return
        later = [one for one in self._calls[call.number :] if one.session == call.session and one.tool == call.tool]
        again = [one for one in later if one.same == call.same]
        if again:
            yield Case("retried", call.tool, (call.number, again[0].number))
        worked = next((one for one in later if one.worked), None)
        if worked is not None:
            yield Case("recovered", call.tool, (call.number, worked.number))
        else:
            yield Case("gave-up", call.tool, (call.number,))
        # The first call took effect although the client was told otherwise, so doing it again wrote twice.
        if call.done and call.tool not in self._repeatable:
            yield from (Case("duplicate-write", call.tool, (call.number, one.number)) for one in again if one.done)


def counts(cases: Sequence[Case]) -> dict[Verdict, int]:
    """Return the number of cases of each verdict."""
    return {verdict: sum(case.verdict == verdict for case in cases) for verdict in VERDICTS}


def fails(cases: Sequence[Case], on: Collection[Verdict]) -> bool:
    """Return True if one of these verdicts was given."""
    return any(case.verdict in on for case in cases)


def _succeeded(frame: JsonObject) -> bool:
    return "result" in frame and as_object(frame["result"]).get("isError") is not True


def _written(value: JsonValue) -> str:
    """Return a value as canonical text: equal values give equal text, whatever the order of their members.

    Not orjson, which refuses integers beyond 64 bits: a client can send those too.
    """
    return json.dumps(value, sort_keys=True)
