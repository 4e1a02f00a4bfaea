"""The contract of environments: the one door between an agent and its world, open for one episode."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

from simtrain.contracts.perturbation import Armed
from simtrain.contracts.request import Answer
from simtrain.contracts.trajectory import Step
from simtrain.contracts.world import FinishedWorld
from simtrain.values.types import Action, Observation, ToolSpec


class Environment(Protocol):
    """An async context manager without a reset: who wants a new episode opens a new environment."""

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools that the agent is shown."""
        ...

    @property
    def steps(self) -> Sequence[Step]:
        """The steps so far."""
        ...

    @property
    def perturbed(self) -> tuple[str, ...]:
        """The labels of the perturbations that changed the task or the tools before the first turn."""
        ...

    def asks(self, prompt: str) -> str:
        """Return the task as the agent reads it: the prompt, or what perturbations of the request make of it."""
        ...

    async def step(self, action: Action) -> Observation:
        """Carry out one action. An agent's mistake comes back as an error observation; SimulatorFault means nobody could answer."""
        ...

    async def read(self, action: Action, answer: Answer) -> Observation:
        """Carry out a request other than a tool call: a resource that is read, a prompt that is filled in. It changes nothing.

        `answer` gives the reply. It is a step like any other: perturbations may change it, and it is recorded. Raises SimulatorFault.
        """
        ...

    def begin_turn(self) -> None:
        """Begin a new assistant message; its calls belong to one turn."""
        ...

    def rearm(self, armed: Sequence[Armed], *, seed: int | None = None) -> None:
        """Let more perturbations change the calls from here on, and draw from another seed what those before them draw.

        Raises InputError for one that changes the task or the tools, which the agent has read.
        """
        ...

    def finished(self) -> FinishedWorld:
        """Return the world in its initial and in its present state, for the graders; it is never shown to an agent."""
        ...

    async def fork(self) -> Environment:
        """Return an entered, independent copy in its present state. Raises InputError if a world model cannot be
        copied.
        """
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
