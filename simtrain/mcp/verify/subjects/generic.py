"""Any server: calls from its schemas, with the ids, names and numbers that earlier replies mentioned."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from simtrain.mcp.verify.draw import Past
from simtrain.mcp.verify.subject import GeneratedCall, Subject
from simtrain.values.types import JsonObject, JsonValue, is_list, is_object

LONGEST = 200
MOST = 500


class Generic(Subject):
    """The kind of a value is its key in replies and calls, in lower case without separators."""

    restart = True

    def learn(self, past: Past, call: GeneratedCall, reply: JsonObject) -> None:
        """Note the scalar values of the reply and of the call's arguments."""
        for number, (key, value) in enumerate([*_plain("", call.arguments), *_plain("", _content(reply))]):
            if number < MOST and key and value != "":
                past.note(key.lower().replace("_", "").replace("-", ""), value)


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
