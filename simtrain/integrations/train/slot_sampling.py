"""Sample from a trainer's model in slots: its turns of an episode keep what they have read, and all episodes take a step together."""

from collections.abc import Sequence
from copy import deepcopy
from importlib import import_module
from typing import Any

from simtrain.integrations.train.slot_engine import Generation, SlotEngine
from simtrain.integrations.trl.sampling import Sampled


class SlotSampling:
    """A sampler for `Rollouts`: `slots` episodes at once, on a copy of the trainer's weights that every update renews.

    On a GPU the copy is in bfloat16, as the trainer computes with `bf16`.
    """

    def __init__(self, *, slots: int, context: int) -> None:
        """Wait for the trainer: the copy is made at the first call."""
        self._slots = slots
        self._context = context
        self._engine: SlotEngine | None = None
        self._update = -1

    def sample(self, trainer: Any, prompts: Sequence[list[int]], most: int) -> list[Sampled]:
        """Continue token sequences by at most `most` tokens each."""
        engine = self._current(trainer)
        works = [Generation(prompt, most, temperature=trainer.temperature) for prompt in prompts]
        waiting = list(works)
        while waiting or engine.busy:
            if some := [waiting.pop(0) for _ in range(min(engine.free, len(waiting)))]:
                engine.begin(some)
            engine.step()
        return [Sampled(work.ids, work.logprobs, cut=work.finish != "stop") for work in works]

    def _current(self, trainer: Any) -> SlotEngine:
        torch: Any = import_module("torch")
        model = trainer.accelerator.unwrap_model(trainer.model_wrapped)
        if self._engine is None:
            bf16 = model.device.type == "cuda" and trainer.args.bf16
            # Made anew: trainers wrap what a copy of the model would bring along.
            copied = type(model)(deepcopy(model.config)).to(model.device, torch.bfloat16 if bf16 else model.dtype)
            copied.generation_config = model.generation_config
            self._engine = SlotEngine(
                copied.requires_grad_(False), trainer.processing_class, slots=self._slots, context=self._context
            )
            self._engine.ends = frozenset(trainer.eos_token_ids)
        if self._update != trainer.state.global_step:
            self._engine.model.load_state_dict(model.state_dict())
            self._engine.forget()
            self._update = trainer.state.global_step
        return self._engine
