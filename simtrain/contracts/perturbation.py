"""The contract of perturbations: a fault injected on purpose, and the trigger that decides when."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import getdoc
from types import MappingProxyType
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field

from simtrain.contracts.plugin import Plugin
from simtrain.contracts.request import Answer, Request
from simtrain.contracts.world import World, WorldState
from simtrain.files.file_model import FileModel
from simtrain.values.clock import Clock
from simtrain.values.errors import SimulatorFault
from simtrain.values.seeding import Root, Stream
from simtrain.values.types import JsonObject, JsonValue, Observation, ToolSpec

Side: TypeAlias = Literal["request", "manifest", "call", "reply", "state"]
Effect: TypeAlias = Literal["before", "after", "none"]
_EFFECTS: dict[Side, Effect] = {
    "request": "none",
    "manifest": "none",
    "call": "before",
    "reply": "after",
    "state": "before",
}
Recovery: TypeAlias = Literal[
    "retry", "fix-call", "page", "wait", "re-auth", "switch", "cross-check", "verify", "ask", "abstain"
]
Follows: TypeAlias = Literal["never", "fired", "always"]
Layer: TypeAlias = Literal["P", "D", "M", "H"]
Probability: TypeAlias = Annotated[float, Field(ge=0, le=1)]


class Ramp(FileModel):
    """A probability that changes with the progress of training, from 0 to 1.

    `exponential` is ZeroSearch's curve (arXiv 2505.04588): start + (4^p - 1) / 3 * (end - start).
    """

    start: Probability
    end: Probability
    curve: Literal["linear", "exponential"] = "linear"

    def at(self, progress: float) -> float:
        """Return the probability at a training progress from 0 to 1."""
        share = progress if self.curve == "linear" else (4**progress - 1) / 3
        return self.start + share * (self.end - self.start)

    def times(self, share: float) -> Ramp:
        """Return the ramp with each probability multiplied by this share."""
        return Ramp(start=self.start * share, end=self.end * share, curve=self.curve)


class When(FileModel):
    """The trigger: every condition given must hold for the perturbation to fire on a call.

    `tools` globs, `writes` and `args` say which calls match; the others choose among the matching ones.
    """

    tools: str | list[str] = Field(default="*", description="Glob, or list of globs, over tool names.")
    writes: bool | None = Field(default=None, description="Only tools that write (true) or that do not (false).")
    args: dict[str, JsonValue] = Field(
        default_factory=dict, description="Argument values that must be given exactly so."
    )
    nth: int | list[int] | None = Field(
        default=None, description="The matching calls, counted from 1, on which to fire."
    )
    every: int | None = Field(default=None, ge=1, description="Fire on every Nth matching call.")
    burst: int | None = Field(default=None, ge=1, description="Once begun, go on for this many matching calls.")
    turns: tuple[int, int] | None = Field(
        default=None, description="First and last turn, counted from 1, both included."
    )
    after: str | None = Field(default=None, description="Glob of a tool that must have succeeded before.")
    until: str | None = Field(
        default=None, description="Glob of a tool; once it has succeeded, this fires no more (the right response)."
    )
    state: str | None = Field(default=None, description="SQL over the world whose single value must be true.")
    probability: Probability | Ramp | None = Field(
        default=None,
        description="Share of the matching calls on which to fire; a ramp follows the training's progress.",
    )
    max_times: int | None = Field(default=None, ge=1, description="Fire at most so often in an episode.")


_NONE_KEPT: Mapping[str, WorldState] = MappingProxyType({})


class Snapshots:
    """Copies of the world that a perturbation keeps; they are forked and closed with the episode."""

    __slots__ = ("_dropped", "kept")

    def __init__(self) -> None:
        self.kept: Mapping[str, WorldState] = _NONE_KEPT
        """The copies by name; another mapping whenever one comes or goes."""
        self._dropped: tuple[WorldState, ...] = ()

    def keep(self, name: str, state: WorldState) -> None:
        """Keep a copy (from `WorldState.fork`) under a name; it replaces an existing one."""
        self.drop(name)
        self.kept = {**self.kept, name: state}

    def get(self, name: str) -> WorldState | None:
        """Return the copy of that name; None if there is none."""
        return self.kept.get(name)

    def drop(self, name: str) -> None:
        """Drop a copy, which `settle` frees; dropping an unknown name does nothing."""
        state = self.kept.get(name)
        if state is not None:
            self.kept = {other: kept for other, kept in self.kept.items() if other != name}
            # Not closed yet: if the firing changes nothing, `settle` puts the former copies back.
            self._dropped = (*self._dropped, state)

    def settle(self, before: Mapping[str, WorldState], *, keep: bool) -> None:
        """Keep the copies, or restore their former state, and free all others."""
        there = self.kept if keep else before
        wanted = {id(state) for state in there.values()}
        for state in {id(state): state for state in (*before.values(), *self.kept.values(), *self._dropped)}.values():
            if id(state) not in wanted:
                state.close()
        self.kept, self._dropped = there, ()

    def fork(self) -> Snapshots:
        """Return an independent copy of everything."""
        other = Snapshots()
        other.kept = {name: state.fork() for name, state in self.kept.items()}
        return other

    def close(self) -> None:
        """Free all copies."""
        # Most perturbations keep no copy, and this runs for each of them at the end of every episode.
        if self.kept or self._dropped:
            self.settle({}, keep=False)


@dataclass(slots=True, kw_only=True)
class Call:
    """One call in the form that a perturbation receives.

    `rng` depends only on seed, episode, label, tool and the index of the matching call. `memory` is this perturbation's
    JSON state for this episode, `snapshots` its copies of the world. `world` is None if the proxy has no world behind it.
    `domain` names the domain, since surfaces follow it: a rate limit on a shell is not a 429. `in_world` says whether the world
    itself answers the tool; it does not answer those that a perturbation offers, nor what a recording or a model answers before
    it. `tools` are those that the agent is shown, `given` those that `offer` was given. `manners` is the seed of how the tool's
    server words its errors (simtrain.perturbations.error_wordings). `root` is for draws that belong to a record rather than to a call:
    it depends only on seed, episode and label.
    """

    request: Request
    rng: Stream
    clock: Clock
    memory: JsonObject
    world: WorldState | None
    snapshots: Snapshots = field(default_factory=Snapshots)
    domain: str = "mcp"
    in_world: bool = True
    tools: tuple[ToolSpec, ...] = ()
    given: tuple[ToolSpec, ...] = ()
    manners: int = 0
    root: Root = field(default_factory=lambda: Root(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """A perturbation's declarations: where it acts, what an agent can see of it, and what the right response is."""

    side: Side
    """Where it acts: on the task, the list of tools, the call, its reply, or the state behind it."""
    layer: Layer
    """The layer of the catalogue: protocol, data, manipulation or horizon."""
    effect: Effect | None = None
    """Whether a failing call took effect: not (`before`) or fully (`after`); unset, the default of its side."""
    visible: bool = True
    """Whether an agent can see from a single reply that something is wrong."""
    semantic: bool = True
    """Whether an agent sees it at all; client libraries raise an exception for the others."""
    recoverable_by: tuple[Recovery, ...] = ()
    needs_world: bool = False
    shell: bool = False
    """Whether it also fires on a shell (`bash` of a machine world), in the words of one."""
    page: bool = False
    """Whether it also fires on the pages of an app, acted on with the tools of a browser."""
    rewrites_code: bool = False
    """Whether it changes files of code on a machine: refused in a scenario with a grader that lets none change."""
    attacks: bool = False
    """Whether it plants instructions for an agent to follow: drills then also use the grader `attack` in its arms."""
    conflicts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Perturbations that make no sense together with this one -> why; the combination is refused, unless it is one pack's."""
    follows: Follows = "never"
    """Whether it affects calls on which it does not fire: `follow` then receives all others, or only later ones."""

    def __post_init__(self) -> None:
        if self.effect is None:
            # A frozen dataclass lets only its constructor assign.
            object.__setattr__(self, "effect", _EFFECTS[self.side])


