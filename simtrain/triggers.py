"""Triggers at work: whether a perturbation fires on a call, from the call's stable identity alone."""

from __future__ import annotations

from copy import copy
from fnmatch import fnmatchcase

from simtrain.perturbation import Ramp, When
from simtrain.request import Request
from simtrain.seeding import Root
from simtrain.tool_globs import matches
from simtrain.world import WorldState, one_value


def chance_of(when: When, progress: float) -> float | None:
    """The share of the matching calls on which to fire, at a progress of the training; None where chance plays no part."""
    return when.probability.at(progress) if isinstance(when.probability, Ramp) else when.probability


class Trigger:
    """The trigger of one perturbation in one episode; counts the calls that match it.

    `identity` is what draws depend on beside the tool and its matching-call index: seed, scenario, episode, label. Prompt, agent
    and wall clock do not enter, so that two agents and two arms of a drill meet the same schedule.
    """

    __slots__ = ("_burst_left", "_chance", "_fired", "_globs", "_matching", "_per_tool", "_root", "when")

    def __init__(self, when: When, *, seed: int, identity: tuple[str, ...], progress: float = 1.0) -> None:
        """`progress` is that of the training, from 0 to 1, for probabilities that follow it."""
        self.when = when
        self._chance = chance_of(when, progress)
        self._globs = when.tools if isinstance(when.tools, str) else tuple(when.tools)
        self._root = Root(seed, *identity)
        self._matching = 0
        self._fired = 0
        self._burst_left = 0
        self._per_tool: dict[str, int] = {}

    @property
    def fired(self) -> int:
        """How often it has fired."""
        return self._fired

    def fork(self) -> Trigger:
        """An independent copy with the counts so far."""
        other = copy(self)
        other._per_tool = dict(self._per_tool)
        return other

    def fires(self, request: Request, *, succeeded: set[str], world: WorldState | None) -> int | None:
        """The index (from 1) of this matching call when the perturbation fires on it, else None. Call once for each request."""
        if not self._matches(request):
            return None
        self._matching += 1
        name = request.tool.name
        index = self._per_tool[name] = self._per_tool.get(name, 0) + 1
        if not self._chosen(request, name, index, succeeded, world):
            return None
        self._fired += 1
        return self._matching

    def over(self, succeeded: set[str]) -> bool:
        """Whether the right response has been seen, so that this fires no more."""
        until = self.when.until
        return until is not None and any(fnmatchcase(done, until) for done in succeeded)

    def _matches(self, request: Request) -> bool:
        when = self.when
        if not matches(request.tool.name, self._globs):
            return False
        if when.writes is not None and request.tool.writes is not when.writes:
            return False
        return all(request.arguments.get(name) == value for name, value in when.args.items())

    def _chosen(self, request: Request, name: str, index: int, succeeded: set[str], world: WorldState | None) -> bool:
        when = self.when
        if when.max_times is not None and self._fired >= when.max_times:
            return False
        if self._burst_left > 0:
            self._burst_left -= 1
            return True
        if when.nth is not None and self._matching not in (when.nth if isinstance(when.nth, list) else (when.nth,)):
            return False
        if when.every is not None and self._matching % when.every:
            return False
        if when.turns is not None and not when.turns[0] <= request.turn + 1 <= when.turns[1]:
            return False
        if when.after is not None and not any(fnmatchcase(done, when.after) for done in succeeded):
            return False
        if self.over(succeeded):
            return False
        chance = self._chance
        if chance is not None and self._root.draw(name, index) >= chance:
            return False
        if when.state is not None and not (world and one_value(world.query(when.state))):
            return False
        self._burst_left = (when.burst or 1) - 1
        return True
