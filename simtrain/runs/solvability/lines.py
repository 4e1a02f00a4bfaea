"""Lines of play: an episode so far, with its calls, its replies, and how far they are believed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace

from simtrain.agents.planned import Planned
from simtrain.contracts.plan import Plan
from simtrain.episodes.proxy import Proxy
from simtrain.runs.solvability.evidence import HeardReplies
from simtrain.runs.solvability.truth import outcome
from simtrain.values.types import Action, Observation


class OutOfBounds(Exception):
    """The search has used up its calls."""


class LineIsLong(Exception):
    """The line has used up the calls of its episode."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of play. `believed` are the replies that the plan was given, `doubts` why some of them may be wrong.

    `settled` are the calls that got through, with the replies to believe, `lost` those that did not. On a detour the plan is
    another one, which is given the replies `known` by then and does not repeat those calls.
    """

    environment: Proxy
    calls: tuple[Planned, ...] = ()
    believed: tuple[Observation, ...] = ()
    evidence: HeardReplies = field(default_factory=HeardReplies)
    doubts: frozenset[str] = frozenset()
    settled: Mapping[bytes, Observation] = field(default_factory=dict[bytes, Observation])
    lost: tuple[Planned, ...] = ()
    plan: Plan | None = None
    known: Mapping[bytes, Observation] = field(default_factory=dict[bytes, Observation])

    @property
    def last(self) -> Observation:
        """Return the latest reply."""
        return self.environment.steps[-1].observation

    @property
    def outcome(self) -> bytes:
        """Return the changes of this line to the world, without timestamps."""
        return outcome(self.environment.state.changes())

    def believing(self, observation: Observation, *doubts: str) -> Line:
        """Return the line with one more reply given to the plan."""
        return replace(self, believed=(*self.believed, observation), doubts=self.doubts | set(doubts))


@dataclass(slots=True)
class Playing:
    """Plays calls on copies of episodes and counts them.

    `most` limits the whole search, `longest` one line. `quiet` are the labels of perturbations that no reply reveals,
    `closed` the tools that were refused whatever was tried, so that nothing is tried again, and `switched` those replaced by an
    equivalent tool.
    """

    most: int
    longest: int
    quiet: frozenset[str]
    closed: set[str] = field(default_factory=set[str])
    switched: set[str] = field(default_factory=set[str])
    made: int = 0

    def silent(self, line: Line) -> bool:
        """True if the latest reply was perturbed without showing it."""
        fired = {event.label for event in line.environment.steps[-1].events}
        return not line.last.is_error and (not fired or not fired.isdisjoint(self.quiet))

    async def play(self, line: Line, planned: Planned, scope: AsyncExitStack) -> Line:
        """Return the line with one more call, in an environment that `scope` closes. Raises OutOfBounds or LineIsLong."""
        if self.made >= self.most:
            raise OutOfBounds
        if len(line.calls) >= self.longest:
            raise LineIsLong
        self.made += 1
        # A copy, so that the search can return to the line before the call.
        environment = await line.environment.fork()
        scope.push_async_exit(environment)
        environment.begin_turn()
        observation = await environment.step(Action(f"call_{len(line.calls) + 1}", planned.tool, planned.arguments))
        return replace(
            line,
            environment=environment,
            calls=(*line.calls, planned),
            evidence=line.evidence.with_reply(planned, observation),
        )
