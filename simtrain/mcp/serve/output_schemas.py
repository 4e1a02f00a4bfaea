"""Fits tool results to their output schemas: every result on the wire is accepted by clients, or is an error."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

import orjson

from simtrain.files.json_schemas import validator
from simtrain.values.types import JsonObject, JsonValue, ToolSpec, canonical

MISFIT = "The reply of {tool} does not fit its output schema."
"""The error in place of a reply that client libraries would refuse."""


class Fitting:
    """Fits the results of the tools at one address. Caches their validators."""

    def __init__(self) -> None:
        self._checks: dict[str, Any] = {}

    def fit(self, result: JsonObject, tool: ToolSpec) -> JsonObject:
        """Return a CallToolResult that clients accept when they check it against the tool's output schema.

        If the structured content is missing but the text holds it, it is added; otherwise a misfit becomes an error. Every official
        client raises on a misfit, so its agent would never see the reply.
        """
        if tool.output_schema is None or result.get("isError") is True:
            return result
        fits = self._checks.get(tool.name)
        if fits is None:
            fits = self._checks[tool.name] = _fits(canonical(tool.output_schema))
        if "structuredContent" in result and fits(result["structuredContent"]):
            return result
        written = _written(result)
        if written is not None and fits(written):
            return {**result, "structuredContent": written}
        text = MISFIT.format(tool=tool.name.rpartition(".")[2])
        return {"content": [{"type": "text", "text": text}], "isError": True}


def _written(result: JsonObject) -> JsonValue:
    """Return the JSON value that the only text block holds; None if there is none."""
    blocks = cast(list[JsonObject], result.get("content") or [])
    if len(blocks) != 1 or blocks[0].get("type") != "text":
        return None
    try:
        return orjson.loads(cast(str, blocks[0].get("text", "")))
    except orjson.JSONDecodeError:
        return None


@lru_cache(maxsize=4096)
def _fits(schema: bytes) -> Any:
    # An invalid schema never gets here: a world refuses it, and a capture leaves it out.
    return validator(orjson.loads(schema)).is_valid
