"""Search for a path to success in one perturbed episode: follow the plan, get each call through, and grade the end."""

from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast, get_args

from simtrain.agents.plan import Walk
from simtrain.agents.planned import Planned
from simtrain.agents.select import build_agent
from simtrain.contracts.plan import Plan
from simtrain.contracts.scenario import Episode
from simtrain.contracts.trajectory import SUCCESS, Trajectory
from simtrain.episodes.proxy import Proxy
from simtrain.runs.rollout import rollout
from simtrain.runs.solvability.crossing import REFUSED, UNSEEN, WITHHELD, cross
from simtrain.runs.solvability.lines import Line, LineIsLong, OutOfBounds, Playing
from simtrain.runs.solvability.trace import Trace, retrace
from simtrain.scenarios.load import paradigm_of
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.values.types import Action, Message, Observation, encode

Label: TypeAlias = Literal["proved", "unproved", "unsolvable", "unnoticeable"]
LABELS: tuple[Label, ...] = get_args(Label)

MOST_CALLS = 600
"""Maximum calls of one search."""

_BOUND, _LONG, _WRONG, _CRASH = "bound", "long", "wrong", "crash"


@dataclass(frozen=True, slots=True)
class Solution:
    """The result of a search in one perturbed episode.

    `proved`: the trace earned full reward in a fresh episode. `unsolvable`: every path is blocked, visibly, so that
    abstaining is right. `unnoticeable`: the fault shows nowhere. `unproved`: none of these was established.
    `fired` are the labels that perturbed the task, a tool or a reply; without one the task is unperturbed. `calls` is
    the number of calls that the search made.
    """

    label: Label
    trace: Trace | None
    fired: tuple[str, ...]
    reason: str = ""
    calls: int = 0


async def solve(episode: Episode, *, most_calls: int = MOST_CALLS) -> Solution:
    """Search for a path to full reward. Raises InputError for an episode that has no plan or cannot be forked."""
    plan = paradigm_of(episode.scenario).reference(episode)
    if plan is None:
        raise InputError(f"{episode.scenario.name} has no `reference` plan to search along")
    if any(use.use != "embedded" for use in episode.scenario.spec.world_models):
        raise InputError(
            f"{episode.scenario.name} is not answered by `embedded` alone, so that nothing can be proved of it"
        )
    # If the plan itself succeeds, no search is needed.
    straight = await rollout(episode, build_agent("oracle"), name="oracle")
    fired = _fired(episode, straight)
    if _succeeds(straight):
        return Solution("proved", _trace(straight), fired)
    return await _Search(episode, plan, fired, most_calls).solution()


