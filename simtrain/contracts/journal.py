"""The journal of one episode: an append-only transcript, and the limits that end it."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

from pydantic import Field

from simtrain.contracts.environment import Environment
from simtrain.contracts.request import Answer
from simtrain.contracts.trajectory import Step, Stop, Turn
from simtrain.files.file_model import FileModel
from simtrain.values.errors import SimulatorFault
from simtrain.values.tokens import behind
from simtrain.values.types import CUT, Action, Message, Usage, complete


class Limits(FileModel):
    """The limits that end an episode, done or not. `wall` is in real seconds; episodes that it stops are not reproducible."""

    turns: int = Field(default=30, ge=1, description="Assistant messages.")
    calls: int = Field(default=60, ge=1, description="Tool calls.")
    tokens: int | None = Field(
        default=None, ge=1, description="Prompt and completion tokens of the agent, summed over its turns."
    )
    call: float | None = Field(
        default=None,
        gt=0,
        description="Virtual seconds that the agent's client waits for a reply; later ones are a timeout.",
    )
    wall: float | None = Field(default=None, gt=0, description="Real seconds.")


class Journal:
    """The messages and calls so far. Loops write it with `say` and `act`; policies read it."""

    __slots__ = ("environment", "limits", "message", "pending", "started", "stop", "timings", "turns", "usage")

    def __init__(self, environment: Environment, limits: Limits) -> None:
        self.environment = environment
        self.limits = limits
        self.turns: list[Turn] = []
        self.message: Message | None = None
        self.pending: tuple[Action, ...] = ()
        self.stop: Stop | None = None
        self.usage: Usage | None = None
        self.timings: list[float] = []
        self.started = perf_counter()

    def take_over(self, other: Journal) -> None:
        """Start with the transcript of another journal; this one's environment is a fork of the other's."""
        # New lists, since both journals go on; steps are frozen and may be shared.
        self.turns = [replace(turn, steps=list(turn.steps)) for turn in other.turns]
        self.message, self.stop, self.usage = other.message, other.stop, other.usage
        self.timings = list(other.timings)

    def say(self, message: Message, *, by: str | None = None) -> Stop | None:
        """Record an assistant message and who wrote it; return a Stop if the message or a limit ends the episode."""
        self.message = message
        tokens = None if message.tokens is None else behind(message.tokens, self.turns)
        self.turns.append(
            Turn(
                message.text,
                message.reasoning,
                message.usage,
                finish_reason=message.finish_reason,
                written=message.written,
                tokens=tokens,
                by=by,
            )
        )
        self.begin_turn()
        if message.usage is not None:
            self.usage = message.usage if self.usage is None else self.usage + message.usage
        self.pending = message.calls
        # Half an answer must not be graded as one: the model was still writing.
        if not message.calls and message.finish_reason == CUT:
            return self.end(Stop("failed", "agent", "the model's reply was cut off at the token limit: no answer"))
        if not message.calls:
            return self.end(Stop("abstained" if message.abstain else "answered"))
        # Only after a message with calls: an answer that passes the limit is still an answer.
        if self.limits.tokens is not None and self.usage is not None and self.usage.tokens > self.limits.tokens:
            return self.end(Stop("budget", detail=f"more than {self.limits.tokens} tokens"))
        return None

    def begin_turn(self) -> None:
        """Tell the environment that a new message begins."""
        self.environment.begin_turn()

    def unsay(self) -> None:
        """Remove the last message, whose calls must not have been carried out."""
        self.turns.pop()
        self.pending = ()

    async def act(self, answer: Answer | None = None) -> Stop | None:
        """Carry out the pending calls in order; return a Stop if a limit or the simulator ends the episode.

        With `answer`, which gives their replies, they are reads of resources or prompts.
        """
        for action in self.pending:
            # Checked before each call, since one message may hold more calls than are left.
            if len(self.environment.steps) >= self.limits.calls:
                return self.end(Stop("budget", detail=f"more than {self.limits.calls} calls"))
            try:
                await self.carry_out(action, answer)
            except SimulatorFault as fault:
                return self.end(Stop("failed", "simulator", str(fault)))
        if complete(self.environment.tools, self.pending):
            return self.end(Stop("abstained" if self.message and self.message.abstain else "answered"))
        self.pending = ()
        if len(self.turns) >= self.limits.turns:
            return self.end(Stop("max_turns", detail=f"{self.limits.turns} turns without an answer"))
        # After the turn's calls: a call that is interrupted would leave the record without its reply.
        if self.limits.wall is not None and perf_counter() - self.started > self.limits.wall:
            return self.end(Stop("wall_time", detail=f"more than {self.limits.wall:g} seconds"))
        return None

    async def carry_out(self, action: Action, answer: Answer | None = None) -> Step:
        """Carry out one call of the last message, or a read that `answer` replies to, and record it. Raises SimulatorFault."""
        environment, begun = self.environment, perf_counter()
        await (environment.step(action) if answer is None else environment.read(action, answer))
        self.timings.append(perf_counter() - begun)
        self.turns[-1].steps.append(environment.steps[-1])
        return environment.steps[-1]

    def end(self, stop: Stop) -> Stop:
        """End the episode."""
        self.stop = stop
        self.pending = ()
        return stop
