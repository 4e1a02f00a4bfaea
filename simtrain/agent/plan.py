"""Walking a plan: the steps of a scenario's `reference` (or `wrong`) as a generator of calls that is sent the replies."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal, NoReturn, TypeAlias, cast

from simtrain.errors import AgentFault, InputError
from simtrain.journal import Journal
from simtrain.passages import find_passage, read_as
from simtrain.policy import Briefing, Player, Policy
from simtrain.reference import AnyStep, CallStep, EachStep, Plan, ReadStep, SetStep
from simtrain.registry import resolve
from simtrain.templates import Value, expression
from simtrain.types import Action, JsonObject, JsonValue, Message, Observation, encode

if TYPE_CHECKING:
    from simtrain.scenario import Scenario

NEXT_CURSOR = "next_cursor"
MAX_PAGES = 200


@dataclass(frozen=True, slots=True)
class Planned:
    """A call that a plan wants made."""

    tool: str
    arguments: JsonObject


Walking: TypeAlias = Generator[Planned, Observation, Message]
Calling: TypeAlias = Generator[Planned, Observation, Observation]
Caller: TypeAlias = Callable[[Planned], Calling]
"""How one planned call is made: once, or with recovery. Generates the calls really made, returns the reply that counts."""


class _Abstained(Exception):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def once(planned: Planned) -> Calling:
    """Make the call as it is planned."""
    return (yield planned)


class Walk:
    """One walk through a plan.

    `tolerant` passes over steps that cannot be evaluated. `careless` is tolerant, reads first pages only, and claims success at the end
    whatever happened.
    """

    __slots__ = ("_call", "_careless", "_plan", "_tolerant", "_values")

    def __init__(
        self,
        plan: Plan,
        stated: Mapping[str, JsonValue],
        *,
        call: Caller = once,
        tolerant: bool = False,
        careless: bool = False,
    ) -> None:
        self._plan = plan
        self._call = call
        self._careless = careless
        self._tolerant = tolerant or careless
        self._values: dict[str, JsonValue] = {**stated, **{step.into: [] for step in plan.calls() if step.into}}

    def run(self) -> Walking:
        """The calls, then the final message. Raises InputError for an expression that has no value, unless tolerant."""
        try:
            yield from self._steps(self._plan.steps)
            if self._plan.abstain is not None:
                self._abstain(self._plan.abstain)
            return self._answer()
        except _Abstained as abstained:
            return _CLAIM if self._careless else declining(abstained.reason)
        except InputError:
            if self._tolerant:
                return _CLAIM
            raise

    def _answer(self) -> Message:
        value = _value_of(self._plan.answer, self._values)
        try:
            return answering(value)
        except TypeError:
            raise InputError("a part of the answer has no value") from None

    def _abstain(self, reason: str) -> NoReturn:
        raise _Abstained(str(_value(reason).evaluate(self._values)))

    def _steps(self, steps: list[AnyStep]) -> Generator[Planned, Observation, None]:
        for step in steps:
            try:
                yield from self._step(step)
            except InputError:
                if not self._tolerant:
                    raise

    def _step(self, step: AnyStep) -> Generator[Planned, Observation, None]:
        if step.when is not None and not _expression(step.when).evaluate(self._values):
            return
        if isinstance(step, CallStep):
            yield from self._make(step)
        elif isinstance(step, EachStep):
            for item in list(cast(list[JsonValue], _expression(step.items).evaluate(self._values))):
                self._values[step.item] = item
                yield from self._steps(step.steps)
        elif isinstance(step, SetStep):
            for name, source in step.values.items():
                self._values[name] = _value_of(source, self._values)
        elif isinstance(step, ReadStep):
            self._values[step.bind] = self._read(step)
        else:
            self._abstain(step.abstain)

    def _read(self, step: ReadStep) -> JsonValue:
        text = _expression(step.read).evaluate(self._values)
        if not isinstance(text, str):
            raise InputError(f"{step.read!r} is no text to read from")
        found = read_as(find_passage(text, after=step.after, until=step.until), step.form)
        return found if isinstance(found, str) or step.times == 1.0 else found * step.times

    def _make(self, step: CallStep) -> Generator[Planned, Observation, None]:
        given = {name: _value_of(source, self._values) for name, source in step.arguments.items()}
        arguments = {name: value for name, value in given.items() if value is not None}
        observation = yield from self._call(Planned(step.call, arguments))
        reply = _reply(observation)
        if step.pages is not None and not self._careless:
            yield from self._pages(step, arguments, reply)
        if step.bind:
            self._values[step.bind] = reply
        if step.into:
            self._values[step.into] = [*cast(list[JsonValue], self._values[step.into]), reply]

    def _pages(self, step: CallStep, arguments: JsonObject, reply: JsonObject) -> Generator[Planned, Observation, None]:
        """Follow the cursor; the lists found under the key of `pages` are joined in `reply`. A page that is an error makes it one."""
        key = cast(str, step.pages)
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
    """What a plan sees of a reply: its structured content, or the error."""
    if observation.is_error:
        return {"error": observation.text}
    content = observation.content
    return {"text": observation.text} if content is None else content


_expression = lru_cache(maxsize=4096)(expression)


@lru_cache(maxsize=4096)
def _value(source: str) -> Value:
    return Value(source)


def _value_of(source: JsonValue, values: Mapping[str, JsonValue]) -> JsonValue:
    return (_value(source) if isinstance(source, str) else Value(source)).evaluate(values)


def answering(value: JsonValue) -> Message:
    """A final message that answers."""
    text = value if isinstance(value, str) else "" if value is None else encode(value)
    return Message(f"ANSWER: {text}", answer=text)


def declining(reason: str) -> Message:
    """A final message that declines the task."""
    return Message(f"CANNOT: {reason}", abstain=True, answer=reason)


_CLAIM = answering("Done.")


class PlanPlayer:
    """A player that carries out a walk, one call a turn."""

    __slots__ = ("_count", "_walking")

    def __init__(self, walking: Walking) -> None:
        self._walking = walking
        self._count = 0

    async def think(self, journal: Journal) -> Message:
        """The next call of the walk, or its final message. Raises AgentFault when the plan cannot go on."""
        try:
            planned = (
                next(self._walking)
                if not journal.turns
                else self._walking.send(journal.turns[-1].steps[-1].observation)
            )
        except StopIteration as finished:
            return cast(Message, finished.value)
        except InputError as error:
            raise AgentFault(f"the plan cannot go on: {error}") from None
        self._count += 1
        return Message(calls=(Action(f"call_{self._count}", planned.tool, planned.arguments),))


class PlanPolicy(Policy):
    """A policy that carries out one of a scenario's plans, the one under `key`."""

    key: ClassVar[Literal["reference", "wrong"]] = "reference"
    planned: ClassVar[bool] = True

    def check(self, scenario: Scenario) -> None:
        """Raises InputError when the scenario has no such plan, and its paradigm finds none."""
        found = self.key == "reference" and bool(resolve("paradigms", scenario.spec.paradigm)().plans)
        if getattr(scenario.spec, self.key) is None and not found:
            raise scenario.document.relocate(self._missing(), ())

    def player(self, briefing: Briefing) -> Player:
        """Raises InputError when the scenario has no such plan."""
        plan = cast("Plan | None", getattr(briefing, self.key))
        if plan is None:
            raise self._missing()
        return PlanPlayer(self.walk(plan, briefing))

    @abstractmethod
    def walk(self, plan: Plan, briefing: Briefing) -> Walking:
        """How the plan is carried out in one episode."""

    def _missing(self) -> InputError:
        return InputError(f"the scenario has no `{self.key}` plan", remedy="add one, or choose another agent")
