"""Play one episode with an agent, record it and grade it."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from time import perf_counter
from typing import TypeAlias

from simtrain.contracts.agent import Agent, Briefing, Loop, Outsider, Play, Policy
from simtrain.contracts.environment import Environment
from simtrain.contracts.journal import Journal
from simtrain.contracts.scenario import Episode
from simtrain.contracts.trajectory import Stop, Trajectory, WorldFacts
from simtrain.contracts.transport import Connect
from simtrain.contracts.world import FinishedWorld, World
from simtrain.grading.reward import grade
from simtrain.runs.restoring import restore
from simtrain.scenarios.briefing import brief
from simtrain.scenarios.load import paradigm_of
from simtrain.values.errors import AgentFault, InputError, ModelFault, SimtrainError, SimulatorFault
from simtrain.values.types import JsonObject
from simtrain.values.version import VERSION

Judge: TypeAlias = Callable[[Episode, Trajectory, FinishedWorld], Awaitable[Trajectory]]
"""Grades a played episode."""


async def by_rubric(episode: Episode, trajectory: Trajectory, world: FinishedWorld) -> Trajectory:
    """Return the trajectory, graded by the rubric alone."""
    return await grade(trajectory, episode.scenario.grading, episode.scenario.spec.rubric, world)


@asynccontextmanager
async def hosted(
    agent: Agent, *, name: str, judge: Judge = by_rubric, connect: Connect = nullcontext
) -> AsyncGenerator[Play]:
    """Yield the function that plays an episode with an agent: `rollout`, or the agent's own. Its resources stay open during the block."""
    if isinstance(agent, Outsider):
        async with agent.hosted(name=name) as play:
            yield play
        return
    yield partial(rollout, agent=agent, name=name, judge=judge, connect=connect)


async def rollout(
    episode: Episode,
    agent: Agent,
    *,
    name: str,
    world: World | None = None,
    judge: Judge = by_rubric,
    connect: Connect = nullcontext,
) -> Trajectory:
    """Play one episode with an agent (recorded as `name`) and grade it. `world`, if given, replaces the episode's own base world.

    `judge` grades, by default by the rubric alone; `simtrain.runs.judge` also finds out whether the task can be done.
    `connect` wraps the environment, for instance to put a transport between it and the agent.
    Never raises for a failure inside the episode: that is recorded in the trajectory's `stop`. Raises InputError for bad input.
    """
    begun, clock = datetime.now(UTC), perf_counter()
    facts: JsonObject = {**agent.facts(), "name": name}
    async with AsyncExitStack() as stack:
        try:
            opened = await stack.enter_async_context(paradigm_of(episode.scenario).open(episode, world=world))
            environment = await stack.enter_async_context(connect(opened))
            briefing = brief(episode, environment, planned=agent.planned)
        except InputError:
            # Bad input concerns the whole run, not this episode: it must stop the run and reach the author.
            raise
        except Exception as error:
            return unopened(episode, error, facts)
        journal = Journal(environment, episode.limits)
        if episode.fork is not None:
            await restore(journal, episode.fork)
            if journal.turns:
                # The rest of the recorded turn: calls that it made after the fork.
                await journal.act()
        stop = journal.stop or await play(agent, replace(briefing, heard=tuple(journal.turns)), journal)
        finished = environment.finished()
        played = perf_counter() - clock
        trajectory = record(episode, environment, briefing, journal, stop, finished, facts)
        graded = await judge(episode, trajectory, finished)
    timing: JsonObject = {
        "started": begun.isoformat(timespec="milliseconds"),
        "seconds": round(perf_counter() - clock, 6),
        "playing": round(played, 6),
        "steps": [round(seconds, 6) for seconds in journal.timings],
    }
    return replace(graded, timing=timing)


async def play(agent: Agent, briefing: Briefing, journal: Journal) -> Stop:
    """Let an agent play until it stops; an exception of it becomes a stop. Raises InputError."""
    try:
        if isinstance(agent, Policy):
            # Imported when used: LangGraph is slow to import, and agents without a policy do not need it.
            from simtrain.agents import loop

            return await loop.play(agent.player(briefing), journal)
        assert isinstance(agent, Loop), "an agent is a Policy or a Loop"
        from simtrain.agents.own_loop import host

        return await host(agent, briefing, journal)
    except InputError:
        raise
    except Exception as error:
        return journal.end(failure(error))


def failure(error: Exception) -> Stop:
    """Return the stop for an exception that a player raised, with the blame."""
    if isinstance(error, SimulatorFault):
        return Stop("failed", "simulator", str(error))
    if isinstance(error, ModelFault):
        # An unreachable model is nobody's fault: the episode is not graded, and resume plays it again.
        return Stop("failed", None, str(error))
    detail = str(error) if isinstance(error, AgentFault) else f"{type(error).__name__}: {error}"
    return Stop("failed", "agent", detail)


def unopened(episode: Episode, error: Exception, agent: JsonObject) -> Trajectory:
    """Return the trajectory of an episode that could not be opened. Nothing was played, so the agent is never to blame."""
    world = episode.scenario.source.build(episode.variant)
    blame = None if isinstance(error, ModelFault) else "simulator"
    detail = str(error) if isinstance(error, SimtrainError) else f"{type(error).__name__}: {error}"
    return _unplayed(episode, world, Stop("failed", blame, detail), agent)


def record(
    episode: Episode,
    environment: Environment,
    briefing: Briefing,
    journal: Journal,
    stop: Stop,
    world: FinishedWorld,
    agent: JsonObject,
) -> Trajectory:
    """Return the ungraded trajectory of a played episode. `agent` holds the agent's name and facts."""
    last = journal.message
    ended = stop.reason in ("answered", "abstained") and last is not None
    unplayed = _unplayed(episode, world.initial, stop, agent)
    return replace(
        unplayed,
        world=replace(unplayed.world, ended=world.final.clock.now),
        system=briefing.system,
        prompt=briefing.prompt,
        tools=environment.tools,
        turns=journal.turns,
        answer=(last.text if last.answer is None else last.answer) if ended and last else None,
        changes=dict(world.changes),
        bent=environment.perturbed,
        usage=journal.usage,
    )


def _unplayed(episode: Episode, world: World, stop: Stop, agent: JsonObject) -> Trajectory:
    """Return a trajectory with everything that is known before the first turn."""
    scenario = episode.scenario
    later = episode.fork.armed if episode.fork else ()
    return Trajectory(
        scenario=scenario.name,
        scenario_digest=scenario.digest,
        episode=episode.id,
        case=dict(episode.case),
        seed=episode.seed,
        attempt=episode.attempt,
        paradigm=scenario.spec.paradigm,
        world=WorldFacts(world.name, world.digest, world.seed, dict(episode.variant.rows)),
        agent=agent,
        system="",
        prompt="",
        tools=(),
        turns=[],
        answer=None,
        stop=stop,
        impossible=scenario.spec.impossible,
        arm=scenario.arm.name if scenario.arm else "",
        perturbations=tuple(armed.label for armed in (*scenario.perturbations, *chain(*later))),
        forks=episode.forks,
        version=VERSION,
    )
