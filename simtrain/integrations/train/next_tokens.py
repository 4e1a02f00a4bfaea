"""The next token of many texts at once, each sampled as it asks for."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol


class SamplingKnobs(Protocol):
    """How a text is sampled: the likeliest token at a temperature of 0, else by chance, with a random generator of its own or none."""

    temperature: float
    top_p: float
    random: Any


def sampled(texts: Sequence[SamplingKnobs], logits: Any) -> list[tuple[int, float]]:
    """Return a token for each row of logits, and its log probability at the temperature that it was sampled with (1 for the likeliest)."""
    torch: Any = import_module("torch")
    with torch.inference_mode():
        heat = torch.tensor([text.temperature if text.temperature > 0 else 1.0 for text in texts])
        logprobs = (logits / heat.to(logits.device)[:, None]).log_softmax(-1)
        scores = logprobs
        if any(text.temperature > 0 for text in texts):
            scores = _by_chance(torch, texts, logprobs)
        tokens = scores.argmax(-1)
        found = logprobs.gather(1, tokens[:, None])[:, 0]
    return list(zip(tokens.tolist(), found.tolist(), strict=True))


def _by_chance(torch: Any, texts: Sequence[SamplingKnobs], logprobs: Any) -> Any:
    """Return scores of which the largest is a sample of each row's chances: exponential variables race, each as fast as it is likely."""
    # Ones leave the likeliest where it is.
    waits = torch.ones_like(logprobs)
    if all(text.temperature > 0 and text.random is None for text in texts):
        waits.exponential_()
    else:
        for row, text in enumerate(texts):
            if text.temperature > 0:
                waits[row].exponential_(generator=text.random)
    # Random numbers have 24 bits, so that one of many millions is a nought, by which any token would win.
    waits.clamp_(min=2**-25)
    kept = logprobs
    if any(text.top_p < 1 for text in texts):
        kept = _likely(torch, logprobs, torch.tensor([text.top_p for text in texts], device=logprobs.device))
    return kept - waits.log()


def _likely(torch: Any, logprobs: Any, top: Any) -> Any:
    """Return the log probabilities of the likeliest tokens, up to the one with which their sum reaches `top`; -inf for others."""
    ordered, order = logprobs.sort(descending=True)
    chances = ordered.exp()
    late = chances.cumsum(-1) - chances >= top[:, None]
    return torch.empty_like(logprobs).scatter_(1, order, ordered.masked_fill(late, -torch.inf))
