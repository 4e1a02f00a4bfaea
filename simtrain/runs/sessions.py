"""Sessions: open episodes that any code plays, call by call, from any thread."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias, TypeVar

from simtrain.agents.answers import spoken
from simtrain.contracts.agent import Agent
from simtrain.contracts.scenario import Episode, Scenario
from simtrain.contracts.trajectory import Step, Stop, Trajectory
from simtrain.runs.episode_host import EpisodeCall, EpisodeHost, HostOptions
from simtrain.runs.episode_recorder import EpisodeRecorder
from simtrain.runs.held_episode import HeldEpisode
from simtrain.runs.joining import join
from simtrain.runs.loop_thread import LoopThread
from simtrain.values.errors import InputError, SimtrainError
from simtrain.values.types import JsonObject, Message, Observation, ToolSpec, Usage

ResultT = TypeVar("ResultT")

SessionCall: TypeAlias = "tuple[Session, str, JsonObject]"
"""One call of a batch: the session, the name of the tool, its arguments."""


SESSION: JsonObject = {"name": "session"}
"""The default agent name in trajectories of sessions."""


class Sessions:
    """Open sessions, at most `most` at once. Every method may be called from any thread; all run in one other thread.

    `agent` is the agent's name in trajectories. With `out` the trajectory of every finished session is written to that run folder.
    With `real_time` the delays of perturbations are slept.

        with Sessions() as sessions:
            session = sessions.open("helpdesk/refund", case=3, seed=7)
            charges = session.call("billing.list_charges", {"customer_id": "C0001"})
            trajectory = session.finish("ANSWER: 12.50")
    """

    def __init__(
        self, *, agent: str | None = None, out: str | Path | None = None, most: int = 10_000, real_time: bool = False
    ) -> None:
        """Raises InputError if `out` cannot be written, or holds a run."""
        facts = SESSION if agent is None else {"name": agent}
        self._recorder = None if out is None else EpisodeRecorder(Path(out), agent=facts)
        self._loop = LoopThread("sessions")
        options = HostOptions(idle=None, most=most, real_time=real_time, any_scenario=True)
        self._host = self._loop.run(_hosting(options, facts, self._recorder))

    def open(
        self, scenario: str | Path | Scenario | Episode, *, case: int = 0, seed: int = 0, attempt: int = 0
    ) -> Session:
        """Open an episode: a case of a scenario, by its name, file or as loaded; or an episode that a curriculum dealt.

        Raises InputError, and SimulatorFault or ModelFault when the world cannot be opened.
        """
        held = self._loop.run(self._host.open(scenario, case=case, seed=seed, attempt=attempt))
        return Session(held, self._host, self._loop)

    def join(self, name: str, *, by: str | None = None) -> Session:
        """Return the open session with this name, to act in it as `by` together with others. Raises InputError."""
        # Read from the caller's thread: looking a name up in a dict needs no lock.
        held = self._host.find(name)
        if held is None:
            raise InputError(f"no session {name!r} is open", remedy="open one")
        return Session(held, self._host, self._loop, by=by)

    def calls(self, batch: Iterable[SessionCall]) -> list[Observation | SimtrainError]:
        """Return the result of each call of a batch, in order: its observation, or the error that `Session.call` would have raised.

        Calls of one session are made in order, those of different sessions concurrently.
        """
        found = list(batch)
        results: list[Observation | SimtrainError | None] = [session.problem for session, _, _ in found]
        # A closed session in a batch must not keep the others from being played.
        opened = [number for number, result in enumerate(results) if result is None]
        made = [
            EpisodeCall(session.held, tool, arguments, session.by)
            for session, tool, arguments in (found[number] for number in opened)
        ]
        given = iter(self._loop.run(self._host.carry_out(made)))
        return [result or next(given) for result in results]

    @contextmanager
    def within(self, block: Callable[[EpisodeHost], AbstractAsyncContextManager[ResultT]]) -> Generator[ResultT]:
        """Run an async context manager over the open episodes, such as a server of them, in the sessions' own thread."""
        with self._loop.within(block(self._host)) as entered:
            yield entered

    def __len__(self) -> int:
        return len(self._host)

    def close(self) -> None:
        """Close all sessions; unfinished ones leave no trajectory. Closing twice is allowed."""
        try:
            self._loop.run(self._host.drop_all())
        # The loop has ended already: closed before, or left behind in another process by a fork.
        except InputError:
            return
        self._loop.close()
        if self._recorder is not None:
            self._recorder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Session:
    """One open episode: its task, and methods to play it. Concurrent calls run one after the other."""

    def __init__(self, held: HeldEpisode, host: EpisodeHost, loop: LoopThread, *, by: str | None = None) -> None:
        """`by` names the acting party if several act in the episode; by default the one that opened it."""
        self.held = held
        """The episode itself, which belongs to the thread of its sessions."""
        self.by = by or held.opener
        self._host = host
        self._loop = loop

    @property
    def name(self) -> str:
        """Return the session's name, by which others may join it."""
        return self.held.name

    @property
    def episode(self) -> Episode:
        """Return the episode: scenario, case, seed, limits."""
        return self.held.episode

    @property
    def prompt(self) -> str:
        """Return the task as the agent reads it."""
        return self.held.briefing.prompt

    @property
    def system(self) -> str:
        """The system prompt."""
        return self.held.briefing.system

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools that the agent is shown."""
        return self.held.environment.tools

    @property
    def steps(self) -> Sequence[Step]:
        """The steps so far."""
        return tuple(self.held.environment.steps)

    @property
    def stop(self) -> Stop | None:
        """Return why the episode ended; None while it goes on."""
        return self.held.journal.stop

    @property
    def problem(self) -> InputError | None:
        """Return the error for a closed session; None while it is open."""
        if not self.held.gone:
            return None
        return InputError(f"the session {self.name!r} is closed", remedy="open another one")

    def _check(self) -> None:
        problem = self.problem
        if problem is not None:
            raise problem

    def call(self, tool: str, arguments: JsonObject) -> Observation:
        """Make one call. An agent's mistake, such as an unknown tool, comes back as an observation with `is_error`.

        Raises EpisodeOver once a limit has ended the episode, SimulatorFault and ModelFault when nobody could answer, InputError when
        the session is closed.
        """
        self._check()
        return self._loop.run(self.held.step(tool, arguments, by=self.by))

    def finish(
        self,
        text: str | Message | None = None,
        *,
        abstain: bool = False,
        failed: str | None = None,
        usage: Usage | None = None,
    ) -> Trajectory:
        """End the episode with the agent's last message, close the session, and return the graded trajectory; its `reward` is None if
        the simulator is to blame.

        The text is read like any agent's, by the marks ANSWER: and CANNOT:; `abstain` says that it declines the task. A message
        from `play` is used as it is. `failed` describes a failure of the agent instead. Without any of these no answer was given.

        Raises InputError when the session is closed.
        """
        self._check()
        message = spoken(text, abstain=abstain, usage=usage) if isinstance(text, str) else text
        return self._loop.run(self._host.finish(self.held, message, failed=failed, by=self.by))

    def play(self, agent: Agent | str) -> Message:
        """Let an agent play until its final message, and return that; the episode stays open, and others may act meanwhile.

        `agent` is one by name (`resilient`), or as `as_agent` makes it of a graph or a function. Raises EpisodeOver if the episode ends
        first, AgentFault, ModelFault or SimulatorFault for a failure, InputError when the session is closed.
        """
        self._check()
        return self._loop.run(join(self.held, agent, by=self.by))

    def grade(self) -> Trajectory:
        """Return the trajectory so far, graded as if it ended here; the episode goes on. Raises InputError when the session is closed."""
        self._check()
        return self._loop.run(self.held.graded())

    def fork(self) -> Session:
        """Return an independent copy in its present state, transcript included. Raises InputError when the session is closed, or if a
        world model cannot be copied.
        """
        self._check()
        return Session(self._loop.run(self._host.fork(self.held)), self._host, self._loop, by=self.by)

    def close(self) -> None:
        """Close the episode without a trajectory; closing twice is allowed."""
        if self.problem is None:
            self._loop.run(self._host.drop(self.held))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


async def _hosting(options: HostOptions, agent: JsonObject, recorder: EpisodeRecorder | None) -> EpisodeHost:
    # Created in the loop's thread, since asyncio objects belong to the loop in which they are created.
    return EpisodeHost(options=options, agent=agent, record=recorder)
