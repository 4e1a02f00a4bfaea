"""The contract of agents, which decide what to call next and what to answer."""

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

    `stated` holds the case parameters that the prompt states; a plan may use no others. The plans are for the
    policies that walk one (oracle, naive, resilient, wrong); `equivalents` maps a tool to the tools that can replace
    it. `heard` are the turns so far if the episode continues a recorded one.
    """

    system: str
    prompt: str
    tools: tuple[ToolSpec, ...]
    stated: Mapping[str, JsonValue]
    seed: int
    reference: Plan | None = None
    wrong: Plan | None = None
    equivalents: Mapping[str, tuple[str, ...]] | None = None
    heard: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class Outlook:
    """The briefing that an agent can expect: that of a scenario's first episode, unperturbed, with its limits."""

    scenario: str
    briefing: Briefing
    limits: Limits


class Player(Protocol):
    """A policy playing one episode."""

    async def think(self, journal: Journal) -> Message:
        """Return the next assistant message. Raises AgentFault if there can be none."""
        ...


StepFunction: TypeAlias = Callable[[str, JsonObject], Awaitable[Observation]]
"""Make one tool call by name and arguments, for agents that bring their own loop."""


@dataclass(frozen=True, slots=True)
class Abstain:
    """What an agent with its own loop may return instead of an answer: the reason why the task cannot be done."""

    reason: str


class Agent(Plugin):
    """Plays episodes: a `Policy` only decides, a `Loop` brings its own loop, an `Outsider` plays from another process.

    `planned` says whether it carries out plans.
    """

    planned: ClassVar[bool] = False

    continues: ClassVar[bool] = False
    """True if it can continue turns that it did not write: its players use only `journal.turns`, or it reads `heard`."""

    def check(self, scenario: Scenario) -> None:
        """Raise InputError for a scenario that this agent cannot play; called before a run."""
        return

    async def ready(self) -> None:
        """Check once, before any episode, that what the agent needs can be reached. Raises InputError."""
        return

    async def ready_for(self, outlooks: Sequence[Outlook]) -> None:
        """Check once, before any episode, that the scenarios' prompts and tools fit the agent. Raises InputError."""
        return

    async def close(self) -> None:
        """Release the agent's resources."""
        return

    def facts(self) -> JsonObject:
        """Return what a trajectory records about the agent besides its name: model and sampling, never an API key."""
        return {}


class Policy(Agent):
    """An agent that only decides; the LangGraph loop does the rest."""

    @abstractmethod
    def player(self, briefing: Briefing) -> Player:
        """Return a fresh player for one episode."""


Play: TypeAlias = "Callable[[Episode], Awaitable[Trajectory]]"
"""Play an episode to its end and grade it; failures inside the episode are recorded in the trajectory's `stop`."""


class Outsider(Agent):
    """An agent that plays whole episodes from outside, such as a program that gets the URL of each."""

    @abstractmethod
    def hosted(self, *, name: str) -> AbstractAsyncContextManager[Play]:
        """Return a context manager for resources shared by all episodes (such as a server); trajectories record the agent as `name`."""


class Loop(Agent):
    """An agent with its own loop; it sees the environment as tools and one step function."""

    @abstractmethod
    async def run(self, briefing: Briefing, step: StepFunction) -> Message:
        """Play one episode to its end; the message returned is the answer. Exceptions are recorded as the agent's failure."""
