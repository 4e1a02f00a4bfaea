"""The world-model proxy: the one door through which every tool call of an episode passes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from copy import copy
from dataclasses import replace
from functools import lru_cache, partial
from types import TracebackType
from typing import NamedTuple, Self

from simtrain.contracts.argument_mistakes import argument_mistakes
from simtrain.contracts.domain import Domain
from simtrain.contracts.perturbation import Armed, Call
from simtrain.contracts.request import Answer, NotAnswered, Request, no_tool
from simtrain.contracts.scenario import Answering, Episode
from simtrain.contracts.trajectory import Changed, Event, Step
from simtrain.contracts.user import ASKING
from simtrain.contracts.world import FinishedWorld, World, WorldState
from simtrain.episodes.active_perturbation import Active, PerturbationKind, kinds_armed, kinds_of
from simtrain.episodes.firing import Found, PerturbationChain, PerturbedCall
from simtrain.episodes.recordable import recordable
from simtrain.episodes.toolbox import Toolbox, as_read
from simtrain.values.errors import InputError, SimtrainError, SimulatorFault
from simtrain.values.seeding import Root, Stream, counted, derive
from simtrain.values.types import Action, JsonObject, Observation, Provenance, ToolSpec

PROXY = Provenance("proxy")

TIMEOUT = "The request timed out after {seconds:g} seconds."
"""The message of a client that stops waiting for a reply. Whatever the call did stays done."""


class _Setting(NamedTuple):
    """The fields of `Call` that are the same for all calls of a tool."""

    in_world: bool
    manners: int


class Proxy:
    """An environment over a world: checks the call, lets perturbations change it, has a world model answer it, records the step."""

    __slots__ = (
        "_acting", "_active", "_answering", "_answers", "_domain", "_domain_name", "_episode", "_owners", "_patience",
        "_routes", "_settings", "_stack", "_succeeded", "_toolbox", "_turn", "_user", "perturbed", "state", "steps", "world",
    )  # fmt: skip

    def __init__(
        self, episode: Episode, world: World, *, toolbox: Toolbox, routes: Mapping[str, Sequence[int]], domain: Domain
    ) -> None:
        """`routes` maps tool names to the indices of the world models that are asked, in order."""
        self.world = world
        self.state: WorldState = world.open()
        self.steps: list[Step] = []
        self._episode = episode
        self._answering: tuple[Answering, ...] = episode.scenario.answering
        self._toolbox = toolbox
        self._routes = routes
        self._domain = domain
        self._turn = -1
        self._answers: list[Answer] = []
        self._stack: AsyncExitStack | None = None
        self._succeeded: set[str] = set()
        self._active: list[Active] = []
        self._acting: list[Active] = []
        self._domain_name = episode.scenario.spec.domain
        # By tool, filled on the first call that a perturbation meets: most episodes meet few tools.
        self._settings: dict[str, _Setting] = {}
        self._patience = episode.scenario.spec.limits.call
        self._user = episode.scenario.user_of(episode.case)
        self._owners: dict[str, Active] = {}
        self.perturbed: tuple[str, ...] = ()
        kinds = kinds_of(episode.scenario)
        if kinds:
            self._arm(kinds, toolbox)

    def rearm(self, armed: Sequence[Armed], *, seed: int | None = None) -> None:
        """Arm more perturbations for the calls from here on; with `seed`, the existing ones draw from that seed from now on.

        Raises InputError for a perturbation that changes the task or the tools, which the agent has already read.
        """
        episode, tools = self._episode, self.tools
        root = Root(episode.seed if seed is None else seed, episode.scenario.name, episode.id)
        if seed is not None:
            for active in self._active:
                active.reseed(root.under_spelt(active.kind.spelt))
        for kind in kinds_armed(armed, progress=episode.scenario.progress):
            active = Active(kind, root.under_spelt(kind.spelt), tools)
            shown = kind.perturbation.offer(tools, active.root.stream("offer")) if kind.offers else tools
            if kind.asks or as_read(shown) != as_read(tools):
                raise InputError(
                    f"{active.label!r} changes the task or the tools, which the agent has read before this step",
                    remedy="arm it for a whole run, or name a pack without it",
                )
            self._active.append(active)
            if kind.acts:
                self._acting.append(active)

    def _arm(self, kinds: Sequence[PerturbationKind], toolbox: Toolbox) -> None:
        """Let every perturbation change the tools; new tools belong to the perturbation that added them."""
        # The arm is not part of the root: a drill's arms draw alike, which is what makes their episodes pairs.
        root = Root(self._episode.seed, self._episode.scenario.name, self._episode.id)
        # Asking the user is no tool of a server: no perturbation may rename, hide or reword it.
        users = (ASKING,) if self._user else ()
        whole = offered = tuple(tool for tool in toolbox.tools if tool not in users) if users else toolbox.tools
        for kind in kinds:
            # Each is given the tools as those before it in the list have left them, and finds them again in `Call.given`.
            active = Active(kind, root.under_spelt(kind.spelt), offered)
            self._active.append(active)
            if kind.acts:
                self._acting.append(active)
            if not kind.offers:
                continue
            known = {tool.name for tool in offered}
            shown = kind.perturbation.offer(offered, active.root.stream("offer"))
            self._owners.update({tool.name: active for tool in shown if tool.name not in known})
            # Compared, not declared: a perturbation that found nothing to change has not fired.
            if shown != offered:
                self.perturbed = (*self.perturbed, active.label)
            offered = shown
        if offered != whole:
            self._toolbox = Toolbox((*offered, *users), style=toolbox.style)

    def asks(self, prompt: str) -> str:
        """Return the task as the agent reads it."""
        for active in self._active:
            if not active.kind.asks:
                continue
            reworded = active.kind.perturbation.ask(prompt, active.root.stream("ask"))
            if reworded != prompt and active.label not in self.perturbed:
                self.perturbed = (*self.perturbed, active.label)
            prompt = reworded
        return prompt

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools that the agent is shown."""
        return self._toolbox.tools

    async def __aenter__(self) -> Self:
        stack = self._stack = AsyncExitStack()
        try:
            for answering in self._answering:
                session = answering.world_model.session(
                    domain=self._domain, world=self.state, tools=self._toolbox.tools
                )
                self._answers.append(await stack.enter_async_context(session))
        # BaseException, since a cancellation must close the sessions that are already open as well.
        except BaseException:
            await stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stack is not None:
            await self._stack.aclose()
        for active in self._active:
            active.close()
        self.state.close()

    async def fork(self) -> Proxy:
        """Return an entered, independent copy in its present state.

        Raises InputError if a world model keeps state outside the world.
        """
        for answering in self._answering:
            if not answering.world_model.stateless:
                raise InputError(
                    f"an episode that {answering.label!r} answers cannot be forked",
                    remedy="fork episodes whose world models keep nothing beside the world, such as `embedded`",
                )
        other = copy(self)
        other.state = self.state.fork()
        other.steps = list(self.steps)
        # `__aenter__` opens sessions of its own for the copy.
        other._answers = []
        other._succeeded = set(self._succeeded)
        other._active = [active.fork() for active in self._active]
        other._acting = [active for active in other._active if active.kind.acts]
        # An added tool must answer from the copy's memory, or the fork would write into this episode.
        copies = dict(zip(self._active, other._active, strict=True))
        other._owners = {name: copies[active] for name, active in self._owners.items()}
        return await other.__aenter__()

    def begin_turn(self) -> None:
        """Begin a new assistant message."""
        self._turn += 1

    def finished(self) -> FinishedWorld:
        """Return the world in its initial and in its present state."""
        return FinishedWorld(self.world, self.state, self.state.changes())

    async def step(self, action: Action) -> Observation:
        """Carry out one action and record it. Raises SimulatorFault when nobody could answer."""
        return await self._step(action, None)

    async def read(self, action: Action, answer: Answer) -> Observation:
        """Carry out a request other than a tool call, which changes nothing, and record it; `answer` gives the reply.
        Raises SimulatorFault.
        """
        return await self._step(action, answer)

    async def _step(self, action: Action, answer: Answer | None) -> Observation:
        try:
            # First of all: whatever an agent sends must be writable, or the whole episode would be lost when it is recorded.
            action = recordable(action)
            clock = self.state.clock
            # Before the reply: a call takes its time even where it is refused.
            clock.tick()
            begun, moment = clock.now, clock.moment
            events: list[Event] = []
            request = self._checked(action) if answer is None else self._reading(action)
            if isinstance(request, str):
                observation = self._refused(action, request)
            else:
                # Without armed perturbations the chain is left out; this path decides the speed of clean runs.
                answer = answer or self._answer
                observation = await (self._carried_out(request, events, answer) if self._active else answer(request))
                # After all perturbations: the time that they let pass is also time spent waiting for the reply.
                late = clock.moment - moment
                if self._patience is not None and late > self._patience:
                    late = self._patience
                    observation = Observation(TIMEOUT.format(seconds=late), is_error=True, provenance=PROXY)
                # The virtual clock has already moved; only a live client needs to feel the delay.
                if self._episode.real_time and late > 0:
                    await asyncio.sleep(late)
                if not observation.is_error:
                    self._succeeded.add(action.tool)
            # Recorded here and nowhere else, so that a trajectory holds what passed this door, whoever the agent is.
            self.steps.append(Step(len(self.steps), action, observation, begun, tuple(events)))
            return observation
        except SimtrainError:
            raise
        except Exception as error:
            # A plug-in that breaks down here is never the agent's fault.
            raise SimulatorFault(f"{action.tool}: {type(error).__name__}: {error}") from error

    def _reading(self, action: Action) -> Request:
        """Return the request for something other than a tool call."""
        return Request(no_tool(action.tool), action.arguments, len(self.steps), max(self._turn, 0))

    def _checked(self, action: Action) -> Request | str:
        """Return the request with its arguments as the tool sees them, or the problem if no tool can carry it out."""
        tool = self._toolbox.by_name.get(action.tool)
        if tool is None or action.malformed is not None:
            return f"the arguments are {action.mistake}"
        checked = self._toolbox.checks[action.tool](action.arguments)
        if checked.problem is not None:
            return checked.problem
        return Request(tool, checked.arguments, len(self.steps), max(self._turn, 0))

    def _refused(self, action: Action, detail: str) -> Observation:
        """Return the error reply to a call that no tool can carry out."""
        errors, name = self.world.errors_of(action.tool), self.world.spoken_name(action.tool)
        # In the order in which a server notices: the frame, the name of the tool, then the arguments.
        if action.mistake is not None and not action.tool:
            return _refusal(f"Invalid tool call: {action.mistake} with the name of a tool", "error")
        if action.tool not in self._toolbox.by_name:
            return _refusal(errors.unknown(name, action.arguments), errors.unknown_tool_as)
        made = argument_mistakes(self._toolbox.by_name[action.tool].input_schema, action.arguments)
        return _refusal(*errors.refusal(name, detail, made))

    async def _carried_out(self, request: Request, events: list[Event], answer: Answer) -> Observation:
        """Return the reply to a call, changed if something fires on it.

        A perturbation answers calls of the tools that it added.
        """
        owner = self._owners.get(request.tool.name)
        if self._user and request.tool == ASKING:
            observation = await self._answer(request)
        elif owner is None:
            observation = await self._perturbed(request, events, answer)
        else:
            # Back to the start and not to the world: an added tool may call another, which perturbations may meet in turn.
            onward = partial(self._carried_out, events=events, answer=answer)
            observation = await owner.kind.perturbation.serve(self.call(owner, request, 0), onward)
        if not observation.is_error:
            self._succeeded.add(request.tool.name)
        return observation

    async def _answer(self, request: Request) -> Observation:
        if self._user and request.tool == ASKING:
            return self._user.answer(request.arguments)
        passed: list[str] = []
        # A world model passes on what it cannot answer; the next one of the scenario's list is asked.
        for index in self._routes.get(request.tool.name, ()):
            label = self._answering[index].label
            try:
                observation = await self._answers[index](request)
                provenance = observation.provenance
                if provenance is None or provenance.source == label:
                    return observation
                return replace(observation, provenance=replace(provenance, source=label))
            except NotAnswered as pass_on:
                passed.append(f"{label}: {pass_on}")
        reasons = f" ({'; '.join(passed)})" if passed else ""
        raise SimulatorFault(f"no world model answers {request.tool.name}{reasons}")

    async def _perturbed(self, request: Request, events: list[Event], answer: Answer) -> Observation:
        """Return the reply through all perturbations that meet the call, nested, the first in the list outermost."""
        state, succeeded = self.state, self._succeeded
        try:
            # All triggers are asked before any perturbation acts: whether one fires must not depend on what another did to this call.
            found = [(active, active.meets(request, succeeded, state)) for active in self._acting]
        except InputError as error:
            raise SimulatorFault(f"a trigger cannot be evaluated: {error}") from None
        involved = [(active, matching) for active, matching in found if matching is not None]
        if not involved:
            return await answer(request)

        def note(perturbed: PerturbedCall, observation: Observation, changed: tuple[Changed, ...], _: bool) -> None:
            kind, matching = perturbed.active.kind, perturbed.matching
            without = perturbed.without
            events.append(Event(kind.label, kind.armed.use, kind.layer, matching, without, observation, changed))

        # Held once for all of them if the call only reads. For a call that writes, holding would have to read the rows first.
        chain = PerturbationChain(
            involved,
            answer,
            prepare=self.call,
            note=note,
            preview=self.preview,
            held=None if request.tool.writes else state.held(),
        )
        observation = await chain.answered(request)
        # A perturbation inside one that did not pass the call on never saw it: its firing must not be used up.
        for active, matching in involved:
            if active.trigger.undecided:
                active.trigger.give_back(matching)
        return observation

    def call(self, active: Active, request: Request, matching: int) -> Call:
        """Return the `Call` that a perturbation receives."""
        name, state = request.tool.name, self.state
        in_world, manners = self._settings.get(name) or self._setting(request.tool)
        return Call(
            request=request,
            # A stream per tool and matching call, so that one call more of another tool does not shift later draws.
            rng=Stream((active.root, counted(name, matching))),
            clock=state.clock,
            memory=active.memory,
            world=state,
            snapshots=active.snapshots,
            domain=self._domain_name,
            in_world=in_world,
            tools=self._toolbox.tools,
            given=active.given,
            manners=manners,
            root=active.root,
        )

    def _setting(self, tool: ToolSpec) -> _Setting:
        """Return what all calls of a tool share, computed on first use."""
        routed = self._routes.get(tool.name, ())
        # Only the first in line counts, and only if it is stateless: asking another twice would change its answer.
        in_world = bool(routed) and self._answering[routed[0]].world_model.stateless
        manners = _manners(self._episode.seed, self.world.name, tool.server)
        found = self._settings[tool.name] = _Setting(in_world, manners)
        return found

    def preview(self, request: Request, moment: float) -> Found | None:
        """Return what the world itself would have answered at an instant, leaving no trace; None for a tool that it does not answer."""
        if not (self._settings.get(request.tool.name) or self._setting(request.tool)).in_world:
            return None
        clock = self.state.clock
        # The clock is no row: the savepoint undoes writes alone, so the clock is set back by hand.
        present, clock.moment = clock.moment, moment
        with self.state.savepoint():
            found = (self.state.answer(request), clock.moment, self.state.held())
        clock.moment = present
        return found


@lru_cache(maxsize=4096)
def _manners(seed: int, world: str, server: str) -> int:
    """Return the seed that decides how a server words its errors: the same in all episodes of a run."""
    return derive(seed, "manners", world, server)


def _refusal(text: str, channel: str | int) -> Observation:
    """Return the reply to a call that no tool carries out: an error reply, a plain one, or a JSON-RPC error with a code."""
    # Servers differ here: FastMCP reports an unknown tool in the result, others as JSON-RPC error -32602.
    if isinstance(channel, int):
        wire: JsonObject = {"error": {"code": channel, "message": text}}
        return Observation(text, is_error=True, provenance=PROXY, wire=wire)
    return Observation(text, is_error=channel == "error", provenance=PROXY)
