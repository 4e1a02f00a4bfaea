"""A working tree that is behind its branch."""

from dataclasses import replace
from shlex import quote
from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.contracts.world import WorldState
from simtrain.perturbations.catalogued import Catalogued
from simtrain.perturbations.code_files import repositories, shows
from simtrain.perturbations.shell_replies import hostname, in_bent_world, is_shell, typed
from simtrain.values.types import Observation, ToolSpec

_BEHIND = (
    "branch=$(git branch --show-current) && git reset -q --keep HEAD~1 && "
    "sed -i '$d' .git/logs/HEAD .git/logs/refs/heads/\"$branch\" && rm .git/ORIG_HEAD"
)
"""For a branch that is as far as what it follows: one commit back, without a trace that somebody went there just now."""
_DETACHED = "git checkout -q --detach HEAD~1"
_UPSTREAM = "git rev-parse --verify -q '@{u}' && git rev-parse HEAD"
_ON_A_BRANCH = "git branch --show-current"


class StaleCheckout(Catalogued):
    """The working tree is a commit behind: its branch lacks the newest commit of the remote it follows, or an older commit is checked out.

    Source: SWE agents' trajectories in which the wrong version was repaired. An agent should look at `git status` and the branches, bring
    the working tree up to date by `git pull` or by checking the branch out, and repeat what it has read. It fires on a command line
    whose output depends on the newest commit; changes that are not committed stay, and where they are in the way it does not fire.
    """

    traits: ClassVar[Traits] = Traits(
        side="state", layer="D", recoverable_by=("cross-check", "retry"), needs_world=True, shell=True
    )

    def reaches(self, tool: ToolSpec) -> bool:
        """True for a shell."""
        return is_shell(tool)

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Set a repository back if the output of the command line depends on it, and pass it on."""
        command = typed(call)
        if command is None or call.world is None or not call.in_world or call.memory.get("stale"):
            return await proceed(call.request)
        world = call.world
        for folder in repositories(world, hostname(call, world)):
            line = self._line(call, world, folder)
            if line is not None and shows(call, world, lambda line=line: self._typed(call, world, line)):
                call.memory["stale"] = folder
                self._typed(call, world, line)
                break
        return await proceed(in_bent_world(call, command))

    def _line(self, call: Call, world: WorldState, folder: str) -> str | None:
        """Return the command line that sets a repository back; None where that would lose something or be seen as such."""
        inside = f"cd {quote(folder)} &&"
        with world.savepoint():
            ids = self._typed(call, world, f"({inside} {_UPSTREAM})")[1].split()
            branch = self._typed(call, world, f"({inside} {_ON_A_BRANCH})")[1].strip()
            if not branch:
                return None
            # What is not on the remote yet would be lost to whoever pulls.
            line = f"({inside} {_BEHIND if len(ids) == 2 and ids[0] == ids[1] else _DETACHED}) > /dev/null 2>&1"
            return line if self._typed(call, world, line)[0] == 0 else None

    def _typed(self, call: Call, world: WorldState, line: str) -> tuple[int, str]:
        """Type a line at the agent's shell, and return its exit code and output."""
        content = world.answer(replace(call.request, arguments={"command": line})).content or {}
        return int(str(content.get("exit_code", 1))), str(content.get("stdout", ""))
