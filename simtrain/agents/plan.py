"""Walk a plan: the steps of a scenario's `reference` (or `wrong`) as a generator that yields calls and is sent the replies."""

from abc import abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NoReturn, TypeAlias, cast

from simtrain.agents.lookahead import Rest, calls_ahead, expression_in, value_in
from simtrain.agents.planned import Caller, Calling, Planned, Walking
from simtrain.agents.typist import typed_out, with_steps
from simtrain.contracts.agent import Briefing, Player, Policy
from simtrain.contracts.journal import Journal
from simtrain.contracts.plan import AnyStep, CallStep, EachStep, Plan, ReadStep, SetStep
from simtrain.contracts.registry import resolve
from simtrain.contracts.scenario import Scenario
from simtrain.values.errors import AgentFault, InputError
from simtrain.values.passages import find_passage, read_as
from simtrain.values.types import Action, JsonObject, JsonValue, Message, Observation, Usage, encode

NEXT_CURSOR = "next_cursor"
MAX_PAGES = 200


class _Abstained(Exception):
    """The plan declines the task, for this reason."""


def once(planned: Planned) -> Calling:
    """Make the call as planned."""
    return (yield planned)


class Walk:
    """One walk through a plan.

    `tolerant` skips steps that cannot be evaluated. `careless` is tolerant, reads first pages only, and claims success whatever
    happened. Calls of tools that `together` accepts (the reads) share a turn if none needs the reply of another, and are not
    repeated until something is written. `ending` words the final message, given the value that is answered.
    """

    def __init__(
        self,
        plan: Plan,
        stated: Mapping[str, JsonValue],
        *,
        call: Caller = once,
        tolerant: bool = False,
        careless: bool = False,
        together: Callable[[str], bool] | None = None,
        ending: Callable[[Message, JsonValue], Message] = lambda message, value: message,
    ) -> None:
        self._plan = plan
        self._together = together
        self._ending = ending
        self._rest: list[Rest] = []
        self._announced: set[bytes] = set()
        self._known: dict[bytes, JsonObject] = {}
        self._call = call
        self._careless = careless
        self._tolerant = tolerant or careless
        self._values: dict[str, JsonValue] = {**stated, **{step.into: [] for step in plan.calls() if step.into}}

    def run(self) -> Walking:
        """Yield the calls, return the final message. Raises InputError for an expression without a value, unless tolerant."""
        try:
            yield from self._steps(self._plan.steps)
            if self._plan.abstain is not None:
                self._abstain(self._plan.abstain)
            return self._answer()
        except _Abstained as abstained:
            return _CLAIM if self._careless else self._ending(declining(str(abstained)), None)
        except InputError:
            if self._tolerant:
                return _CLAIM
            raise

    def _answer(self) -> Message:
        value = value_in(self._plan.answer).evaluate(self._values)
        try:
            return self._ending(answering(value), value)
        except TypeError:
            raise InputError("a part of the answer has no value") from None

    def _abstain(self, reason: str) -> NoReturn:
        raise _Abstained(str(value_in(reason).evaluate(self._values)))

    def _steps(self, steps: list[AnyStep]) -> Generator[Planned, Observation, None]:
        rest = Rest(steps)
        self._rest.append(rest)
        for rest.place, step in enumerate(steps, start=1):
            try:
                yield from self._step(step)
            except InputError:
                if not self._tolerant:
                    raise
        self._rest.pop()

    def _step(self, step: AnyStep) -> Generator[Planned, Observation, None]:
        if step.when is not None and not expression_in(step.when).evaluate(self._values):
            return
        if isinstance(step, CallStep):
            yield from self._make(step)
        elif isinstance(step, EachStep):
            items = list(expression_in(step.items).evaluate(self._values))
            rest = Rest(step.steps, item=step.item, items=items)
            self._rest.append(rest)
            for rest.place, item in enumerate(items, start=1):
                self._values[step.item] = item
                yield from self._steps(step.steps)
            self._rest.pop()
        elif isinstance(step, SetStep):
            for name, source in step.values.items():
                self._values[name] = value_in(source).evaluate(self._values)
        elif isinstance(step, ReadStep):
            self._values[step.bind] = self._read(step)
        else:
            self._abstain(step.abstain)

    def _read(self, step: ReadStep) -> JsonValue:
        text = expression_in(step.read).evaluate(self._values)
        if not isinstance(text, str):
            raise InputError(f"{step.read!r} is not text, so nothing can be read from it")
        found = read_as(find_passage(text, after=step.after, until=step.until), step.form)
        return found if isinstance(found, str) or step.times == 1.0 else found * step.times

    def _make(self, step: CallStep) -> Generator[Planned, Observation, None]:
        given = {name: value_in(source).evaluate(self._values) for name, source in step.arguments.items()}
        arguments = {name: value for name, value in given.items() if value is not None}
        reply = yield from self._replied(step, Planned(step.call, arguments))
        if step.bind:
            self._values[step.bind] = reply
        # A new list, not append: a value set from the old one must not grow with it.
        if step.into:
            self._values[step.into] = [*self._values[step.into], reply]

    def _replied(self, step: CallStep, planned: Planned) -> Generator[Planned, Observation, JsonObject]:
        """Return the reply to a call; a read made since the last write reuses its known reply."""
        reads = self._together is not None and self._together(step.call)
        # After a write every known reply may be out of date.
        if not reads:
            self._known.clear()
        elif planned.key in self._known:
            return self._known[planned.key]
        reply = _reply((yield from self._call(self._accompanied(planned, step) if reads else planned)))
        if step.pages is not None and not self._careless:
            yield from self._pages(step, planned.arguments, reply)
        # An error is not kept: the same read may work the next time.
        if reads and "error" not in reply:
            self._known[planned.key] = reply
        return reply

    def _accompanied(self, planned: Planned, step: CallStep) -> Planned:
        """Return the call with those that can be made in the same turn."""
        if planned.key in self._announced:
            self._announced.discard(planned.key)
            return planned
        together = cast("Callable[[str], bool]", self._together)
        calls = calls_ahead(self._rest, self._values, step, together=together)
        beside: dict[bytes, Planned] = {}
        for call in (Planned(tool, arguments) for tool, arguments in calls):
            if call != planned and call.key not in self._announced and call.key not in self._known:
                beside[call.key] = call
        self._announced.update(beside)
        return replace(planned, beside=tuple(beside.values()))

    def _pages(self, step: CallStep, arguments: JsonObject, reply: JsonObject) -> Generator[Planned, Observation, None]:
        """Follow the cursor; the lists under the key of `pages` are concatenated in `reply`. An error on any page makes it an error."""
        key = cast(str, step.pages)
        # A server whose cursor never ends must not keep the episode going.
        for _ in range(MAX_PAGES):
            cursor = reply.get(NEXT_CURSOR)
            if cursor is None:
                return
            page = _reply((yield from self._call(Planned(step.call, {**arguments, "cursor": cursor}))))
            if "error" in page:
                reply.clear()
                reply["error"] = page["error"]
                return
            reply[key] = [*cast(list[JsonValue], reply.get(key, [])), *cast(list[JsonValue], page.get(key, []))]
            reply[NEXT_CURSOR] = page.get(NEXT_CURSOR)


