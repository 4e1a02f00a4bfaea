"""An armed perturbation at work in one episode."""

from __future__ import annotations

from copy import copy, deepcopy

from simtrain.perturbation import Perturbation, Snapshots
from simtrain.request import Request
from simtrain.scenario import Armed
from simtrain.seeding import Root
from simtrain.triggers import Trigger
from simtrain.types import JsonObject, ToolSpec
from simtrain.world import WorldState


class Active:
    """What one perturbation has in one episode: its trigger, its memory, its copies of the world, and the root of its draws.

    `given` are the tools as they were before it offered others.
    """

    __slots__ = (
        "_concerns",
        "_follows",
        "armed",
        "given",
        "label",
        "memory",
        "perturbation",
        "root",
        "snapshots",
        "trigger",
    )

    def __init__(self, armed: Armed, *, root: Root, progress: float = 1.0) -> None:
        """`root` has seed, episode and label behind it; `progress` is that of the training, from 0 to 1."""
        perturbation = armed.perturbation
        self.armed = armed
        self.label = armed.label
        self.perturbation = perturbation
        self.root = root
        self.trigger = Trigger(armed.when, root=root, progress=progress)
        self.memory: JsonObject = {}
        self.snapshots = Snapshots()
        self.given: tuple[ToolSpec, ...] = ()
        self._follows = perturbation.follows
        self._concerns = None if type(perturbation).concerns is Perturbation.concerns else perturbation.concerns

    @property
    def acts(self) -> bool:
        """Whether it has anything to do with calls; others only bend the task or the tools."""
        return self._follows != "never" or type(self.perturbation).apply is not Perturbation.apply

    def fork(self) -> Active:
        """An independent copy as it stands; `close` frees its copies of the world."""
        other = copy(self)
        other.trigger = self.trigger.fork()
        other.memory = deepcopy(self.memory)
        other.snapshots = self.snapshots.fork()
        return other

    def close(self) -> None:
        """Free the copies of the world."""
        self.snapshots.close()

    def meets(self, request: Request, *, succeeded: set[str], world: WorldState | None) -> int | None:
        """The index (from 1) of the matching call where it fires on a call, 0 where it follows it, None where it lets it pass.

        Call once for each request. Raises InputError for a trigger's SQL that does not run.
        """
        if self._concerns is not None and not self._concerns(request):
            return None
        matching = self.trigger.fires(request, succeeded=succeeded, world=world)
        if matching is not None or self._follows == "never":
            return matching
        if (self._follows == "fired" and not self.trigger.tried) or self.trigger.over(succeeded):
            return None
        return 0

    def settle(self, matching: int, *, changed: bool) -> bool:
        """Say whether it changed anything on a call that it met; whether that makes one more firing."""
        if matching:
            self.trigger.settle(matching, changed=changed)
            return changed
        return changed and self.trigger.came_to_light()
