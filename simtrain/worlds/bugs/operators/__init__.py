"""The mutation operators: each yields changes of one file that a person could have made by mistake."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from simtrain.worlds.bugs.operators.calls import forgotten_argument, swapped_arguments, wrong_function
from simtrain.worlds.bugs.operators.conditions import (
    dropped_branch,
    dropped_condition,
    wrong_border,
    wrong_condition,
    wrong_flow,
)
from simtrain.worlds.bugs.operators.interfaces import (
    changed_default,
    half_done_interface,
    wrong_attribute,
    wrong_exception,
    wrong_variable,
)
from simtrain.worlds.bugs.operators.numbers import off_by_one, wrong_arithmetic, wrong_number, wrong_unit
from simtrain.worlds.bugs.operators.states import lost_update, shared_state, stale_cache
from simtrain.worlds.bugs.source import SourceFile, Splice

Operator: TypeAlias = Callable[[SourceFile], Iterator[tuple[Splice, ...]]]

OPERATORS: dict[str, Operator] = {
    "off_by_one": off_by_one,
    "wrong_border": wrong_border,
    "wrong_unit": wrong_unit,
    "wrong_number": wrong_number,
    "wrong_arithmetic": wrong_arithmetic,
    "wrong_condition": wrong_condition,
    "dropped_condition": dropped_condition,
    "dropped_branch": dropped_branch,
    "wrong_flow": wrong_flow,
    "swapped_arguments": swapped_arguments,
    "forgotten_argument": forgotten_argument,
    "wrong_function": wrong_function,
    "lost_update": lost_update,
    "stale_cache": stale_cache,
    "shared_state": shared_state,
    "half_done_interface": half_done_interface,
    "changed_default": changed_default,
    "wrong_exception": wrong_exception,
    "wrong_variable": wrong_variable,
    "wrong_attribute": wrong_attribute,
}
"""Name -> operator; `reverted_commit` comes beside them, from the history."""
