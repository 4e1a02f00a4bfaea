"""The next token of many texts at once, each sampled as it asks for."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol


class Wish(Protocol):
    """How a text is sampled: the likeliest token at a temperature of 0, else by chance, with a random generator of its own or none."""

    temperature: float
    top_p: float
    random: Any


def sampled(wishes: Sequence[Wish], logits: Any) -> list[tuple[int, float]]:
    """Return a token for each row of logits, and its log probability at the temperature that it was sampled with (1 for the likeliest)."""
    torch: Any = import_module("torch")
    with torch.inference_mode():
        heat = torch.tensor([wish.temperature if wish.temperature > 0 else 1.0 for wish in wishes])
        logprobs = (logits / heat.to(logits.device)[:, None]).log_softmax(-1)
        scores = logprobs
        if any(wish.temperature > 0 for wish in wishes):
            scores = _by_chance(torch, wishes, logprobs)
        tokens = scores.argmax(-1)
        found = logprobs.gather(1, tokens[:, None])[:, 0]
    return list(zip(tokens.tolist(), found.tolist(), strict=True))


def _by_chance(torch: Any, wishes: Sequence[Wish], logprobs: Any) -> Any:
    """Return scores of which the largest is a sample of each row's chances: exponential variables race, each as fast as it is likely."""
    # Ones leave the likeliest where it is.
    waits = torch.ones_like(logprobs)
    if all(wish.temperature > 0 and wish.random is None for wish in wishes):
        waits.exponential_()
    else:
        for row, wish in enumerate(wishes):
            if wish.temperature > 0:
                waits[row].exponential_(generator=wish.random)
    kept = logprobs
    if any(wish.top_p < 1 for wish in wishes):
        kept = _likely(torch, logprobs, torch.tensor([wish.top_p for wish in wishes], device=logprobs.device))
    return kept - waits.log()


def _likely(torch: Any, logprobs: Any, top: Any) -> Any:
    """Return the log probabilities of the likeliest tokens, up to the one with which their sum reaches `top`; -inf for others."""
    ordered, order = logprobs.sort(descending=True)
    chances = ordered.exp()
    late = chances.cumsum(-1) - chances >= top[:, None]
    return torch.empty_like(logprobs).scatter_(1, order, ordered.masked_fill(late, -torch.inf))
