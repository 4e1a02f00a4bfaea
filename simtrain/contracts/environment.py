"""The contract of environments: the single interface between an agent and its world, open for one episode."""

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
    """An async context manager without a reset: every episode opens a new environment."""

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """Return the tools that the agent is shown."""
        ...

    @property
    def steps(self) -> Sequence[Step]:
        """Return the steps so far."""
        ...

    @property
    def perturbed(self) -> tuple[str, ...]:
        """Return the labels of the perturbations that changed the task or the tools before the first turn."""
        ...

    def asks(self, prompt: str) -> str:
        """Return the task as the agent reads it: the prompt, changed by perturbations of the request."""
        ...

    async def step(self, action: Action) -> Observation:
        """Carry out one action. An agent's mistake yields an error observation; SimulatorFault means that nothing could answer."""
        ...

    async def read(self, action: Action, answer: Answer) -> Observation:
        """Carry out a request other than a tool call: read a resource or fill in a prompt. It does not change the world.

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
        """Return the world in its initial and its current state, for the graders; never shown to an agent."""
        ...

    async def fork(self) -> Environment:
        """Return an entered, independent copy in its current state. Raises InputError if a world model cannot be
        copied.
        """
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