class _Search:
    def __init__(self, episode: Episode, plan: Plan, fired: tuple[str, ...], most_calls: int) -> None:
        limits = episode.limits
        quiet = frozenset(
            armed.label for armed in episode.scenario.perturbations if not armed.perturbation.traits.visible
        )
        self.episode = episode
        self.plan = plan
        self.fired = fired
        self.playing = Playing(most_calls, min(limits.calls, limits.turns - 1), quiet)
        self.obstacles: set[str] = set()
        self.reason = ""

    async def solution(self) -> Solution:
        """Return the solution: the proof, or the label that says why there is none."""
        async with paradigm_of(self.episode.scenario).open(self.episode) as environment:
            scenario = self.episode.scenario
            clean = scenario.prompt.render(self.episode.case)
            # The task is evidence too: values in it are known from the start.
            asked = environment.asks(clean)
            line = Line(cast(Proxy, environment))
            line = Line(line.environment, evidence=line.evidence.with_reply(Planned("", {}), Observation(asked)))
            try:
                trace = await self._go(line)
            except OutOfBounds:
                self.obstacles.add(_BOUND)
                trace = None
            except SimulatorFault as fault:
                self.obstacles.add(_CRASH)
                self.reason, trace = str(fault), None
        if trace is not None:
            return Solution("proved", trace, self.fired, calls=self.playing.made)
        return Solution(
            self._label(), None, self.fired, self.reason or ", ".join(sorted(self.obstacles)), self.playing.made
        )

    def _label(self) -> Label:
        if self.obstacles <= {REFUSED, WITHHELD}:
            # For transient faults the failure is the search's, not the task's.
            return "unsolvable" if self._may_be_hopeless() else "unproved"
        return "unnoticeable" if self.obstacles <= {REFUSED, WITHHELD, UNSEEN} else "unproved"

    def _may_be_hopeless(self) -> bool:
        """True if a perturbation that fired declares that abstaining may be all that is left."""
        return any(
            armed.label in self.fired and "abstain" in armed.perturbation.traits.recoverable_by
            for armed in self.episode.scenario.perturbations
        )

    async def _go(self, line: Line) -> Trace | None:
        """Return a proof that continues from a line; None if there is none."""
        move = self._next(line)
        if move is None:
            self.obstacles |= line.doubts or {_WRONG}
            return None
        if isinstance(move, Message):
            return await self._judge(line, move)
        try:
            async with AsyncExitStack() as scope:
                return await self._go_on(line, move, await cross(self.episode, self.playing, line, move, scope))
        except LineIsLong:
            self.obstacles |= line.doubts or {_LONG}
            return None

    async def _go_on(self, line: Line, move: Planned, way: Line) -> Trace | None:
        """Return a proof that continues after a call; if the call did not get through, try a detour first."""
        # The call got through without a new doubt.
        if way.doubts == line.doubts:
            return await self._go(replace(way, settled={**way.settled, move.key: way.believed[-1]}))
        if move not in way.lost:
            way = replace(way, lost=(*way.lost, move))
            lost = [Action("", call.tool, call.arguments) for call in way.lost]
            detour = paradigm_of(self.episode.scenario).detour(self.episode, lost)
            if detour is not None:
                onward = replace(way, plan=detour, known=way.settled, believed=(), doubts=line.doubts)
                if (found := await self._go(onward)) is not None:
                    return found
        return await self._go(way)

    def _next(self, line: Line) -> Planned | Message | None:
        """Return the plan's next move, given the replies; None if it cannot go on."""
        scenario = self.episode.scenario
        stated = {name: value for name, value in self.episode.case.items() if name in scenario.stated}
        walking = Walk(line.plan or self.plan, stated).run()
        believed = iter(line.believed)
        try:
            move = next(walking)
            while (reply := line.known.get(move.key) or next(believed, None)) is not None:
                move = walking.send(reply)
            encode(move.arguments)
            return move
        except StopIteration as finished:
            return finished.value
        except (InputError, TypeError):
            # A TypeError means an argument without a value.
            return None

    async def _judge(self, line: Line, message: Message) -> Trace | None:
        """Return the line as a proof if it earns full reward in a fresh episode."""
        # A proof counts only if it also works outside the search, from the first call on.
        trace = Trace(line.calls, message.answer, message.abstain)
        played = await retrace(self.episode, trace)
        if _succeeds(played):
            return trace
        self.obstacles |= line.doubts or {_WRONG}
        lost = [reward.grader for reward in played.rewards if reward.value is None or reward.value < SUCCESS]
        self.reason = self.reason or f"{', '.join(sorted(line.doubts)) or 'graded below 1'}: {', '.join(lost)}"
        return None


def _succeeds(trajectory: Trajectory) -> bool:
    return trajectory.reward is not None and trajectory.reward >= SUCCESS


def _trace(trajectory: Trajectory) -> Trace:
    calls = tuple(Planned(step.action.tool, step.action.arguments) for step in trajectory.steps)
    return Trace(calls, trajectory.answer, trajectory.stop.reason == "abstained")


def _fired(episode: Episode, trajectory: Trajectory) -> tuple[str, ...]:
    """Return the labels of the perturbations that changed a reply, or (if that is their kind) the task or tools, in order."""
    fired = {event.label for step in trajectory.steps for event in step.events}
    fired |= {
        armed.label
        for armed in episode.scenario.perturbations
        if armed.label in trajectory.bent and armed.perturbation.traits.side in ("manifest", "request")
    }
    return tuple(label for label in trajectory.perturbations if label in fired)
