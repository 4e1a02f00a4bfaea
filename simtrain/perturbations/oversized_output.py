"""A reply that floods the context."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, cast

from pydantic import Field

from simtrain.perturbation import Call, Effect, Layer, Perturbation, Recovery, Side
from simtrain.raw_replies import reworded
from simtrain.reply_edits import content_of, retold
from simtrain.request import Answer
from simtrain.seeding import Stream
from simtrain.types import JsonObject, JsonValue, Observation, Provenance, ToolSpec

SOURCE = "oversized_output"
FIELD = "debug"

_LEVELS = ("DEBUG", "DEBUG", "DEBUG", "INFO", "TRACE")
_EVENTS = (
    "cache miss key={key}", "cache hit key={key}", "acquired connection {number} from pool", "released connection {number} to pool",
    "query plan {key} reused", "serialised {number} bytes", "span {key} closed after {number} us", "feature flag {key} is off",
    "retry budget {number} left", "header x-trace-id={key}",
)  # fmt: skip


class OversizedOutput(Perturbation):
    """The reply is right, and buried in what the server logged while it worked.

    Source: AgentNoiseBench, ToolBench-X. An agent should pick out what it asked for, and ask for less the next time.
    """

    side: ClassVar[Side] = "reply"
    layer: ClassVar[Layer] = "P"
    effect: ClassVar[Effect] = "after"
    recoverable_by: ClassVar[tuple[Recovery, ...]] = ("page",)

    characters: int | None = Field(
        default=None, ge=1, description="How much is added, about; unset, 120,000 times the severity, at least 1,000."
    )

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """The tools, with output schemas that allow for what the server logged."""
        return tuple(_with_log(tool) for tool in tools)

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Pass the call on and add to its reply; errors arrive as they are."""
        observation = await proceed(call.request)
        if observation.is_error:
            return observation
        size = max(1000, round(120_000 * self.severity)) if self.characters is None else self.characters
        log = _log(call.rng, size)
        content = content_of(observation)
        if not isinstance(content, dict):
            text = "\n".join((*log[: len(log) // 2], observation.text, *log[len(log) // 2 :]))
            flooded = reworded(observation, text, observation.content)
            return replace(flooded, provenance=Provenance(SOURCE))
        flooded: JsonValue = {FIELD: log, **cast(JsonObject, content)}
        return retold(observation, flooded, tool=call.request.tool, world=call.world, source=SOURCE) or observation


def _with_log(tool: ToolSpec) -> ToolSpec:
    schema = tool.output_schema
    if schema is None or schema.get("additionalProperties") is not False:
        return tool
    properties = cast(JsonObject, schema.get("properties") or {})
    logged = {FIELD: {"type": "array", "items": {"type": "string"}}}
    return replace(tool, output_schema={**schema, "properties": {**logged, **properties}})


def _log(rng: Stream, size: int) -> list[str]:
    """Lines of about so many characters together."""
    lines: list[str] = []
    while size > 0:
        event = rng.choose(_EVENTS).format(key=f"{rng.integer(0, 2**32 - 1):08x}", number=rng.integer(1, 9999))
        lines.append(f"{rng.choose(_LEVELS)} worker-{rng.integer(1, 16)} {event}")
        size -= len(lines[-1]) + 1
    return lines
