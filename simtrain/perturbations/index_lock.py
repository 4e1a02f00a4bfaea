"""A lock on git's index that a process which has ended left behind."""

from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.catalogued import Catalogued
from simtrain.perturbations.code_files import repositories, shows
from simtrain.perturbations.shell_replies import hostname, in_bent_world, is_shell, programs, typed
from simtrain.values.types import JsonObject, Observation, ToolSpec

_LEAVE = """
insert into files (host, path, kind, mode, owner, "group", size, modified, content)
select host, :folder || '/.git/index.lock', 'file', '0644', owner, "group", 0, modified, ''
from files where host = :host and path = :folder || '/.git/HEAD' on conflict do nothing"""


class IndexLock(Catalogued):
    """A process of git that has crashed left `.git/index.lock` behind: whatever would write the index is refused until it is removed.

    Source: git's own error message, and reports of interrupted commits. An agent should see that no process of git runs, remove
    the lock, and repeat what was refused. It fires on a command line of git that writes the index of a repository.
    """

    traits: ClassVar[Traits] = Traits(
        side="state", layer="D", recoverable_by=("switch", "retry"), needs_world=True, shell=True
    )

    def reaches(self, tool: ToolSpec) -> bool:
        """True for a shell."""
        return is_shell(tool)

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Lock the index that a command line would write, and pass it on."""
        command = typed(call)
        if command is None or call.world is None or not call.in_world or call.memory.get("locked"):
            return await proceed(call.request)
        if "git" not in programs(command):
            return await proceed(call.request)
        world, host = call.world, hostname(call, call.world)
        for folder in repositories(world, host):
            place: JsonObject = {"host": host, "folder": folder}
            if shows(call, world, lambda place=place: world.execute(_LEAVE, place)):
                call.memory["locked"] = folder
                world.execute(_LEAVE, place)
                break
        return await proceed(in_bent_world(call, command))
