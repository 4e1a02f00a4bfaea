"""Find the calls of a plan that can be made already: their arguments do not depend on a reply still to come."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from simtrain.contracts.plan import AnyStep, CallStep, EachStep, ReadStep, SetStep
from simtrain.files.templates import Value, expression
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue

MOST = 7
"""Calls that may accompany another one in the same turn."""

Call: TypeAlias = tuple[str, JsonObject]


@dataclass(slots=True)
class Rest:
    """The rest of a list of steps, or, with `item`, of a loop over `items`, from `place` on."""

    steps: list[AnyStep]
    item: str | None = None
    items: list[JsonValue] = field(default_factory=list[JsonValue])
    place: int = 0


def calls_ahead(
    rests: Sequence[Rest], values: Mapping[str, JsonValue], step: CallStep, *, together: Callable[[str], bool]
) -> list[Call]:
    """Return the calls after `step` that do not need its reply, up to the first that may not be made together with it.

    `rests` is the rest of the plan, the outermost steps first. A call that is made only depending on a reply is not
    included.
    """
    ahead = _Ahead(values, step, together)
    try:
        for rest in reversed(rests):
            if rest.item is None:
                ahead.steps(rest.steps[rest.place :])
            else:
                ahead.each(rest.item, rest.items[rest.place :], rest.steps)
    except (_Stop, InputError):
        # An expression without a value yet is left to the walk itself.
        pass
    return ahead.found


class _Stop(Exception):
    pass


class _Ahead:
    """A walk through steps in which some names have no value yet; expressions that read them have none either."""

    def __init__(self, values: Mapping[str, JsonValue], step: CallStep, together: Callable[[str], bool]) -> None:
        self._values = dict(values)
        self._together = together
        self._open = _bound(step)
        self.found: list[Call] = []

    def steps(self, steps: Sequence[AnyStep]) -> None:
        for step in steps:
            if step.when is not None:
                when = expression_in(step.when)
                if self._is_open(when.names):
                    self._passed(step)
                    continue
                if not when.evaluate(self._values):
                    continue
            self._step(step)

    def each(self, item: str, items: Sequence[JsonValue], steps: Sequence[AnyStep]) -> None:
        for value in items:
            self._values[item] = value
            self._open.discard(item)
            self.steps(steps)

    def _step(self, step: AnyStep) -> None:
        if isinstance(step, CallStep):
            self._call(step)
        elif isinstance(step, EachStep):
            items = expression_in(step.items)
            if self._is_open(items.names):
                self._passed(step)
            else:
                self.each(step.item, list(items.evaluate(self._values)), step.steps)
        elif isinstance(step, SetStep):
            for name, source in step.values.items():
                self._set(name, value_in(source))
        elif isinstance(step, ReadStep):
            self._open.add(step.bind)
        else:
            raise _Stop

    def _call(self, step: CallStep) -> None:
        # Stop at the first write: a read after it may depend on what it changed.
        if not self._together(step.call):
            raise _Stop
        sources = {name: value_in(source) for name, source in step.arguments.items()}
        if not any(self._is_open(source.names) for source in sources.values()):
            given = {name: source.evaluate(self._values) for name, source in sources.items()}
            self.found.append((step.call, {name: value for name, value in given.items() if value is not None}))
            if len(self.found) == MOST:
                raise _Stop
        self._open |= _bound(step)

    def _set(self, name: str, source: Value) -> None:
        if self._is_open(source.names):
            self._open.add(name)
        else:
            self._values[name] = source.evaluate(self._values)
            self._open.discard(name)

    def _passed(self, step: AnyStep) -> None:
        """Skip a step that depends on a reply: the names that it binds have no value, and no call may move ahead of a
        possible write.
        """
        if isinstance(step, CallStep):
            if not self._together(step.call):
                raise _Stop
            self._open |= _bound(step)
        elif isinstance(step, EachStep):
            self._open.add(step.item)
            for inner in step.steps:
                self._passed(inner)
        elif isinstance(step, SetStep):
            self._open |= step.values.keys()
        elif isinstance(step, ReadStep):
            self._open.add(step.bind)
        else:
            raise _Stop

    def _is_open(self, names: Collection[str]) -> bool:
        return not self._open.isdisjoint(names)


def _bound(step: CallStep) -> set[str]:
    return {name for name in (step.bind, step.into) if name}


expression_in = lru_cache(maxsize=4096)(expression)


def value_in(source: JsonValue) -> Value:
    """Return the parsed expression of an argument or an answer; cached, since the same texts recur in every episode."""
    return _text_value(source) if isinstance(source, str) else Value(source)


_text_value: Callable[[str], Value] = lru_cache(maxsize=4096)(Value)
