"""The disk of a machine is mounted for reading only."""

from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.contracts.world import WorldState
from simtrain.perturbations.catalogued import Catalogued
from simtrain.perturbations.shell_replies import hostname, in_bent_world, is_shell, typed
from simtrain.values.types import Observation, ToolSpec

_LOCK = "update mounts set read_only = 1 where path = '/' and host = :host"


class ReadOnlyDisk(Catalogued):
    """The kernel has mounted a machine's disk read-only: from the firing on, whatever writes fails, and what reads works.

    Source: AgentDisruptBench, SRE incident reports. An agent should look at what is mounted, mount the disk for writing again, and
    repeat what failed, or say that it cannot. It fires on a command line that would change files or other rows.
    """

    traits: ClassVar[Traits] = Traits(
        side="state", layer="D", recoverable_by=("switch", "retry", "abstain"), needs_world=True, shell=True
    )

    def reaches(self, tool: ToolSpec) -> bool:
        """True for a shell."""
        return is_shell(tool)

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Lock the disk if the command line writes, and pass it on."""
        command = typed(call)
        if command is None or call.world is None or not call.in_world or call.memory.get("locked"):
            return await proceed(call.request)
        if self._writes(call, call.world):
            call.memory["locked"] = True
            name = hostname(call, call.world)
            call.world.execute(_LOCK, {"host": name})
        return await proceed(in_bent_world(call, command))

    def _writes(self, call: Call, world: WorldState) -> bool:
        before = world.changes()
        with world.savepoint():
            world.answer(call.request)
            return world.changes() != before
