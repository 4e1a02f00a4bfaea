"""Token ids as they were sampled, for trainers that take ids and not text."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from pydantic import Field

from simtrain.contracts.exporter import Exporter
from simtrain.contracts.plugin import BesidePath
from simtrain.contracts.trajectory import Trajectory, record_name
from simtrain.runs.exporters.captured_tokens import read_capture
from simtrain.values.tokens import Tokens
from simtrain.values.types import JsonObject


class TokenRows(Exporter):
    """Rows of `prompt_ids`, `completion_ids`, `mask`, `logprobs` and `reward`, from episodes whose token ids were recorded.

    They are recorded by the agent `chat` with `token_ids`, or for any agent by `simtrain capture-tokens`. The mask is 1
    for ids that the model sampled and 0 for those that it read in between, where the logprob is 0.0. A server may have
    read an earlier turn under other ids than it had sampled: there the episode is split, and `part` counts the rows from
    0 of `parts`. Ids are never made from text.
    """

    capture: BesidePath | None = Field(None, description="File that `simtrain capture-tokens` has written.")

    def lacking(self, trajectory: Trajectory) -> str | None:
        tokens = self._tokens(trajectory)
        if not tokens and self.capture is not None:
            return (
                f"that no line of {self.capture.name} names (requests name theirs in X-Simtrain-Episode, or as `user`)"
            )
        if not tokens:
            return "without token ids (play with token_ids, or through capture-tokens)"
        blind = any(not one.continues and not one.prompt_ids for one in tokens)
        return "in which the ids of a prompt are unknown" if blind else None

    def rows(self, trajectory: Trajectory) -> Iterator[JsonObject]:
        """Yield one row for each series of turns that only append ids. Raises InputError for a capture that cannot be read."""
        if self.lacking(trajectory):
            return
        parts = _parts(self._tokens(trajectory))
        for place, stretch in enumerate(parts):
            yield _row(stretch) | {"reward": trajectory.reward, "part": place, "parts": len(parts)}

    def _tokens(self, trajectory: Trajectory) -> Sequence[Tokens]:
        """Return the tokens of an episode's turns; empty if any turn lacks them."""
        if self.capture is not None:
            return self._captured.get(record_name(trajectory.key), ())
        turns = [turn for turn in trajectory.turns if turn.text or turn.steps]
        known = [turn.tokens for turn in turns if turn.tokens is not None]
        # A gap cannot be filled: ids that are made from text may differ from those that were sampled.
        return known if len(known) == len(turns) else ()

    @cached_property
    def _captured(self) -> dict[str, list[Tokens]]:
        return {} if self.capture is None else read_capture(self.capture)


def _parts(turns: Iterable[Tokens]) -> list[list[Tokens]]:
    """Return the ids of turns in series; within one, each turn continues the ids before it."""
    parts: list[list[Tokens]] = []
    for tokens in turns:
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
        # An empty list stands for a server that gave none.
        "logprobs": logprobs if all(tokens.logprobs for tokens in stretch) else None,
    }
