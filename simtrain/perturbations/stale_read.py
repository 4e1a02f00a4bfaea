"""An old value is served."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from simtrain.perturbation import Call, Effect, Layer, Perturbation, Recovery, Side
from simtrain.raw_replies import reworded
from simtrain.request import Answer, Request
from simtrain.types import Observation, Provenance, canonical

_BEFORE = "before"
MOST_KEPT = 50_000
"""Characters of a reply beyond which it is not kept for later."""


class StaleRead(Perturbation):
    """A read is answered from a cache: with what the same call was told before, or would have been told before the last write.

    Source: ToolMaze, AgentDisruptBench, ReliabilityBench. An agent should look another way, or once more, before it acts on a value
    that should have changed. Reads whose reply has not changed pass. Behind a relay only what was told before is known.
    """

    side: ClassVar[Side] = "reply"
    layer: ClassVar[Layer] = "D"
    effect: ClassVar[Effect] = "after"
    visible: ClassVar[bool] = False
    recoverable_by: ClassVar[tuple[Recovery, ...]] = ("cross-check", "retry")
    follows: ClassVar[bool] = True

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Answer a read with an older reply, where there is one that differs."""
        told = call.memory.get(_key(call.request))
        observation = await self.follow(call, proceed)
        if observation.is_error or call.request.tool.writes:
            return observation
        if told is not None and told["text"] != observation.text:
            old = reworded(observation, told["text"], told["structured"])
            return replace(old, provenance=Provenance("stale_read"))
        before = call.snapshots.get(_BEFORE)
        if before is None or not call.in_world:
            return observation
        before.clock.moment = call.clock.moment
        old = before.answer(call.request)
        if old.is_error or old.text == observation.text:
            return observation
        return replace(old, provenance=Provenance("stale_read"))

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Keep the first reply to every read, and the state before the last write."""
        if not call.request.tool.writes:
            observation = await proceed(call.request)
            if not observation.is_error and len(observation.text) <= MOST_KEPT:
                kept = {"text": observation.text, "structured": observation.content}
                call.memory.setdefault(_key(call.request), kept)
            return observation
        before = None if call.world is None else call.world.fork()
        observation = await proceed(call.request)
        if before is None:
            return observation
        if observation.is_error:
            before.close()
        else:
            call.snapshots.keep(_BEFORE, before)
        return observation


def _key(request: Request) -> str:
    return canonical([request.tool.name, request.arguments]).decode()
