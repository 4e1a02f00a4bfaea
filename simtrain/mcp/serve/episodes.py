"""Episodes that are kept open for external agents: their worlds, transcripts and ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from secrets import token_hex
from time import monotonic, perf_counter

from simtrain.contracts.environment import Environment
from simtrain.contracts.journal import Journal
from simtrain.contracts.request import Answer
from simtrain.contracts.scenario import Episode
from simtrain.contracts.trajectory import Stop, Trajectory
from simtrain.mcp_wire.handler import RequestHandler
from simtrain.runs.judge import judge
from simtrain.runs.rollout import failure, record
from simtrain.scenarios.briefing import brief
from simtrain.scenarios.load import paradigm_of
from simtrain.values.errors import InputError, ModelFault, SimulatorFault
from simtrain.values.types import Action, JsonObject, Message, Observation

AGENT: JsonObject = {"name": "mcp"}
"""How a trajectory names an external agent."""


class EpisodeClosed(SimulatorFault):
    """The episode has ended; no further call is carried out."""


@dataclass(eq=False)
class HeldEpisode:
    """One open episode. Concurrent calls are carried out one after the other, in the order of their arrival."""

    name: str
    episode: Episode
    environment: Environment
    token: str | None = None
    """The bearer token that every request needs, if one is given."""
    agent: JsonObject = field(default_factory=lambda: AGENT)
    """Describes who plays."""

    def __post_init__(self) -> None:
        self.handlers: dict[str | None, RequestHandler] = {}
        """The handlers made so far, by server."""
        self.journal = Journal(self.environment, self.episode.limits)
        self.used = monotonic()
        self.over = asyncio.Event()
        """Set once a limit or the simulator has ended the episode: nothing is carried out any more."""
        self.closed: asyncio.Future[Trajectory] = asyncio.get_running_loop().create_future()
        """The graded trajectory, once the episode is closed."""
        self.begun = datetime.now(UTC)
        self.briefing = brief(self.episode, self.environment)
        self._clock = perf_counter()
        self._lock = asyncio.Lock()
        self._closed = False

    async def call(self, tool: str, arguments: JsonObject) -> Observation:
        """Make one call. Raises EpisodeOver after the end, SimulatorFault and ModelFault when nobody could answer.

        A call that was begun is carried out and recorded, even when whoever made it no longer waits.
        """
        return await self._in_turn(tool, arguments, None)

    async def read(self, name: str, arguments: JsonObject, answer: Answer) -> Observation:
        """Read something: `answer` gives the reply. Raises as `call` does."""
        return await self._in_turn(name, arguments, answer)

    async def _in_turn(self, name: str, arguments: JsonObject, answer: Answer | None) -> Observation:
        self.used = monotonic()
        # Released by the task and not by a `with`: a client may hang up while it waits, and the call it began still runs alone.
        await self._lock.acquire()
        begun = asyncio.create_task(self._carry_out(name, arguments, answer))
        begun.add_done_callback(self._carried_out)
        return await asyncio.shield(begun)

    def _carried_out(self, begun: asyncio.Task[Observation]) -> None:
        self._lock.release()
        # Retrieved here, or asyncio reports an exception that no client is left to receive.
        if not begun.cancelled():
            begun.exception()

    async def _carry_out(self, name: str, arguments: JsonObject, answer: Answer | None) -> Observation:
        journal = self.journal
        if journal.stop is not None or self._closed:
            raise EpisodeClosed(self._why())
        number = len(self.environment.steps) + 1
        before = number - 1
        journal.say(Message(calls=(Action(f"call_{number}", name, arguments),)))
        try:
            stop = await journal.act(answer)
        except ModelFault:
            journal.unsay()
            raise
        self.used = monotonic()
        if stop is not None:
            self.over.set()
        if len(self.environment.steps) == before:
            fault = stop is not None and stop.blame == "simulator"
            raise (SimulatorFault if fault else EpisodeClosed)(self._why())
        return self.environment.steps[-1].observation

    def _why(self) -> str:
        stop = self.journal.stop
        return "the episode is over" if stop is None else f"the episode is over: {stop.detail or stop.reason}"

    def facts(self) -> JsonObject:
        """Return the episode as the control plane shows it."""
        stop = self.journal.stop
        return {
            "episode": self.name,
            "scenario": self.episode.scenario.name,
            "case": dict(self.episode.case),
            "seed": self.episode.seed,
            "attempt": self.episode.attempt,
            "prompt": self.briefing.prompt,
            "system": self.briefing.system,
            "steps": len(self.environment.steps),
            "stop": None if stop is None else stop.reason,
            "detail": None if stop is None else stop.detail,
            "idle": round(monotonic() - self.used, 3),
        }

    async def say(self, message: Message) -> None:
        """Record the agent's last message; ignored after the end."""
        async with self._lock:
            if self.journal.stop is None:
                self.journal.say(message)

    async def end(self, stop: Stop) -> None:
        """End the episode, unless it has ended."""
        async with self._lock:
            if self.journal.stop is None:
                self.journal.end(stop)

    async def graded(self) -> Trajectory:
        """Return the trajectory so far, graded; the episode goes on."""
        stop = self.journal.stop or Stop("answered", detail="no answer was given")
        finished = self.environment.finished()
        trajectory = record(self.episode, self.environment, self.briefing, self.journal, stop, finished, self.agent)
        try:
            found = await judge(self.episode, trajectory, finished)
        except Exception as error:
            found = replace(trajectory, stop=failure(error))
        timing: JsonObject = {
            "started": self.begun.isoformat(timespec="milliseconds"),
            "seconds": round(perf_counter() - self._clock, 6),
            "steps": [round(seconds, 6) for seconds in self.journal.timings],
        }
        return replace(found, timing=timing)

    async def close(self) -> None:
        """Free what the episode holds; closing twice is fine."""
        async with self._lock:
            if not self._closed:
                self._closed = True
                await self.environment.__aexit__(None, None, None)


