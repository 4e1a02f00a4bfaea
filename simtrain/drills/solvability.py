"""Label whether a case can be solved in an arm, by proofs from search, in the run folder."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import orjson
from pydantic import TypeAdapter

from simtrain.contracts.scenario import Episode
from simtrain.files.jsonl import LineWriter, whole_lines
from simtrain.runs.solvability.knowing import provable, solution_of
from simtrain.runs.solvability.search import Label
from simtrain.values.errors import InputError

LABELS_FILE = "solvability.jsonl"

Pair: TypeAlias = tuple[str, str, str]
"""Scenario, arm, episode."""


_LABEL = TypeAdapter[Label](Label)


def read_labels(run: Path) -> Mapping[Pair, Label]:
    """Return the labels in a run folder (per line: scenario, arm, episode, label). Empty if none were written. Raises InputError."""
    file = run / LABELS_FILE
    if not file.is_file():
        return {}
    labels: dict[Pair, Label] = {}
    for number, line in whole_lines(file):
        try:
            row = orjson.loads(line)
            labels[str(row["scenario"]), str(row["arm"]), str(row["episode"])] = _LABEL.validate_python(row["label"])
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            raise InputError("no label of a pair", remedy="remove the line", file=file, line=number) from None
    return labels


def prove(episodes: Iterable[Episode], run: Path, *, on_done: Callable[[], None] = lambda: None) -> None:
    """Label every pair that has no label yet, by searching for a path to success in its first attempt. Raises InputError.

    A scenario without a reference plan, or with a language model as world, gets no labels: nothing can be proved about it.
    """
    known = set(read_labels(run))
    with closing(LineWriter(run / LABELS_FILE)) as writer:
        for episode in episodes:
            arm = episode.scenario.arm
            pair = (episode.scenario.name, arm.name if arm else "", episode.id)
            if arm is None or arm.control or pair in known or not provable(episode):
                continue
            # Labels are of a case in an arm: its first attempt stands for the others.
            known.add(pair)
            solution = asyncio.run(solution_of(episode))
            row = {
                "scenario": pair[0],
                "arm": pair[1],
                "episode": pair[2],
                "label": solution.label,
                "reason": solution.reason,
                "trace": solution.trace.facts(episode) if solution.trace else None,
            }
            writer.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
            on_done()
