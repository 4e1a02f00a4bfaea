"""Triggers: decide whether a perturbation fires on a call, from the call's stable identity alone."""

from __future__ import annotations

from copy import copy
from fnmatch import fnmatchcase

from simtrain.contracts.perturbation import Ramp, When
from simtrain.contracts.request import Request
from simtrain.contracts.tool_globs import matches
from simtrain.contracts.world import WorldState, one_value
from simtrain.values.seeding import SCALE, Root, counted
from simtrain.values.types import is_list


class Terms:
    """The conditions of a trigger, prepared once for all episodes. `chance` is None if it has no probability."""

    __slots__ = ("any_call", "chance", "chance_alone", "globs", "marks", "when")

    def __init__(self, when: When, *, progress: float = 1.0) -> None:
        """`progress` is the progress of training, from 0 to 1; the chance may follow it."""
        self.when = when
        self.chance = when.probability.at(progress) if isinstance(when.probability, Ramp) else when.probability
        self.globs = when.tools if isinstance(when.tools, str) else tuple(when.tools)
        self.any_call = self.globs == "*" and when.writes is None and not when.args
        self.marks = when.nth is not None or when.every is not None
        # The common trigger: a probability and nothing else. `fires` takes a short way for it.
        self.chance_alone = not self.marks and (
            when.burst is when.turns is when.after is when.until is when.state is when.max_times is None
        )


class Trigger:
    """The trigger of one perturbation in one episode. It counts matching calls, and firings that changed something.

    A draw depends on `root` (seed, scenario, episode, label), the tool and its matching-call index, never on prompt, agent or wall
    clock. Two agents and two arms of a drill therefore meet the same schedule.

    A firing counts as soon as it is decided, so that concurrent calls do not share it. If `settle` then reports that it changed
    nothing, it no longer counts, and what `nth` or `every` made due is tried on the next matching call.
    """

    __slots__ = (
        "_burst_left", "_due", "_fired", "_hidden", "_matching", "_per_tool", "_root", "terms", "tried", "undecided",
    )  # fmt: skip

    def __init__(self, terms: Terms, root: Root) -> None:
        self.terms = terms
        self.tried = False
        """True if it was ever tried, with or without effect."""
        self._root = root
        self._matching = 0
        self._fired = 0
        self._due = 0
        self._burst_left = 0
        self.undecided: dict[int, bool] = {}
        """Firings not yet settled, by matching call; the value is true for a single firing and for the first of a burst."""
        self._hidden = False
        self._per_tool: dict[str, int] = {}

    @property
    def fired(self) -> int:
        """The number of firings that changed something."""
        return self._fired

    def reseed(self, root: Root) -> None:
        """Draw from another root from now on; the counts stay."""
        self._root = root

    def fork(self) -> Trigger:
        """Return an independent copy with the counts so far."""
        other = copy(self)
        other._per_tool, other.undecided = dict(self._per_tool), dict(self.undecided)
        return other

    def fires(self, request: Request, succeeded: set[str], world: WorldState | None) -> int | None:
        """Return the index (from 1) of this matching call if the perturbation is to fire on it, else None. Call once for each request."""
        terms = self.terms
        if not terms.any_call and not self._matches(request):
            return None
        matching = self._matching = self._matching + 1
        name = request.tool.name
        # Draws are counted per tool: a call more of one tool must not shift the fate of another tool's calls.
        index = self._per_tool[name] = self._per_tool.get(name, 0) + 1
        if terms.chance_alone:
            chance = terms.chance
            # The draw as an integer comparison, without making a stream: the same number that `Root.draw` would give.
            if chance is not None and self._root.derive_spelt(counted(name, index)) * SCALE >= chance:
                return None
            self.undecided[matching] = True
        elif not self._chosen(request, index, succeeded, world):
            return None
        self._fired += 1
        return matching

    def settle(self, matching: int, changed: bool) -> None:
        """Record whether the firing on a matching call changed anything; if not, it does not count."""
        self.tried = True
        if changed:
            self.undecided.pop(matching, None)
        elif self.give_back(matching):
            self._hidden = True

    def give_back(self, matching: int) -> bool:
        """Take back a firing that was decided and not settled, as for a call that never reached it. Return True if it begins a burst."""
        begun = self.undecided.pop(matching, None)
        if begun is None:
            return False
        self._fired -= 1
        if begun:
            # Only the first firing of a burst takes the whole burst with it, and makes the next call due in its place.
            self._burst_left = 0
            self._due = 1 if self.terms.when.nth is None else self._due + 1
        return begun

    def came_to_light(self) -> bool:
        """Record that a lasting perturbation changed a later call. Return True if its firing had shown no effect before; it counts now."""
        hidden, self._hidden = self._hidden, False
        if hidden:
            self._fired += 1
            self._due = max(self._due - 1, 0)
        return hidden

    def over(self, succeeded: set[str]) -> bool:
        """Return True if the right response was seen, so that this fires no more."""
        until = self.terms.when.until
        return until is not None and any(fnmatchcase(done, until) for done in succeeded)

    def _matches(self, request: Request) -> bool:
        when = self.terms.when
        if not matches(request.tool.name, self.terms.globs):
            return False
        if when.writes is not None and request.tool.writes is not when.writes:
            return False
        return not when.args or all(request.arguments.get(name) == value for name, value in when.args.items())

    def _chosen(self, request: Request, index: int, succeeded: set[str], world: WorldState | None) -> bool:
        when, marks = self.terms.when, self.terms.marks
        bursting = self._burst_left > 0
        # What is due stays due while another condition holds it back: `nth: 1` with `after` fires on the first call allowed.
        if marks and not bursting and self._is_marked() and self._drawn(request.tool.name, index):
            self._due = 1 if when.nth is None else self._due + 1
        if when.max_times is not None and self._fired >= when.max_times:
            return False
        # The conditions below decide on the first firing of a burst alone; the calls after it share that decision.
        if bursting:
            self._burst_left -= 1
            self.undecided[self._matching] = False
            return True
        if marks and not self._due:
            return False
        if when.turns is not None and not when.turns[0] <= request.turn + 1 <= when.turns[1]:
            return False
        if when.after is not None and not any(fnmatchcase(done, when.after) for done in succeeded):
            return False
        if when.until is not None and self.over(succeeded):
            return False
        # Without marks chance is drawn only here, after the cheap conditions; with marks it was drawn when the call became due.
        if not marks and not self._drawn(request.tool.name, index):
            return False
        # Last, since it is the only condition that costs a query.
        if when.state is not None and not (world and one_value(world.query(when.state))):
            return False
        self._burst_left = (when.burst or 1) - 1
        self.undecided[self._matching] = True
        self._due -= 1
        return True

    def _is_marked(self) -> bool:
        """Return True if `nth` and `every` select this matching call."""
        nth, every = self.terms.when.nth, self.terms.when.every
        if nth is not None and self._matching not in (nth if is_list(nth) else (nth,)):
            return False
        return every is None or not self._matching % every

    def _drawn(self, name: str, index: int) -> bool:
        """Return True if there is no chance to draw, or the draw takes this matching call."""
        chance = self.terms.chance
        return chance is None or self._root.draw(counted(name, index)) < chance