def _reply(observation: Observation) -> JsonObject:
    """Return what a plan sees of a reply: its structured content, or the error. It may be written into: the reply itself is on record."""
    if observation.is_error:
        return {"error": observation.text}
    content = observation.content
    return {"text": observation.text} if content is None else dict(content)


def answering(value: JsonValue) -> Message:
    """Return a final message that answers."""
    text = value if isinstance(value, str) else "" if value is None else encode(value)
    return Message(f"ANSWER: {text}", answer=text)


def declining(reason: str) -> Message:
    """Return a final message that declines the task."""
    return Message(f"CANNOT: {reason}", abstain=True, answer=reason)


_CLAIM = answering("Done.")


@dataclass(frozen=True, slots=True)
class Rationale:
    """The text beside calls, and its cost."""

    text: str = ""
    usage: Usage | None = None


Narrator: TypeAlias = Callable[[Planned, Sequence[Planned], Journal], Awaitable[Rationale]]
"""Returns the text beside some calls, given the first of them, all of them, and the journal."""


class PlanPlayer:
    """A player that carries out a walk: one call a turn, together with those in its `beside`.

    If it continues turns that were made before, a call of the walk that is among them is not made again but gets the recorded reply;
    the n-th time the n-th one.
    """

    __slots__ = ("_count", "_kept", "_sent", "_voice", "_walking")

    def __init__(self, walking: Walking, voice: Narrator | None = None) -> None:
        self._walking = walking
        self._voice = voice
        self._count = 0
        self._sent: tuple[Planned, ...] = ()
        self._kept: dict[bytes, deque[Observation]] = {}

    async def think(self, journal: Journal) -> Message:
        """Return the next calls of the walk, or its final message. Raises AgentFault when the plan cannot go on."""
        try:
            planned = self._next(journal)
        except StopIteration as finished:
            return finished.value
        except InputError as error:
            raise AgentFault(f"the plan cannot go on: {error}") from None
        self._sent = (planned, *(call for call in planned.beside if not self._kept.get(call.key)))
        rationale = Rationale() if self._voice is None else await self._voice(planned, self._sent, journal)
        return Message(rationale.text, calls=tuple(self._action(call) for call in self._sent), usage=rationale.usage)

    def _next(self, journal: Journal) -> Planned:
        """Return the next call that has not been made, after the replies to those of the last turn."""
        # The first reply is for the walk, which waits for it; the others are kept until it asks for them.
        if self._sent:
            first, *others = (step.observation for step in journal.turns[-1].steps)
            for call, observation in zip(self._sent[1:], others, strict=True):
                self._kept[call.key] = deque([observation])
            planned = self._walking.send(first)
        else:
            self._take_over(journal)
            planned = next(self._walking)
        while kept := self._kept.get(planned.key):
            planned = self._walking.send(kept.popleft())
        return planned

    def _take_over(self, journal: Journal) -> None:
        """Keep the replies to the calls that were made before it began."""
        for step in (step for turn in journal.turns for step in turn.steps):
            # Counted along, so that the ids of new calls do not repeat recorded ones.
            self._count += 1
            action = step.action
            self._kept.setdefault(Planned(action.tool, action.arguments).key, deque()).append(step.observation)

    def _action(self, planned: Planned) -> Action:
        self._count += 1
        return Action(f"call_{self._count}", planned.tool, planned.arguments)


