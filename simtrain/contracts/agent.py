"""The contract of agents: whoever decides what to call next and what to answer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias

from simtrain.contracts.journal import Journal, Limits
from simtrain.contracts.plan import Plan
from simtrain.contracts.plugin import Plugin
from simtrain.contracts.trajectory import Turn
from simtrain.values.types import JsonObject, JsonValue, Message, Observation, ToolSpec

if TYPE_CHECKING:
    from simtrain.contracts.scenario import Episode, Scenario
    from simtrain.contracts.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class Briefing:
    """What an agent knows when an episode begins: never the labels, never the gold.

    `stated` holds the case parameters that the prompt states, which is all that a plan may use. The plans serve the
    policies that walk one (oracle, naive, resilient, wrong); `equivalents` maps a tool to the tools that can replace
    it. `heard` are the turns so far, where the episode goes on from a recorded one.
    """

    system: str
    prompt: str
    tools: tuple[ToolSpec, ...]
    stated: Mapping[str, JsonValue]
    seed: int
    reference: Plan | None = None
    wrong: Plan | None = None
    equivalents: Mapping[str, tuple[str, ...]] | None = None
    answer_format: str = ""
    heard: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class Outlook:
    """The expected briefing of an agent: that of the first episode of a scenario, unperturbed, with its limits."""

    scenario: str
    briefing: Briefing
    limits: Limits


class Player(Protocol):
    """A policy at work in one episode."""

    async def think(self, journal: Journal) -> Message:
        """Return the next assistant message. Raises AgentFault when there can be none."""
        ...


StepFunction: TypeAlias = Callable[[str, JsonObject], Awaitable[Observation]]
"""Makes one tool call by name and arguments, for agents that bring their own loop."""


@dataclass(frozen=True, slots=True)
class Abstain:
    """What an agent with a loop of its own may return instead of an answer: that the task cannot be done, and why."""

    reason: str


class Agent(Plugin):
    """Plays episodes: a `Policy`, which only decides, a `Loop`, which brings its own loop, or an `Outsider`.

    `planned` says whether it carries out plans.
    """

    planned: ClassVar[bool] = False

    continues: ClassVar[bool] = False
    """Whether it can go on from turns that it did not write: its players decide by `journal.turns` alone, or it reads `heard`."""

    def check(self, scenario: Scenario) -> None:
        """Refuse, with an InputError, a scenario that this agent cannot play: asked before anything is played."""
        return

    async def ready(self) -> None:
        """Check once, before any episode, that what the agent needs can be reached. Raises InputError."""
        return

    async def ready_for(self, outlooks: Sequence[Outlook]) -> None:
        """Check once, before any episode, that the agent can take in what the scenarios will tell it. Raises InputError."""
        return

    async def close(self) -> None:
        """Free what was opened on the way."""
        return

    def facts(self) -> JsonObject:
        """Return what a trajectory records of the agent beside its name: model, sampling; never a key."""
        return {}


class Policy(Agent):
    """An agent that only decides; the LangGraph loop does the rest."""

    @abstractmethod
    def player(self, briefing: Briefing) -> Player:
        """Return a fresh player for one episode."""


Play: TypeAlias = "Callable[[Episode], Awaitable[Trajectory]]"
"""Plays an episode to its end and grades it; what goes wrong inside it is in the trajectory's `stop`."""


class Outsider(Agent):
    """An agent that plays whole episodes from outside, such as a program that is given the address of each."""

    @abstractmethod
    def hosted(self, *, name: str) -> AbstractAsyncContextManager[Play]:
        """Return a block in which what all its episodes share (a server, say) is up; trajectories call the agent `name`."""


class Loop(Agent):
    """An agent with a loop of its own; it meets the environment as tools and one step function."""

    @abstractmethod
    async def run(self, briefing: Briefing, step: StepFunction) -> Message:
        """Play one episode to its end; the message returned is the answer. Exceptions are recorded as the agent's failure."""
