"""Any server: the calls that were recorded of it, and others from its schemas, with what earlier replies mentioned."""

from collections.abc import Iterator
from copy import deepcopy
from functools import partial

import orjson

from simtrain.mcp.verify.call_makers import CallMaker, Kind
from simtrain.mcp.verify.draw import Draw, Past
from simtrain.mcp.verify.subject import GeneratedCall, Subject
from simtrain.mcp_wire.manifest import Exchange, Manifest
from simtrain.scenarios.ad_hoc import native_server
from simtrain.values.types import JsonObject, JsonValue, is_list, is_object

LONGEST = 200
MOST = 500
WEIGHT = 4.0
"""Weight of a recorded call relative to one from the schema alone."""


class Generic(Subject):
    """The kind of a value is its key in replies and calls, in lower case without separators."""

    # Nothing is known about its state, and a new process is the only reset that every server has.
    restart = True

    def learn(self, past: Past, call: GeneratedCall, reply: JsonObject) -> None:
        """Note the scalar values of the reply and of the call's arguments."""
        for number, (key, value) in enumerate([*_plain("", call.arguments), *_plain("", _content(reply))]):
            if number < MOST and key and value != "":
                past.note(key.lower().replace("_", "").replace("-", ""), value)


class Recorded(Generic):
    """Repeats every recorded call, valid or invalid."""

    def __init__(self, manifest: Manifest, server: str | None) -> None:
        """`server` is the server's name in the manifest's world; None for all servers."""
        self._calls = [
            exchange
            for name, captured in manifest.servers.items()
            if server in (None, native_server(name))
            for exchange in captured.exchanges
            if exchange.method == "tools/call" and isinstance(exchange.params.get("name"), str)
        ]

    def makers(self) -> tuple[CallMaker, ...]:
        """Return a maker for each recorded call."""
        return tuple(
            CallMaker(exchange.params["name"], _kind(exchange), WEIGHT, partial(_again, exchange))
            for exchange in self._calls
        )


def _content(reply: JsonObject) -> JsonValue:
    """Return the structured content of a reply, or its text read as JSON; None if neither is there."""
    if "structuredContent" in reply:
        return reply["structuredContent"]
    for block in reply.get("content", []):
        try:
            return orjson.loads(str(block.get("text")) if is_object(block) else "")
        except orjson.JSONDecodeError:
            continue
    return None


def _plain(key: str, value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    if is_object(value):
        for name, item in value.items():
            yield from _plain(name, item)
    elif is_list(value):
        for item in value:
            yield from _plain(key.removesuffix("s"), item)
    elif isinstance(value, int | str) and not isinstance(value, bool) and len(str(value)) <= LONGEST:
        yield key, value


def _kind(exchange: Exchange) -> Kind:
    result = exchange.result
    return "invalid" if result is None or result.get("isError") else "valid"


def _again(exchange: Exchange, draw: Draw) -> JsonObject:
    return deepcopy(exchange.params.get("arguments") or {})