class PlanPolicy(Policy):
    """A policy that carries out one of a scenario's plans, the one under `key`."""

    key: ClassVar[Literal["reference", "wrong"]] = "reference"
    planned: ClassVar[bool] = True
    continues: ClassVar[bool] = True

    def check(self, scenario: Scenario) -> None:
        """Raise InputError if the scenario has no such plan and its paradigm derives none."""
        found = self.key == "reference" and bool(resolve("paradigms", scenario.spec.paradigm)().plans)
        # The plans for broken repositories follow from their tasks.
        found = found or scenario.spec.cases.tasks is not None
        if getattr(scenario.spec, self.key) is None and not found:
            raise scenario.document.relocate(self._missing(), ())

    def player(self, briefing: Briefing) -> Player:
        """Raise InputError if the scenario has no such plan."""
        plan = getattr(briefing, self.key)
        if plan is None:
            raise self._missing()
        walking = self.walk(plan, with_steps(briefing))
        return PlanPlayer(typed_out(walking, briefing.tools), self.voice(briefing))

    @abstractmethod
    def walk(self, plan: Plan, briefing: Briefing) -> Walking:
        """Return the walk of one episode through the plan."""

    def voice(self, briefing: Briefing) -> Narrator | None:
        """Return the narrator of one episode; None for no text beside calls."""
        return None

    def _missing(self) -> InputError:
        return InputError(f"the scenario has no `{self.key}` plan", remedy="add one, or choose another agent")
