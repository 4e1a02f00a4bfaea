"""Token ids as they were sampled: rows for trainers that take no text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from simtrain.contracts.exporter import Exporter
from simtrain.contracts.trajectory import Trajectory, Turn
from simtrain.values.tokens import Tokens
from simtrain.values.types import JsonObject


class TokenRows(Exporter):
    """Rows of `prompt_ids`, `completion_ids`, `mask`, `logprobs` and `reward`, from episodes played with token ids recorded.

    The mask is 1 for ids that the model sampled and 0 for those that it read in between, where the logprob is 0.0. A
    server may have read an earlier turn under other ids than it had sampled: there the episode is split, and `part`
    counts the rows from 0 of `parts`. Ids are never made from text.
    """

    def lacking(self, trajectory: Trajectory) -> str | None:
        turns = [turn for turn in trajectory.turns if turn.text or turn.steps]
        if not turns or any(turn.tokens is None for turn in turns):
            return "without token ids (play with token_ids, or through capture-tokens)"
        blind = any(not tokens.continues and not tokens.prompt_ids for tokens in _known(turns))
        return "in which the ids of a prompt are unknown" if blind else None

    def rows(self, trajectory: Trajectory) -> Iterator[JsonObject]:
        """Yield one row for each stretch of turns in which ids only grew."""
        if self.lacking(trajectory):
            return
        parts = _parts(trajectory.turns)
        for place, stretch in enumerate(parts):
            yield _row(stretch) | {"reward": trajectory.reward, "part": place, "parts": len(parts)}


def _known(turns: Iterable[Turn]) -> list[Tokens]:
    return [turn.tokens for turn in turns if turn.tokens is not None]


def _parts(turns: Iterable[Turn]) -> list[list[Tokens]]:
    """Return the ids of the turns, in stretches in which each continues what was before."""
    parts: list[list[Tokens]] = []
    for tokens in _known(turns):
        if not parts or not tokens.continues:
            parts.append([])
        parts[-1].append(tokens)
    return parts


def _row(stretch: list[Tokens]) -> JsonObject:
    first, *later = stretch
    ids, mask, logprobs = list(first.completion_ids), [1] * len(first.completion_ids), list(first.logprobs)
    for tokens in later:
        ids += [*tokens.prompt_ids, *tokens.completion_ids]
        mask += [0] * len(tokens.prompt_ids) + [1] * len(tokens.completion_ids)
        logprobs += [*([0.0] * len(tokens.prompt_ids)), *tokens.logprobs]
    return {
        "prompt_ids": list(first.prompt_ids),
        "completion_ids": ids,
        "mask": mask,
        "logprobs": logprobs if all(tokens.logprobs for tokens in stretch) else None,
    }
