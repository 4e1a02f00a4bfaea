"""Sampling from the model that a trainer trains, a batch at a time, with the log probability of every token as it was sampled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Sampled:
    """What a model wrote: token ids, their log probabilities (natural logarithm), and whether it was cut off before it ended."""

    ids: list[int]
    logprobs: list[float]
    cut: bool


Sample: TypeAlias = Callable[[Sequence[list[int]], int], list[Sampled]]
"""Continues each of several token sequences by at most so many tokens."""


def trainer_sampler(trainer: Any) -> Sample:
    """Return how a GRPOTrainer samples: from its vLLM where it has one, else by `generate` of transformers."""

    def by_vllm(prompts: Sequence[list[int]], most: int) -> list[Sampled]:
        completions, logprobs = trainer._generate_single_turn(list(prompts), None, {}, 1)
        return [_within(ids, found, most, trainer) for ids, found in zip(completions, logprobs, strict=True)]

    def by_transformers(prompts: Sequence[list[int]], most: int) -> list[Sampled]:
        found = _generate(trainer, prompts, most)
        return [_within(ids, logprobs, most, trainer) for ids, logprobs in found]

    return by_vllm if trainer.use_vllm else by_transformers


def _within(ids: Sequence[int], logprobs: Sequence[float], most: int, trainer: Any) -> Sampled:
    """Return what was sampled up to the first end of turn, and at most so many tokens."""
    ends = [place for place, token in enumerate(ids) if token in trainer.eos_token_ids]
    length = min(ends[0] + 1 if ends else len(ids), most)
    return Sampled(list(ids[:length]), list(logprobs[:length]), cut=not ends or ends[0] >= most)


def _generate(trainer: Any, prompts: Sequence[list[int]], most: int) -> list[tuple[list[int], list[float]]]:
    """Return ids and log probabilities, until the last of the batch has ended; prompts are padded on the left."""
    torch: Any = import_module("torch")
    models: Any = import_module("trl.models")
    pad: Any = import_module("trl.trainer.utils").pad
    padding, device = trainer.processing_class.pad_token_id, trainer.accelerator.device
    inputs = pad([torch.tensor(ids) for ids in prompts], padding_value=padding, padding_side="left").to(device)
    read = pad([torch.ones(len(ids), dtype=torch.long) for ids in prompts], padding_value=0, padding_side="left")
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
    """Notes the log probability of every sampled token at the temperature of training, one step of logits in memory at a time.

    Of `generate` it is a logits processor: it sees the logits before temperature and truncation, and leaves them as they are.
    """

    def __init__(self, torch: Any, temperature: float) -> None:
        self._torch, self._temperature = torch, temperature
        self._found: list[Any] = []
        self._last: Any = None

    def __call__(self, input_ids: Any, scores: Any) -> Any:
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
