"""Replay: an index of recorded sessions that finds the recorded exchange for each request of an episode."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher, get_close_matches
from typing import Literal, TypeAlias

import orjson

from simtrain.contracts.request import Caller
from simtrain.files.redaction import redact
from simtrain.mcp_wire.manifest import Exchange
from simtrain.values.comparing import shown
from simtrain.values.types import JsonObject, JsonValue, as_object, is_list, is_object
from simtrain.worlds.recorded.recorded_sessions import RecordedSession, own_params
from simtrain.worlds.recorded.volatile_values import moved, put_in, taken_out

Match: TypeAlias = Literal["exact", "normalised", "sequence"]

CALL = "tools/call"

COMPARED = 200
"""Recorded calls that are compared to name the nearest one to a miss; comparing takes time by the product of lengths."""

_START = 0

_Key: TypeAlias = tuple[int, bytes]


class NotRecorded(LookupError):
    """A request without a recorded answer; `str` names the nearest one that was recorded."""


@dataclass(frozen=True, slots=True)
class _Take:
    """One recorded exchange, its caller, its exact params, and its volatile values in order. `after` is the state that it leaves."""

    exchange: Exchange
    caller: Caller
    exact: bytes
    values: tuple[str, ...]
    after: int


class ReplayIndex:
    """Recorded exchanges by request.

    - `exact`: method and params are the same JSON; progress tokens and the era's envelope do not count.
    - `normalised`: runs of white space, arguments that equal the schema's default or are null, and 1 for 1.0 make no difference
      either. Uuids, digests and instants that are not in the recording, and `folders` (recorded -> present), are mapped one
      to one through the episode, and the answers speak of the present ones.
    - `sequence`: as `normalised`, and the same writes must have come before, in the same order: a read never answers with what was
      recorded before a write that has happened since, or after one that has not.

    A request that was recorded several times is answered by its takes in order, and by the last of them from then on; if it was
    recorded with several clients, by those of the client most like the caller.
    `reads` is true for the names of tools that only read; without it, the descriptors' `readOnlyHint` decides.
    """

    def __init__(
        self,
        sessions: Sequence[RecordedSession],
        *,
        match: Match = "sequence",
        folders: Mapping[str, str] | None = None,
        reads: Callable[[str], bool] | None = None,
    ) -> None:
        self.match: Match = match
        self.folders = dict(folders or {})
        self.takes: dict[_Key, list[_Take]] = defaultdict(list)
        self.calls = [exchange for session in sessions for exchange in session.exchanges]
        self.values: set[str] = set()
        self._tools = {name: tool for session in sessions for name, tool in session.tools.items()}
        self._reads = reads or self._says_it_reads
        self._defaults = {name: _defaults(tool) for name, tool in self._tools.items()}
        self._states: dict[tuple[int, bytes, tuple[str, ...]], int] = {}
        for session in sessions:
            self._add(session.exchanges)

    def _add(self, exchanges: Iterable[Exchange]) -> None:
        state = _START
        for exchange in exchanges:
            key, values = self.key(exchange.method, exchange.params)
            self.values.update(values)
            answered: list[str] = []
            taken_out(exchange.response, answered)
            self.values.update(answered)
            after = state
            if self.match == "sequence" and self.writes(exchange.method, exchange.params):
                # A state is a history of writes: sessions with the same one share it.
                after = self._states.setdefault((state, key, values), len(self._states) + 1)
            client = Caller(exchange.era, frozenset(exchange.capabilities))
            take = _Take(exchange, client, _written(own_params(exchange.params)), values, after)
            self.takes[state, key].append(take)
            state = after

    def writes(self, method: str, params: JsonObject) -> bool:
        """True if a request may change the server's state."""
        return method == CALL and not self._reads(str(params.get("name")))

    def _says_it_reads(self, tool: str) -> bool:
        annotations: JsonValue = self._tools.get(tool, {}).get("annotations")
        return is_object(annotations) and annotations.get("readOnlyHint") is True

    def key(self, method: str, params: JsonObject) -> tuple[bytes, tuple[str, ...]]:
        """Return the key of a request, and the volatile values that were taken out of it."""
        if self.match == "exact":
            return _written([method, redact(own_params(params))]), ()
        found: list[str] = []
        return _written([method, taken_out(self._normal(method, params), found)]), tuple(found)

    def _normal(self, method: str, params: JsonObject) -> JsonValue:
        # The recorder redacted secrets, so a request is redacted before it is looked up.
        params = redact(own_params(params))
        arguments: JsonValue = params.get("arguments")
        if method == CALL:
            defaults = self._defaults.get(str(params.get("name")), {})
            given = as_object(arguments)
            kept = {
                name: value
                for name, value in given.items()
                if value is not None
                and not (name in defaults and _written(_plain(defaults[name])) == _written(_plain(value)))
            }
            params = {**params, "arguments": kept}
        elif method == "prompts/get" and not arguments:
            params = {**params, "arguments": {}}
        # Sorted first, or the order of members would change the order of the volatile values.
        return _plain(params)

    def play(self) -> Playback:
        """Return a playback from the beginning, for one episode."""
        return Playback(self)


