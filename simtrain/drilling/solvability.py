"""What is known of whether a pair of case and arm can be solved: labels in the run folder, written by whoever proved them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias, cast

import orjson

from simtrain.errors import InputError
from simtrain.lines import whole_lines
from simtrain.types import JsonObject

LABELS_FILE = "solvability.jsonl"

Pair: TypeAlias = tuple[str, str, str]
"""Scenario, arm, episode."""


class Solvability(StrEnum):
    """What a checker found of one pair.

    `unsolvable`: no path to success is left, so that abstention is what scores. `unproved`: a path was searched for and not
    found. `unnoticeable`: there is a path, but nothing tells an agent that it has to leave the plain one.
    """

    proved = "proved"
    unproved = "unproved"
    unsolvable = "unsolvable"
    unnoticeable = "unnoticeable"


def read_labels(run: Path) -> Mapping[Pair, Solvability]:
    """The labels in a run folder, a line each: scenario, arm, episode, label. Empty where none were written. Raises InputError."""
    file = run / LABELS_FILE
    if not file.is_file():
        return {}
    labels: dict[Pair, Solvability] = {}
    for number, line in whole_lines(file):
        try:
            row = cast(JsonObject, orjson.loads(line))
            labels[str(row["scenario"]), str(row["arm"]), str(row["episode"])] = Solvability(row["label"])
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            raise InputError("no label of a pair", remedy="remove the line", file=file, line=number) from None
    return labels
