"""Episodes as token rows: the text that `chat` plays with, tokenised span by span, with labels for what the model is to write."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from simtrain.contracts.trajectory import Trajectory
from simtrain.integrations.train.recipe import ChatSpec
from simtrain.runs.export import build_exporter
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject

IGNORED = -100
"""The label of tokens that PyTorch's cross entropy leaves out."""


@dataclass(frozen=True)
class Row:
    """One episode: token ids, and for each its label, which is the id itself or IGNORED."""

    scenario: str
    ids: list[int]
    labels: list[int]


def rows_of(trajectories: Sequence[Trajectory], tokenizer: Any, chat: ChatSpec, *, longest: int) -> list[Row]:
    """Return the rows of those episodes that the template carries and that are not too long. Raises InputError where there is none."""
    exporter = build_exporter("rendered", {"chat_template": chat.template, "listing": chat.listing})
    rows = [_row(trajectory, text, tokenizer) for trajectory in trajectories for text in exporter.rows(trajectory)]
    short = [row for row in rows if len(row.ids) <= longest]
    if not short:
        why = f"the shortest has {min(len(row.ids) for row in rows)} tokens" if rows else "the template carries none"
        raise InputError(f"the dataset has no rows: of {len(trajectories)} episodes, {why}", remedy="raise `longest`")
    return short


def _row(trajectory: Trajectory, row: JsonObject, tokenizer: Any) -> Row:
    text: str = row["text"]
    ids, labels, at = list[int](), list[int](), 0
    for start, end in row["spans"]:
        # Each piece by itself, as a server reads a prompt and then samples behind it.
        for piece, written in ((text[at:start], False), (text[start:end], True)):
            found = tokenizer.encode(piece, add_special_tokens=False)
            ids += found
            labels += found if written else [IGNORED] * len(found)
        at = end
    if tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False) != text[:at]:
        raise InputError(
            "the tokenizer does not give back what it was given",
            remedy="take a model whose tokenizer keeps all characters",
        )
    return Row(trajectory.scenario, ids, labels)


def chosen(rows: Sequence[Row], *, tokens: int, seed: int) -> list[Row]:
    """Return a random choice of the rows, up to a number of tokens."""
    order = list(rows)
    Random(seed).shuffle(order)
    found, left = list[Row](), tokens
    for row in order:
        if len(row.ids) <= left:
            found.append(row)
            left -= len(row.ids)
    if not found:
        raise InputError(f"no episode fits into {tokens} tokens", remedy="raise `tokens`")
    return found


def rows_facts(rows: Sequence[Row]) -> JsonObject:
    """Return how many rows and tokens there are, and how many of each family."""
    return {
        "episodes": len(rows),
        "tokens": sum(len(row.ids) for row in rows),
        "trained_tokens": sum(label != IGNORED for row in rows for label in row.labels),
        "families": dict(sorted(Counter(row.scenario for row in rows).items())),
    }
