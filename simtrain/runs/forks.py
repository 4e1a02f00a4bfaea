"""Forks: episodes that continue a recorded one from a step, with another agent, more perturbations or another seed."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from itertools import product

from simtrain.contracts.agent import Agent
from simtrain.contracts.perturbation import Armed
from simtrain.contracts.scenario import Episode, Fork, Scenario, conflict
from simtrain.contracts.tool_globs import matches
from simtrain.contracts.trajectory import Forked, Step, Trajectory, Turn
from simtrain.perturbations.attacks.grading import with_attacks
from simtrain.scenarios.arms import bundles, offered_tools, reachable_tools, unfit
from simtrain.scenarios.load import check_armed
from simtrain.values.errors import InputError
from simtrain.values.seeding import derive
from simtrain.values.types import JsonObject, canonical


@dataclass(frozen=True, slots=True)
class ForkOptions:
    """How episodes continue a record: before which steps, how often each, and what changes from there on.

    `seed` replaces the seed of the agent and, unless `same_faults`, of all armed perturbations; None keeps both. Several branches
    each get their own seed. `packs` are armed at the fork; `severity` applies unless they set it.
    """

    at: tuple[int, ...]
    branches: int = 1
    seed: int | None = None
    same_faults: bool = False
    packs: tuple[str, ...] = ()
    severity: float | None = None

    def __post_init__(self) -> None:
        if self.branches < 1:
            raise InputError("branches must be at least 1")

    def facts(self) -> JsonObject:
        """Return the options in the form of run.json."""
        return asdict(self) | {"at": list(self.at), "packs": list(self.packs)}

    def seed_of(self, step: int, branch: int) -> int | None:
        """Return the seed of one branch, 63 bits long, since tables have no wider integers."""
        # None keeps the seed of the record, with which several branches would all be alike.
        if self.branches == 1:
            return self.seed
        return derive(self.seed or 0, "branch", step, branch) >> 1


def forked(episode: Episode, trajectory: Trajectory, options: ForkOptions, *, attempt: int = 0) -> list[Episode]:
    """Return the episodes that continue a trajectory: all branches of the first step, then those of the next.

    Their attempts are numbered from `attempt` on. Raises InputError for an unknown step, for replies that
    cannot be reproduced, and for packs that cannot be armed.
    """
    for step in options.at:
        _check_step(episode.scenario, trajectory, step)
    labels = _reaching(episode.scenario, options)
    dealt = product(options.at, range(options.branches))
    return [
        replace(_branch(episode, trajectory, options, step, branch, labels), attempt=number)
        for number, (step, branch) in enumerate(dealt, start=attempt)
    ]


def gone_on(episode: Episode, turns: Sequence[Turn], forks: Sequence[Forked]) -> Episode:
    """Return an episode that continues recorded turns after the given forks, earliest first. Raises InputError."""
    scenario = episode.scenario
    armed: list[tuple[Armed, ...]] = []
    for fork in forks:
        scenario, items = armed_later(scenario, fork)
        earlier = {item.label for before in (episode.scenario.perturbations, *armed) for item in before}
        for label in (item.label for item in items if item.label in earlier):
            raise InputError(f"{label!r} is armed already", remedy="name another pack")
        armed.append(items)
    return replace(episode, scenario=scenario, fork=Fork(turns, tuple(forks), tuple(armed)))


def armed_later(scenario: Scenario, fork: Forked) -> tuple[Scenario, tuple[Armed, ...]]:
    """Return a scenario in the form graded after a fork, and the perturbations that the fork adds. Raises InputError."""
    if not fork.armed:
        return scenario, ()
    found = bundles(scenario, fork.packs, fork.severity)
    named = [(bundle.name, item) for bundle in found for item in bundle.armed.values() if item.label in fork.armed]
    items = tuple(item for _, item in named)
    problem = conflict([(None, item) for item in scenario.perturbations] + named)
    if problem is not None:
        raise InputError(problem, remedy="name another pack")
    for item in items:
        check_armed(item, scenario.source.build())
    made_of = [scenario.digest, fork.step, fork.armed, fork.severity, [bundle.data for bundle in found]]
    # A new digest, since trajectories with other perturbations must not count as attempts at the same scenario.
    digest = blake2b(canonical(made_of), digest_size=16).hexdigest()
    return replace(scenario, digest=digest, grading=with_attacks(scenario.grading, items)), items


def check_continuing(agent: Agent, name: str) -> None:
    """Raise InputError for an agent that cannot continue turns which it did not write."""
    if not agent.continues:
        raise InputError(
            f"{name} cannot continue from a recorded step: it plays from the first call on",
            remedy="chat models, LangGraph graphs and the scripted agents can",
        )


def _branch(
    episode: Episode, trajectory: Trajectory, options: ForkOptions, step: int, branch: int, labels: tuple[str, ...]
) -> Episode:
    earlier = tuple(fork for fork in trajectory.forks if fork.step <= step)
    # A fork before the trajectory's own last fork really continues the trajectory which that fork came from.
    left = next((fork for fork in trajectory.forks if fork.step > step), None)
    fork = Forked(
        left.scenario_digest if left else trajectory.scenario_digest,
        left.attempt if left else trajectory.attempt,
        left.agent if left else str(trajectory.agent.get("name", "")),
        step,
        options.seed_of(step, branch),
        options.same_faults,
        labels,
        options.packs,
        options.severity,
    )
    return gone_on(episode, trajectory.turns, (*earlier, fork))


def _reaching(scenario: Scenario, options: ForkOptions) -> tuple[str, ...]:
    """Return the labels of the perturbations of the packs that reach a tool. Raises InputError if none does."""
    if not options.packs:
        return ()
    offered = offered_tools(scenario)
    found = bundles(scenario, options.packs, options.severity)
    # A perturbation that reaches no tool would change the digest and nothing else.
    reaching = [item for bundle in found for item in bundle.armed.values() if reachable_tools(item, offered)]
    if not reaching:
        raise InputError(f"nothing of {', '.join(options.packs)} matches a tool of {scenario.name}")
    reasons = {item.label: unfit(item, scenario) for item in reaching}
    if all(reasons.values()):
        raise InputError(f"nothing of {', '.join(options.packs)} fits {scenario.name}: {next(iter(reasons.values()))}")
    return tuple(label for label, reason in reasons.items() if reason is None)


def _check_step(scenario: Scenario, trajectory: Trajectory, step: int) -> None:
    """Raise InputError for an unknown step, and for one after replies that cannot be reproduced."""
    steps = trajectory.steps
    if not 0 <= step <= len(steps):
        raise InputError(f"{trajectory.episode} has no step {step}", remedy=f"choose one from 0 to {len(steps)}")
    for made in steps[:step]:
        for label in _asked(scenario, made):
            raise InputError(
                f"step {made.index} ({made.action.tool}) was answered by {label!r}, which may answer differently the next time",
                remedy=f"fork at step {made.index} or before it",
            )


def _asked(scenario: Scenario, step: Step) -> list[str]:
    """Return the world models asked at a step whose replies are not reproducible: the first for its tool, and the one that answered."""
    first = next((one.label for one in scenario.answering if matches(step.action.tool, one.tools)), None)
    replies = (step.observation, *(event.clean for event in step.events))
    answered = {reply.provenance.source for reply in replies if reply is not None and reply.provenance is not None}
    return [
        one.label
        for one in scenario.answering
        if not one.world_model.repeatable and (one.label == first or one.label in answered)
    ]
