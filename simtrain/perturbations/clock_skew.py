"""The clock of a machine is wrong."""

from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.contracts.world import WorldState
from simtrain.perturbations.catalogued import Catalogued
from simtrain.perturbations.shell_replies import hostname, in_bent_world, is_shell, typed
from simtrain.values.clock import LAST, instant
from simtrain.values.types import JsonObject, Observation, ToolSpec

_SHIFT = "update clocks set ahead = ahead + :seconds, synchronized = 0 where host = :host"
_DAY = 86_400


class ClockSkew(Catalogued):
    """The clock of a machine is wrong by days: what is dated by it is wrong too, from the firing on.

    Source: SRE incident reports. An agent should compare the clock with another one, such as the hardware's, another machine's or the
    latest lines of a log, set it right, and repeat what went by the time, or say that it is wrong. It fires on a command line whose
    output depends on the time.
    """

    traits: ClassVar[Traits] = Traits(
        side="state", layer="D", recoverable_by=("switch", "retry", "abstain"), needs_world=True, shell=True
    )

    days: float = Field(-40.0, ge=-3650, le=3650, description="How far the clock is ahead; below 0 it is behind.")

    def reaches(self, tool: ToolSpec) -> bool:
        """True for a shell."""
        return is_shell(tool)

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Shift the clock if the output of the command line depends on it, and pass it on."""
        command = typed(call)
        if command is None or call.world is None or not call.in_world or call.memory.get("shifted"):
            return await proceed(call.request)
        shift = self._shift(call, call.world)
        if not self._shows(call, call.world, shift):
            return await proceed(call.request)
        call.memory["shifted"] = True
        call.world.execute(_SHIFT, shift)
        return await proceed(in_bent_world(call, command))

    def _shift(self, call: Call, world: WorldState) -> JsonObject:
        # A year behind 9999 has no date.
        most = int(LAST - instant(call.clock.now)) - 366 * _DAY
        return {"seconds": min(int(self.days * _DAY), most), "host": hostname(call, world)}

    def _shows(self, call: Call, world: WorldState, shift: JsonObject) -> bool:
        with world.savepoint():
            right = world.answer(call.request)
        with world.savepoint():
            world.execute(_SHIFT, shift)
            wrong = world.answer(call.request)
        return (right.text, right.content) != (wrong.text, wrong.content)
