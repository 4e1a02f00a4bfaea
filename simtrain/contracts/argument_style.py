"""The contract of argument styles: how a server checks the arguments of a call, and how it words what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from simtrain.values.types import JsonObject


@dataclass(frozen=True, slots=True)
class CheckedArguments:
    """Arguments after the check: as the tool sees them (a style may coerce, strip or fill in), or what is wrong with them."""

    arguments: JsonObject
    problem: str | None = None


Check: TypeAlias = Callable[[JsonObject], CheckedArguments]
"""Checks the arguments of one tool."""

ArgumentStyle: TypeAlias = Callable[[str, JsonObject], Check]
"""Compiles the check of one tool from its name and its input schema. Raises ValueError for an invalid JSON Schema."""