class Perturbation(Plugin):
    """One mechanism. Its fields are its knobs, its traits what it declares of itself.

    Its docstring is what documentation and lists show: the first paragraph says what happens, and one sentence begins with "An agent
    should" and says what the right response is. `example` makes it fire in one of the worlds of `simtrain.testing`.
    """

    traits: ClassVar[Traits]

    severity: Probability = Field(
        default=0.5, description="How hard it hits, from 0 to 1; scales the knobs that are not set."
    )

    def check(self, world: World) -> None:
        """Raise InputError for knobs that cannot work in a world, such as SQL that does not compile."""
        return

    async def ready(self) -> None:
        """Check once, before any episode, that what the perturbation needs (a model) can be reached. Raises InputError."""
        return

    def reaches(self, tool: ToolSpec) -> bool:
        """True if it could affect some call of a tool; a drill leaves it out of scenarios where it reaches no tool."""
        return True

    def concerns(self, request: Request) -> bool:
        """True if it could affect a call; other calls neither count as matching nor reach `apply`."""
        return True

    def ask(self, prompt: str, rng: Stream) -> str:
        """Return the task as the agent reads it."""
        return prompt

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools that the agent is shown."""
        return tools

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Answer a call on which this fires; `proceed` continues the call and may be awaited never, once or several times.

        It counts as fired if reply, rows or virtual time differ from the unperturbed call; else the next matching call is tried.
        """
        return await proceed(call.request)

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Answer a call on which this does not fire, until the trigger's `until` is met; asked as `traits.follows` says."""
        return await proceed(call.request)

    async def serve(self, call: Call, proceed: Answer) -> Observation:
        """Answer a call of a tool that `offer` added or renamed; `proceed` takes a Request for a tool of the world.

        Every call to such a tool arrives here, regardless of triggers. Calls passed on meet the perturbations like any other.
        """
        # The plug-in's mistake, not the agent's: it called a tool that it was shown.
        raise SimulatorFault(f"{type(self).__name__} offers {call.request.tool.name} and does not answer it")


@dataclass(frozen=True)
class Armed:
    """A perturbation ready to fire: label, name in the plug-in table, trigger, and the plug-in with its knobs."""

    label: str
    use: str
    when: When
    perturbation: Perturbation


_RESPONSE = re.compile(r"\b[Aa]n agent should (.+?)\.(?= [A-Z`]|$)")


def right_response(plugin: type[Perturbation]) -> str:
    """Return the right response to a perturbation, from its docstring; empty if that does not state one."""
    # Joined first, since the sentence may be folded anywhere in the docstring.
    found = _RESPONSE.search(" ".join((getdoc(plugin) or "").split()))
    return found[1] if found else ""
