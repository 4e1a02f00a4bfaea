"""An armed perturbation at work in one episode."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy, deepcopy
from functools import lru_cache

from simtrain.contracts.perturbation import Armed, Perturbation, Snapshots
from simtrain.contracts.request import Request
from simtrain.contracts.scenario import Scenario
from simtrain.contracts.world import WorldState
from simtrain.episodes.triggers import Terms, Trigger
from simtrain.values.seeding import Root, spelt
from simtrain.values.types import JsonObject, ToolSpec


class PerturbationKind:
    """What an armed perturbation is in every episode, looked up once.

    `acts` says whether it has anything to do with calls; others only change the task (`asks`) or the tools (`offers`). What does not
    last `forgets` what it noted where nothing came of it.
    """

    __slots__ = (
        "acts", "apply", "armed", "asks", "concerns", "effect", "follow", "follows", "forgets", "label", "layer", "offers",
        "perturbation", "side", "spelt", "terms",
    )  # fmt: skip

    def __init__(self, armed: Armed, *, progress: float = 1.0) -> None:
        """`progress` is that of the training, from 0 to 1."""
        self.armed = armed
        self.label = armed.label
        self.spelt = spelt(armed.label)
        self.perturbation = perturbation = armed.perturbation
        self.terms = Terms(armed.when, progress=progress)
        own = type(perturbation)
        self.apply, self.follow = perturbation.apply, perturbation.follow
        traits = perturbation.traits
        self.effect, self.side, self.layer, self.follows = traits.effect, traits.side, traits.layer, traits.follows
        self.forgets = self.follows == "never"
        self.acts = self.follows != "never" or own.apply is not Perturbation.apply
        self.asks = own.ask is not Perturbation.ask
        self.offers = own.offer is not Perturbation.offer
        self.concerns = None if own.concerns is Perturbation.concerns else perturbation.concerns


@lru_cache(maxsize=1024)
def kinds_of(scenario: Scenario) -> Sequence[PerturbationKind]:
    """Return the perturbations of a scenario, as `kinds_armed` does."""
    return kinds_armed(scenario.perturbations, progress=scenario.progress)


def kinds_armed(armed: Iterable[Armed], *, progress: float) -> tuple[PerturbationKind, ...]:
    """Return some perturbations. What has no chance to fire is not there at all: it changes neither the task nor the tools."""
    kinds = (PerturbationKind(item, progress=progress) for item in armed)
    return tuple(kind for kind in kinds if kind.terms.chance != 0)


class Active:
    """The state of one perturbation in one episode: its trigger, its memory, its copies of the world, and the root of its draws.

    `given` are the tools before it offered others.
    """

    __slots__ = ("given", "kind", "memory", "root", "snapshots", "trigger")

    def __init__(self, kind: PerturbationKind, root: Root, given: tuple[ToolSpec, ...] = ()) -> None:
        """`root` has seed, episode and label behind it."""
        self.kind = kind
        self.root = root
        self.trigger = Trigger(kind.terms, root)
        self.memory: JsonObject = {}
        self.snapshots = Snapshots()
        self.given = given

    @property
    def label(self) -> str:
        """The name of the perturbation in the episode."""
        return self.kind.label

    def reseed(self, root: Root) -> None:
        """Draw for calls from another root from now on; counts and memory stay."""
        self.root = root
        self.trigger.reseed(root)

    def fork(self) -> Active:
        """Return an independent copy in its present state; `close` frees its copies of the world."""
        other = copy(self)
        other.trigger = self.trigger.fork()
        other.memory = deepcopy(self.memory)
        other.snapshots = self.snapshots.fork()
        return other

    def close(self) -> None:
        """Free the copies of the world."""
        self.snapshots.close()

    def meets(self, request: Request, succeeded: set[str], world: WorldState | None) -> int | None:
        """Return the index (from 1) of the matching call where it fires on a call, 0 where it follows it, None if it lets it pass.

        Call once for each request. Raises InputError for a trigger's SQL that does not run.
        """
        kind = self.kind
        if kind.concerns is not None and not kind.concerns(request):
            return None
        matching = self.trigger.fires(request, succeeded, world)
        if matching is not None or kind.follows == "never":
            return matching
        if (kind.follows == "fired" and not self.trigger.tried) or self.trigger.over(succeeded):
            return None
        return 0

    def settle(self, matching: int, changed: bool) -> bool:
        """Say whether it changed anything on a call that it met; whether that makes one more firing."""
        if matching:
            self.trigger.settle(matching, changed)
            return changed
        return changed and self.trigger.came_to_light()
