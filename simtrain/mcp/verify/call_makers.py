"""Makers of calls, and the YAML files that define a subject's makers: how a call's arguments are drawn."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from jinja2 import Environment, StrictUndefined
from yaml import safe_load

from simtrain.mcp.verify.draw import Draw
from simtrain.values.types import JsonObject, JsonValue

Kind: TypeAlias = Literal["valid", "edge", "invalid"]
"""The kind of call that a maker aims at: one that works, an edge case, one that is refused."""

KINDS: tuple[Kind, ...] = get_args(Kind)

Helper: TypeAlias = Callable[..., JsonValue]
"""A function that a file may call by name; its first argument, the draw, is supplied."""

_DRAWS = (
    "one", "some", "each", "part", "chance", "integer", "word", "words", "odd_text", "earlier", "gone", "existing", "nothing",
)  # fmt: skip
_ALONE = re.compile(r"\{\{((?:(?!\{\{).)*)\}\}", re.DOTALL)
_OMIT: JsonValue = object()
# Subjects ship as code: their expressions are trusted and need no sandbox.
_JINJA = Environment(undefined=StrictUndefined)


@dataclass(frozen=True, slots=True)
class CallMaker:
    """One way to make the arguments of a call to one tool."""

    tool: str
    kind: Kind
    weight: float
    arguments: Callable[[Draw], JsonObject]


@lru_cache
def read_makers(path: Path, helpers: Sequence[Helper] = ()) -> tuple[CallMaker, ...]:
    """Return the makers in a YAML file, in its order.

    `values` are lists to draw from. Each of the `calls` names its tools, with weights, under `valid`, `edge` or
    `invalid`; its `arguments`, and the variables under `let`, hold Jinja expressions over the values, the methods of `Draw`,
    `past` and the helpers. `{repeat: N, of: X}` is a list of N items X, each drawn anew; an argument `{{ omit }}` is left out.
    """
    document: JsonObject = safe_load(path.read_text("utf-8"))
    names = {"omit": _OMIT, **document.get("values", {})}
    return tuple(
        CallMaker(tool, kind, weight, partial(_arguments, entry, names, helpers))
        for entry in document["calls"]
        for kind in KINDS
        for tool, weight in entry.get(kind, {}).items()
    )


def _arguments(entry: JsonObject, values: Mapping[str, JsonValue], helpers: Sequence[Helper], draw: Draw) -> JsonObject:
    own = {helper.__name__: partial(helper, draw) for helper in helpers}
    names: dict[str, Any] = {**values, **{name: getattr(draw, name) for name in _DRAWS}, **own, "past": draw.past}
    for name, source in entry.get("let", {}).items():
        # One after the other: a variable may use those before it.
        names[name] = _evaluated(source, names)
    return _evaluated(entry["arguments"], names)


def _evaluated(source: JsonValue, names: Mapping[str, Any]) -> JsonValue:
    """Return a value with its expressions evaluated from left to right: the order of draws must be stable for a seed."""
    match source:
        case str():
            return _expression(source)(names) if "{{" in source else source
        case list():
            return [_evaluated(item, names) for item in source]  # pyright: ignore[reportUnknownVariableType]
        case {"repeat": count, "of": item}:
            return [_evaluated(item, names) for _ in range(_evaluated(count, names))]
        case dict():
            pairs = [(_evaluated(key, names), _evaluated(item, names)) for key, item in source.items()]  # pyright: ignore
            return {key: item for key, item in pairs if item is not _OMIT}
        case _:
            return source


@cache
def _expression(source: str) -> Callable[[Mapping[str, Any]], JsonValue]:
    """Return a function that evaluates a text: a lone `{{ expression }}` keeps its type, anything else is rendered to text."""
    # A template always renders text; only a compiled expression keeps numbers and lists.
    alone = _ALONE.fullmatch(source)
    return _JINJA.compile_expression(alone[1], undefined_to_none=False) if alone else _JINJA.from_string(source).render
