"""The state of an armed perturbation in one episode."""

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
    """The properties of an armed perturbation that are the same in every episode, computed once.

    `acts` is true if it takes part in calls; others only change the task (`asks`) or the tools (`offers`). `forgets` is true if it
    does not last: its memory is then restored after a call on which it changed nothing.
    """

    __slots__ = (
        "acts", "apply", "armed", "asks", "concerns", "effect", "follow", "follows", "forgets", "label", "layer", "offers",
        "perturbation", "side", "spelt", "terms",
    )  # fmt: skip

    def __init__(self, armed: Armed, *, progress: float = 1.0) -> None:
        """`progress` is the progress of training, from 0 to 1."""
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
        # An overridden method is what declares the hook: the proxy skips the others without a call.
        self.acts = self.follows != "never" or own.apply is not Perturbation.apply
        self.asks = own.ask is not Perturbation.ask
        self.offers = own.offer is not Perturbation.offer
        self.concerns = None if own.concerns is Perturbation.concerns else perturbation.concerns


# Cached by scenario: thousands of episodes share these, and only `Active` differs between them.
@lru_cache(maxsize=1024)
def kinds_of(scenario: Scenario) -> Sequence[PerturbationKind]:
    """Return the perturbations of a scenario, as `kinds_armed` does."""
    return kinds_armed(scenario.perturbations, progress=scenario.progress)


def kinds_armed(armed: Iterable[Armed], *, progress: float) -> tuple[PerturbationKind, ...]:
    """Return these perturbations, without those whose chance is 0: they change neither the task nor the tools."""
    kinds = (PerturbationKind(item, progress=progress) for item in armed)
    return tuple(kind for kind in kinds if kind.terms.chance != 0)


class Active:
    """The state of one perturbation in one episode: its trigger, its memory, its copies of the world, and the root of its draws.

    `given` holds the tools as they were before this perturbation changed the offer.
    """

    __slots__ = ("given", "kind", "memory", "root", "snapshots", "trigger")

    def __init__(self, kind: PerturbationKind, root: Root, given: tuple[ToolSpec, ...] = ()) -> None:
        """`root` is derived from seed, episode and label."""
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
        # Shallow first, so that kind and root, which never change, stay shared; the three mutable parts follow.
        other = copy(self)
        other.trigger = self.trigger.fork()
        other.memory = deepcopy(self.memory)
        other.snapshots = self.snapshots.fork()
        return other

    def close(self) -> None:
        """Free the copies of the world."""
        self.snapshots.close()

    def meets(self, request: Request, succeeded: set[str], world: WorldState | None) -> int | None:
        """Return the index (from 1) of the matching call if it fires on the call, 0 if it only follows it, None if it lets it pass.

        Call once for each request. Raises InputError for a trigger's SQL that does not run.
        """
        kind = self.kind
        # Before the trigger: a call that does not concern it must not count as a matching one.
        if kind.concerns is not None and not kind.concerns(request):
            return None
        matching = self.trigger.fires(request, succeeded, world)
        if matching is not None or kind.follows == "never":
            return matching
        # A perturbation that lasts sees the calls after its firing too, until the right response was seen.
        if (kind.follows == "fired" and not self.trigger.tried) or self.trigger.over(succeeded):
            return None
        return 0

    def settle(self, matching: int, changed: bool) -> bool:
        """Record whether it changed anything on a call that it met. Return True if that makes one more firing."""
        if matching:
            self.trigger.settle(matching, changed)
            return changed
        return changed and self.trigger.came_to_light()
