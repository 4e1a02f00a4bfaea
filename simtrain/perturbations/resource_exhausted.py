"""The storage is full."""

from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.contracts.tool_globs import matches
from simtrain.contracts.world import WorldState
from simtrain.perturbations.catalogued import Lasting
from simtrain.perturbations.full_disk import fill
from simtrain.perturbations.shell_replies import in_bent_world, is_shell, typed
from simtrain.values.seeding import Stream
from simtrain.values.types import Observation, ToolSpec

_NAMES = ("storage.empty_trash", "empty_trash")
_EMPTYING = "Make room in the storage: deletes temporary files and what lies in the trash, nothing else."


class ResourceExhausted(Lasting):
    """The storage is full: from the first firing, calls that would add a row are refused until rows are deleted.

    Source: AgentDisruptBench, ReliabilityBench. An agent should free space if the task allows it, and say so, or say
    that there is none. A refused call changes nothing, so reads agree; calls that add nothing pass. A tool that
    empties the trash is offered from the beginning. Each use frees one row's space. On a shell, a large file appears in
    /var/tmp, and what the command line writes next stops half-way, until that file or another is deleted.
    """

    traits: ClassVar[Traits] = Traits(
        side="state",
        layer="H",
        recoverable_by=("retry", "abstain"),
        needs_world=True,
        follows="fired",
        shell=True,
        page=True,
    )

    free: int | None = Field(
        default=None, ge=1, description="Rows to delete before there is room again; unset, 1 to 3 by severity."
    )
    frees: list[str] = Field(
        default_factory=list, description="Globs over tools whose success makes room too, as much as one row."
    )

    trash: bool | None = Field(
        default=None,
        description="Offer a tool that empties the trash, and so makes room; unset, as long as the severity is below 1.",
    )

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, and one that frees space."""
        # In a shell it is `rm` that makes room.
        if any(is_shell(tool) for tool in tools) or not (self.severity < 1 if self.trash is None else self.trash):
            return tools
        return (*tools, ToolSpec(_name(tools), _EMPTYING, {"type": "object", "properties": {}}, None, True))

    def begin(self, call: Call) -> None:
        """Make the storage full, if the call would add rows."""
        if typed(call) is not None:
            if call.world is not None and call.in_world and not call.memory.get("full"):
                call.memory["full"] = fill(call.world, call.request, share=1 - self.severity)
            return
        if not call.memory.get("missing") and self._growth(call) > 0:
            call.memory["missing"] = 1 + int(2 * self.severity) if self.free is None else self.free

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Make the storage full, and answer the call like all later ones."""
        command = typed(call)
        if command is None:
            return await super().apply(call, proceed)
        self.begin(call)
        return await proceed(in_bent_world(call, command))

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Refuse calls that add rows while there is no space, and count deletions."""
        if not call.memory.get("missing") or not call.request.tool.writes:
            return await proceed(call.request)
        growth = self._growth(call)
        if growth > 0:
            return self.refusal(call, "storage_full", "Make room first.")
        observation = await proceed(call.request)
        if not observation.is_error:
            # Rows that went count; a tool of `frees` makes room without touching any.
            freed = -growth or int(matches(call.request.tool.name, tuple(self.frees)))
            call.memory["missing"] = max(call.memory["missing"] - freed, 0)
        return observation

    async def serve(self, call: Call, proceed: Answer) -> Observation:
        """Empty a part of the trash."""
        missing = call.memory.get("missing", 0)
        call.memory["missing"] = max(missing - 1, 0)
        left = "The storage is still full." if missing > 1 else "There is room."
        freed = f"Temporary files were deleted. {left}" if missing else f"The trash is empty. {left}"
        return self.reply(freed)

    def _growth(self, call: Call) -> int:
        """Return the number of rows that a call would add, minus deleted ones; 0 for a call that is refused anyway."""
        world = call.world
        if world is None or not call.in_world or not call.request.tool.writes:
            return 0
        # Counted by doing it and undoing it: what a handler will add cannot be read off its call.
        before = _rows_more(world)
        with world.savepoint():
            refused = world.answer(call.request).is_error
            after = _rows_more(world)
        return 0 if refused else after - before


def _rows_more(world: WorldState) -> int:
    """Return the number of rows by which the world has grown in this episode."""
    rows = [change for changes in world.changes().values() for change in changes]
    return sum(change.before is None for change in rows) - sum(change.after is None for change in rows)


def _name(tools: tuple[ToolSpec, ...]) -> str:
    """Return a name for the tool that frees space, in the style of the others."""
    return _NAMES[0 if any("." in tool.name for tool in tools) else 1]
