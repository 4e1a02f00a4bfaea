"""The token ids of a model's turns, as they were sampled: nothing downstream re-tokenizes the text."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol


@dataclass(frozen=True)
class Tokens:
    """The token ids of one turn, as reported by the model's server.

    `prompt_ids` is the whole prompt; with `continues` only the part after the previous turn, whose ids the prompt began with
    unchanged. `completion_ids` is what the model wrote, end of turn included.
    `logprobs` has the natural logarithm of the probability of each of them, or is empty.
    """

    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    logprobs: tuple[float, ...] = ()
    continues: bool = False


class HasTokens(Protocol):
    """A turn."""

    @property
    def tokens(self) -> Tokens | None: ...


def ids_so_far(turns: Sequence[HasTokens]) -> tuple[int, ...]:
    """Return all ids up to the end of the last turn; empty if unknown."""
    ids: tuple[int, ...] = ()
    for turn in turns:
        found = turn.tokens
        earlier = ids if found is not None and found.continues else ()
        # A turn without ids breaks the chain: later ids cannot be joined to what came before.
        ids = () if found is None else (*earlier, *found.prompt_ids, *found.completion_ids)
    return ids


def behind(tokens: Tokens, turns: Sequence[HasTokens]) -> Tokens:
    """Return the tokens of a turn relative to the turns before it: the prompt is shortened if it begins with all earlier ids."""
    before = ids_so_far(turns)
    if not before or tokens.continues or tokens.prompt_ids[: len(before)] != before:
        return tokens
    return replace(tokens, prompt_ids=tokens.prompt_ids[len(before) :], continues=True)
