"""The type of the fixture `typed` of the tests of the command line."""

from collections.abc import Callable
from typing import TypeAlias

Typed: TypeAlias = Callable[..., tuple[int, str, str]]
"""Carries out a command line: exit code, standard output, standard error."""
