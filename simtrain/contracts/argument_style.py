"""The contract of argument styles: how a server validates the arguments of a call, and how it words the errors."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from simtrain.values.types import JsonObject


@dataclass(frozen=True, slots=True)
class CheckedArguments:
    """Validated arguments: as the tool sees them (a style may coerce, strip or fill in), or the error."""

    arguments: JsonObject
    problem: str | None = None


Check: TypeAlias = Callable[[JsonObject], CheckedArguments]
"""Check the arguments of one tool."""

ArgumentStyle: TypeAlias = Callable[[str, JsonObject], Check]
"""Compile the check of one tool from its name and input schema. Raises ValueError for an invalid JSON Schema."""