class Playback:
    """One episode's position in a replay index."""

    def __init__(self, index: ReplayIndex) -> None:
        self._index = index
        self._state: int | None = _START
        self._last_write: str | None = None
        self._turns: Counter[tuple[int, bytes, bytes]] = Counter()
        self._present: dict[str, str] = {}
        self._recorded: dict[str, str] = {}

    def find(self, method: str, params: JsonObject, *, caller: Caller = Caller()) -> Exchange:  # noqa: B008
        """Return the recorded exchange for a request, with present values in place of recorded ones. Raises NotRecorded."""
        index = self._index
        as_recorded = moved(params, {new: old for old, new in index.folders.items()})
        key, values = index.key(method, as_recorded)
        takes = [] if self._state is None else index.takes.get((self._state, key), [])
        take = self._chosen(takes, key, _written(own_params(as_recorded)), values, caller)
        reason = self._reason(method, as_recorded, key) if take is None else None
        if index.match == "sequence" and index.writes(method, params):
            self._last_write = call_text(method, params)
            # After a write that was never recorded, no recorded read is known to hold.
            self._state = None if take is None else take.after
        if take is None:
            raise NotRecorded(reason)
        for old, new in zip(take.values, values, strict=True):
            self._present[old], self._recorded[new] = new, old
        return self._as_present(take.exchange)

    def _chosen(
        self, takes: Sequence[_Take], key: bytes, exact: bytes, values: tuple[str, ...], caller: Caller
    ) -> _Take | None:
        """Return the take for this request: of those most like it, the next one in turn."""
        fitting = [take for take in takes if self._fits(take.values, values)]
        nearest = min((caller.misfit(take.caller) for take in fitting), default=None)
        fitting = [take for take in fitting if caller.misfit(take.caller) == nearest]
        alike = [take for take in fitting if take.exact == exact]
        alike = alike or [take for take in fitting if all(map(self._known, take.values, values))] or fitting
        # Several about different things: choosing one would be a guess.
        if not alike or len({take.values for take in alike}) > 1:
            return None
        turn = (self._state or _START, key, alike[0].exact)
        self._turns[turn] += 1
        return alike[min(self._turns[turn], len(alike)) - 1]

    def _known(self, old: str, new: str) -> bool:
        return self._present.get(old, old) == new

    def _fits(self, recorded: Sequence[str], present: Sequence[str]) -> bool:
        """True if recorded values can be mapped to present ones, one to one, and none to a value of the recording."""
        if len(recorded) != len(present):
            return False
        forward, backward = dict(self._present), dict(self._recorded)
        for old, new in zip(recorded, present, strict=True):
            known = forward.get(old)
            if known is None and old != new and (new in self._index.values or new in backward):
                return False
            if known not in (None, new) or backward.get(new, old) != old:
                return False
            forward[old], backward[new] = new, old
        return True

    def _as_present(self, exchange: Exchange) -> Exchange:
        changed = {old: new for old, new in self._present.items() if old != new}
        folders = self._index.folders
        if not changed and not folders:
            return exchange

        def present(value: JsonObject) -> JsonObject:
            return moved(put_in(value, changed), folders)

        return replace(
            exchange,
            response=present(exchange.response),
            notifications=tuple(map(present, exchange.notifications)),
            asks=tuple(map(present, exchange.asks)),
            rounds=tuple(map(present, exchange.rounds)),
        )

    def _reason(self, method: str, params: JsonObject, key: bytes) -> str:
        call = call_text(method, params)
        if self._state is None:
            return (
                f"{call} comes after {self._last_write}, which was not recorded so: what was recorded no longer holds"
            )
        if (self._state, key) in self._index.takes:
            return f"{call} was recorded with other ids or times, and which of them these stand for cannot be told"
        if any(other == key for _, other in self._index.takes):
            before = f"after {self._last_write}" if self._last_write else "before any write"
            return f"{call} was not recorded {before}, only at another point of the recording"
        near = self._nearest(method, params)
        return f"{call} was not recorded; " + (f"the nearest is {near}" if near else "nothing like it was")

    def _nearest(self, method: str, params: JsonObject) -> str | None:
        calls = [exchange for exchange in self._index.calls if exchange.method == method]
        names = sorted({_name(exchange.params) for exchange in calls} - {""})
        same = [exchange for exchange in calls if _name(exchange.params) == _name(params)]
        if not same:
            close = get_close_matches(_name(params), names, n=1, cutoff=0.5)
            same = [exchange for exchange in calls if close and _name(exchange.params) == close[0]]
        wanted = call_text(method, params)
        texts = dict.fromkeys(call_text(exchange.method, exchange.params) for exchange in same[:COMPARED])
        # `autojunk` ignores frequent letters of texts from 200 on, which would make long calls look unlike each other.
        return max(texts, key=lambda text: SequenceMatcher(None, wanted, text, autojunk=False).ratio(), default=None)


def call_text(method: str, params: JsonObject) -> str:
    """Return a request in a few words."""
    own = own_params(params)
    if method != CALL:
        return f"{method} {shown(own)}"
    return f"{own.get('name')} {shown(own.get('arguments') or {})}"


def _name(params: JsonObject) -> str:
    return str(params.get("name") or params.get("uri") or "")


def _defaults(tool: JsonObject) -> JsonObject:
    schema: JsonValue = tool.get("inputSchema")
    properties: JsonValue = schema.get("properties") if is_object(schema) else None
    if not is_object(properties):
        return {}
    return {name: field["default"] for name, field in properties.items() if is_object(field) and "default" in field}


def _written(value: JsonValue) -> bytes:
    """Return JSON with sorted members, by which values are compared."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        # Integers beyond 64 bits and unpaired surrogates.
        return json.dumps(value, sort_keys=True).encode()


def _plain(value: JsonValue) -> JsonValue:
    """Return a JSON value with members sorted, runs of white space as one space, and whole numbers as integers."""
    if isinstance(value, str):
        return " ".join(value.split())
    if is_object(value):
        return {key: _plain(item) for key, item in sorted(value.items())}
    if is_list(value):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
