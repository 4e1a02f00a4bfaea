"""An open episode that is played from outside: its environment, its transcript and its end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from time import monotonic, perf_counter

from simtrain.contracts.environment import Environment
from simtrain.contracts.journal import Journal
from simtrain.contracts.request import Answer
from simtrain.contracts.scenario import Episode
from simtrain.contracts.trajectory import Stop, Trajectory, Turn
from simtrain.runs.judge import judge
from simtrain.runs.rollout import failure, record
from simtrain.scenarios.briefing import brief
from simtrain.values.errors import EpisodeOver, ModelFault, SimulatorFault
from simtrain.values.types import Action, JsonObject, Message, Observation


@dataclass(eq=False)
class HeldEpisode:
    """One open episode. Concurrent calls run one after the other, in the order of arrival."""

    name: str
    episode: Episode
    environment: Environment
    agent: JsonObject
    """Describes who plays."""
    token: str | None = None
    """The bearer token that every request needs, if one is given."""

    def __post_init__(self) -> None:
        self.journal = Journal(self.environment, self.episode.limits)
        self.used = monotonic()
        self.over = asyncio.Event()
        """Set once a limit or the simulator has ended the episode."""
        self.closed: asyncio.Future[Trajectory] = asyncio.get_running_loop().create_future()
        """The graded trajectory, once the episode is closed."""
        self.begun = datetime.now(UTC)
        self.briefing = brief(self.episode, self.environment)
        self.gone = False
        """True as soon as its end has begun: no new call may find it."""
        self._clock = perf_counter()
        self._lock = asyncio.Lock()
        self._closed = False

    async def step(self, tool: str, arguments: JsonObject, *, by: str) -> Observation:
        """Make one call on behalf of `by`. Raises EpisodeOver after the end, SimulatorFault and ModelFault if nothing could
        answer.
        """
        self.used = monotonic()
        async with self._lock:
            return await self._carry_out(tool, arguments, None, by)

    async def call(self, tool: str, arguments: JsonObject, *, by: str) -> Observation:
        """Make one call as `step` does. Once begun it is completed and recorded, even if its caller no longer waits."""
        return await self._whole(tool, arguments, None, by)

    async def read(self, name: str, arguments: JsonObject, answer: Answer, *, by: str) -> Observation:
        """Read a resource or a prompt, whose content `answer` gives; otherwise like `call`."""
        return await self._whole(name, arguments, answer, by)

    async def act(self, message: Message, *, by: str) -> Turn:
        """Make all calls of a message, as one turn. Raises as `step` does."""
        self.used = monotonic()
        async with self._lock:
            return await self._turn(message, None, by)

    async def _whole(self, name: str, arguments: JsonObject, answer: Answer | None, by: str) -> Observation:
        self.used = monotonic()
        # Released by the task, not by a `with`: if the client disconnects, its call goes on, and must still run alone.
        await self._lock.acquire()
        begun = asyncio.create_task(self._carry_out(name, arguments, answer, by))
        begun.add_done_callback(self._carried_out)
        return await asyncio.shield(begun)

    def _carried_out(self, begun: asyncio.Task[Observation]) -> None:
        self._lock.release()
        # Retrieved, or asyncio would log an exception that no client is left to receive.
        if not begun.cancelled():
            begun.exception()

    async def _carry_out(self, name: str, arguments: JsonObject, answer: Answer | None, by: str) -> Observation:
        turn = await self._turn(Message(calls=(Action("", name, arguments),)), answer, by)
        return turn.steps[-1].observation

    async def _turn(self, message: Message, answer: Answer | None, by: str) -> Turn:
        journal = self.journal
        if journal.stop is not None or self._closed:
            raise EpisodeOver(self._why())
        stop = journal.say(self._numbered(message), by=by)
        turn = journal.turns[-1]
        try:
            stop = stop or await journal.act(answer)
        except ModelFault:
            if not turn.steps:
                # No call was made: the message is taken back, so that the player can send it again.
                journal.unsay()
            raise
        # The time of a slow call does not count as idle.
        self.used = monotonic()
        if stop is not None:
            self.over.set()
        if not turn.steps:
            fault = stop is not None and stop.blame == "simulator"
            raise (SimulatorFault if fault else EpisodeOver)(self._why())
        return turn

    def _numbered(self, message: Message) -> Message:
        """Return the message; its calls get ids that are unique in this episode."""
        first = len(self.environment.steps) + 1
        calls = (replace(call, id=f"call_{number}") for number, call in enumerate(message.calls, first))
        return replace(message, calls=tuple(calls))

    @property
    def opener(self) -> str:
        """Return the default acting party."""
        return str(self.agent["name"])

    def _why(self) -> str:
        stop = self.journal.stop
        return "the episode is over" if stop is None else f"the episode is over: {stop.detail or stop.reason}"

    def facts(self) -> JsonObject:
        """Return the episode for the control plane."""
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

    async def say(self, message: Message, *, by: str | None = None) -> None:
        """Record the last message, sent by `by`; ignored after the end."""
        async with self._lock:
            if self.journal.stop is None:
                self.journal.say(message, by=by)

    async def end(self, stop: Stop) -> None:
        """End the episode, unless it has ended."""
        async with self._lock:
            if self.journal.stop is None:
                self.journal.end(stop)

    async def fork(self, name: str, *, token: str | None = None) -> HeldEpisode:
        """Return an independent copy in its present state, transcript included; with a lock and a token of its own. Raises
        InputError if a world model cannot be copied.
        """
        async with self._lock:
            # Under the lock: no call may change the episode while it is copied.
            copy = HeldEpisode(name, self.episode, await self.environment.fork(), self.agent, token)
            copy.journal.take_over(self.journal)
        return copy

    async def graded(self) -> Trajectory:
        """Return the trajectory so far, graded; the episode goes on."""
        async with self._lock:
            return await self._graded()

    async def _graded(self) -> Trajectory:
        stop = self.journal.stop or Stop("answered", detail="no answer was given")
        finished = self.environment.finished()
        played = record(self.episode, self.environment, self.briefing, self.journal, stop, finished, self.agent)
        trajectory = replace(played, turns=self._with_actors(played.turns))
        try:
            found = await judge(self.episode, trajectory, finished)
        except Exception as error:
            # The record of the episode must survive a grader that fails.
            found = replace(trajectory, stop=failure(error))
        timing: JsonObject = {
            "started": self.begun.isoformat(timespec="milliseconds"),
            "seconds": round(perf_counter() - self._clock, 6),
            "steps": [round(seconds, 6) for seconds in self.journal.timings],
        }
        return replace(found, timing=timing)

    async def close(self) -> None:
        """Free the episode's resources. May be called twice."""
        async with self._lock:
            if not self._closed:
                self._closed = True
                await self.environment.__aexit__(None, None, None)

    def _with_actors(self, turns: Sequence[Turn]) -> list[Turn]:
        """Return copies of the turns, which name the actor only if there were several; unnamed actors are the opener."""
        alone = len({turn.by for turn in turns} - {None}) < 2
        return [replace(turn, steps=list(turn.steps), by=None if alone else turn.by or self.opener) for turn in turns]