@dataclass(eq=False, kw_only=True)
class Episodes:
    """All open episodes of one serving process, by name."""

    on_closed: Callable[[Trajectory], None]
    """Receives the trajectory of every closed episode."""
    idle: float | None = None
    """Seconds without calls after which an episode is closed."""
    most: int = 10_000
    agent: JsonObject = field(default_factory=lambda: AGENT)
    leaving: list[Callable[[HeldEpisode], Awaitable[None]]] = field(
        default_factory=list[Callable[["HeldEpisode"], Awaitable[None]]]
    )
    """Awaited with every episode that was closed."""
    _held: dict[str, HeldEpisode] = field(default_factory=dict[str, HeldEpisode], init=False)

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self):
        return iter(list(self._held.values()))

    def find(self, name: str) -> HeldEpisode | None:
        """Return the open episode of that name."""
        return self._held.get(name)

    def by_token(self, token: str) -> HeldEpisode | None:
        """Return the open episode that a bearer token belongs to."""
        return next((held for held in self._held.values() if held.token == token), None)

    async def open(self, episode: Episode, *, name: str | None = None, token: str | None = None) -> HeldEpisode:
        """Open an episode under a name, by default one that cannot be guessed.

        Raises InputError, and whatever keeps it from being opened: SimulatorFault, ModelFault.
        """
        chosen = self._free_name(name)
        async with AsyncExitStack() as stack:
            environment = await stack.enter_async_context(paradigm_of(episode.scenario).open(episode))
            held = HeldEpisode(chosen, episode, environment, token=token, agent=self.agent)
            stack.pop_all()
        return self._hold(held)

    async def fork(self, held: HeldEpisode, *, name: str | None = None, token: str | None = None) -> HeldEpisode:
        """Return an independent copy of an episode in its present state, transcript included. Raises InputError if a
        world model cannot be copied.
        """
        chosen = self._free_name(name)
        # The fork has a lock, a token and handlers of its own, so that sessions of the original never reach it.
        copy = HeldEpisode(chosen, held.episode, await held.environment.fork(), token=token, agent=self.agent)
        copy.journal.take_over(held.journal)
        return self._hold(copy)

    def _free_name(self, name: str | None) -> str:
        if len(self._held) >= self.most:
            raise InputError(f"{self.most} episodes are open", remedy="close some first")
        if name is not None and name in self._held:
            raise InputError(f"an episode {name!r} is open already", remedy="close it first, or choose another name")
        # Letters and digits alone: a name is an argument of commands, and none may look like an option.
        return name or token_hex(12)

    def _hold(self, held: HeldEpisode) -> HeldEpisode:
        self._held[held.name] = held
        return held

    async def close(self, held: HeldEpisode) -> Trajectory:
        """End an episode, grade it, report its trajectory and free its resources."""
        # Unlisted first: grading awaits, and no new request may find an episode that is ending.
        self._held.pop(held.name, None)
        try:
            trajectory = await held.graded()
        finally:
            await held.close()
            for tell in self.leaving:
                await tell(held)
        self.on_closed(trajectory)
        if not held.closed.done():
            held.closed.set_result(trajectory)
        return trajectory

    async def close_idle(self) -> int:
        """Close all idle episodes and return how many there were."""
        if self.idle is None:
            return 0
        late = [held for held in self if monotonic() - held.used > self.idle]
        for held in late:
            await self.close(held)
        return len(late)

    async def close_all(self) -> None:
        """Close all episodes in their present state."""
        for held in self:
            await self.close(held)
