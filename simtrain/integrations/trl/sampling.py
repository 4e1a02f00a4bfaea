"""Sample from a trainer's model, a batch at a time, with the log probability of every token as it was sampled."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Sampled:
    """A sampled message: token ids, their log probabilities (natural logarithm), and whether it was cut off before its end."""

    ids: list[int]
    logprobs: list[float]
    cut: bool


Sampling: TypeAlias = Callable[[Any, Sequence[list[int]], int], list[Sampled]]
"""Continues each of several token sequences by at most the given number of tokens, with the model of a trainer."""


def sample(trainer: Any, prompts: Sequence[list[int]], most: int) -> list[Sampled]:
    """Sample as a GRPOTrainer does by itself: with its vLLM if it has one, else with `generate` of transformers."""
    if trainer.use_vllm:
        completions, logprobs = trainer._generate_single_turn(list(prompts), None, {}, 1)
        found = zip(completions, logprobs, strict=True)
    else:
        found = _generate(trainer, prompts, most)
    return [_within(ids, logprobs, most, trainer) for ids, logprobs in found]


def _within(ids: Sequence[int], logprobs: Sequence[float], most: int, trainer: Any) -> Sampled:
    """Return the sampled tokens up to the first end of turn, at most `most` of them."""
    ends = [place for place, token in enumerate(ids) if token in trainer.eos_token_ids]
    length = min(ends[0] + 1 if ends else len(ids), most)
    return Sampled(list(ids[:length]), list(logprobs[:length]), cut=not ends or ends[0] >= most)


def _generate(trainer: Any, prompts: Sequence[list[int]], most: int) -> list[tuple[list[int], list[float]]]:
    """Return ids and log probabilities; generation goes on until the last sequence of the batch has ended."""
    torch: Any = import_module("torch")
    models: Any = import_module("trl.models")
    pad: Any = import_module("trl.trainer.utils").pad
    padding, device = trainer.processing_class.pad_token_id, trainer.accelerator.device
    # Left padding: generation continues from the last position of each row.
    inputs = pad([torch.tensor(ids) for ids in prompts], padding_value=padding, padding_side="left").to(device)
    read = pad([torch.ones(len(ids), dtype=torch.long) for ids in prompts], padding_value=0, padding_side="left")
    # A copy, since the trainer goes on using its own.
    config = copy(trainer.generation_config)
    config.max_new_tokens = most
    watch = _Watch(torch, trainer.temperature)
    unwrapped = models.unwrap_model_for_generation(
        trainer.model_wrapped,
        trainer.accelerator,
        gather_deepspeed3_params=trainer.args.ds3_gather_for_generation,
        generation_kwargs=trainer.generation_kwargs,
        gradient_checkpointing_kwargs=trainer.args.gradient_checkpointing_kwargs,
    )
    with unwrapped as model, torch.no_grad():
        whole = model.generate(
            input_ids=inputs,
            attention_mask=read.to(device),
            generation_config=config,
            logits_processor=[watch],
        )
    written, found = whole[:, inputs.size(1) :].tolist(), watch.logprobs(whole).tolist()
    return list(zip(written, found, strict=True))


class _Watch:
    """A logits processor that records the log probability of every sampled token at the training temperature.

    It sees the logits before temperature and truncation and does not change them. Only one step of logits is in memory at a time.
    """

    def __init__(self, torch: Any, temperature: float) -> None:
        self._torch, self._temperature = torch, temperature
        self._found: list[Any] = []
        self._last: Any = None

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        # The token chosen at the last step is known only now.
        self._note(input_ids)
        self._last = scores.float() / self._temperature
        return scores

    def logprobs(self, sequences: Any) -> Any:
        """Return the log probabilities, (sequences, steps)."""
        self._note(sequences)
        return self._torch.stack(self._found, dim=1)

    def _note(self, input_ids: Any) -> None:
        if self._last is not None:
            likely = self._last.log_softmax(dim=-1)
            self._found.append(likely.gather(1, input_ids[:, -1:]).squeeze(1))
