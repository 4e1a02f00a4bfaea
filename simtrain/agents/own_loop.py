"""Hosting an agent that brings its own loop: it gets a step function, and the limits of the episode apply to it."""

import asyncio
from dataclasses import replace
from time import perf_counter

from simtrain.contracts.agent import Briefing, Loop, StepFunction
from simtrain.contracts.journal import Journal
from simtrain.contracts.trajectory import Stop
from simtrain.values.errors import AgentFault, EpisodeOver, ModelFault, UnboundTools
from simtrain.values.types import Action, JsonObject, Message, Observation

# Seconds for an agent to clean up after its cancellation; after that it is left running.
_GRACE = 5.0


async def host(agent: Loop, briefing: Briefing, journal: Journal) -> Stop:
    """Let an agent play an episode to its stop.

    Raises AgentFault for any failure in the agent's own code, ModelFault when the agent raises one. If a limit ended the episode
    first, whatever the agent did after it does not count.
    """
    door = _Door(journal)
    playing = door.playing = asyncio.ensure_future(_play(agent, briefing, door.step))
    wall = journal.limits.wall
    # Counted from the journal's start, since opening the episode took part of the time.
    left = None if wall is None else max(0.0, wall - (perf_counter() - journal.started))
    try:
        # Not wait_for: it would wait without end for an agent that swallows its cancellation.
        await asyncio.wait({playing}, timeout=left)
        if not playing.done() and journal.stop is None:
            journal.end(Stop("wall_time", detail=f"more than {wall:g} seconds"))
    finally:
        if not playing.done():
            playing.cancel()
            await asyncio.wait({playing}, timeout=_GRACE)
    problem = playing.exception() if playing.done() and not playing.cancelled() else None
    # A limit that ended the episode counts, whatever the agent raised on hearing of it.
    if journal.stop is not None:
        return journal.stop
    if problem is not None:
        raise problem
    if not playing.done() or playing.cancelled():
        raise AgentFault("the agent cancelled itself")
    return journal.say(replace(playing.result(), calls=())) or Stop("answered")


async def _play(agent: Loop, briefing: Briefing, step: StepFunction) -> Message:
    try:
        return await agent.run(briefing, step)
    except (AgentFault, ModelFault, UnboundTools, EpisodeOver):
        raise
    except (Exception, SystemExit) as error:
        # The agent's code is somebody else's: whatever it raises is its own failure, and must not end the run.
        raise AgentFault(f"{type(error).__name__}: {error}") from error


class _Door:
    """The step function of one episode. Calls made at once are carried out one after the other, in order."""

    __slots__ = ("_count", "_journal", "_lock", "_notified", "playing")

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._lock = asyncio.Lock()
        self._count = sum(len(turn.steps) for turn in journal.turns)
        self._notified = False
        self.playing: asyncio.Future[Message] | None = None

    async def step(self, tool: str, arguments: JsonObject) -> Observation:
        """Make one call. Raises EpisodeOver when the episode has ended."""
        journal = self._journal
        # An agent may gather several calls. They take turns, or the order of the record would depend on the event loop.
        async with self._lock:
            if journal.stop is not None:
                await self._turn_away(journal.stop)
            self._count += 1
            journal.say(Message(calls=(Action(f"call_{self._count}", tool, arguments),)))
            stop = await journal.act()
            if stop is not None and not journal.turns[-1].steps:
                await self._turn_away(stop)
            return journal.turns[-1].steps[-1].observation

    async def _turn_away(self, stop: Stop) -> None:
        if self._notified and self.playing is not None:
            # It caught EpisodeOver and calls again: nothing but a cancellation ends it.
            self.playing.cancel()
            await asyncio.sleep(0)
        self._notified = True
        raise EpisodeOver(stop.detail or stop.reason)
