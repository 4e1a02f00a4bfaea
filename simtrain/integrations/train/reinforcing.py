"""GRPO by TRL: the model plays episodes of a recipe, and each update moves it towards those that earned more than others of their task."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from simtrain.contracts.scenario import Episode, Scenario
from simtrain.integrations.train.fitting import everywhere
from simtrain.integrations.train.models import SavedModel
from simtrain.integrations.train.playing import scenarios_of
from simtrain.integrations.train.recipe import ChatSpec, Grpo, Reinforce
from simtrain.integrations.train.slot_sampling import SlotSampling
from simtrain.integrations.train.trained_model import trained_model
from simtrain.integrations.train.watching import TrainingWatch
from simtrain.integrations.trl.rewards import episode_reward
from simtrain.integrations.trl.rollouts import Rollouts
from simtrain.integrations.trl.sampling import Sampling, sample
from simtrain.integrations.trl.tasks import Row, task_prompt
from simtrain.llm.chat_template import ChatTemplate
from simtrain.runs.schedule import Deal, grown
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject


def reinforce(
    start: SavedModel, stage: Grpo, worlds: Sequence[int], out: Path, *, chat: ChatSpec, seed: int, watch: TrainingWatch
) -> SavedModel:
    """Return the model after GRPO, in `out`/model; `out`/curve.jsonl holds reward and loss of every update.

    Goes on from the last whole checkpoint in `out`. Raises InputError, also for a full disk.
    """
    trl: Any = import_module("trl")
    tasks = _Tasks(scenarios_of(stage.data), worlds, seed)
    sampling = _sampling(stage.with_)

    def make_trainer(model: Any, tokenizer: Any, checkpoints: Path) -> Any:
        tokenizer.chat_template = ChatTemplate.load(chat.template).source
        return trl.GRPOTrainer(
            model,
            reward_funcs=episode_reward,
            args=_config(trl, checkpoints, stage, seed),
            train_dataset=tasks.dataset(),
            processing_class=tokenizer,
            rollout_func=Rollouts(
                listing=chat.listing, sampling=sampling, max_tokens=chat.max_tokens, find=tasks.episode
            ),
        )

    return trained_model(start, out, make_trainer, watch=watch)


def _sampling(how: Reinforce) -> Sampling:
    if how.sampler == "slots":
        return SlotSampling(slots=how.prompts * how.samples, context=how.context).sample
    return sample


class _Tasks:
    """The episodes that a dataset's rows stand for, by their place in the deal."""

    def __init__(self, scenarios: Sequence[Scenario], worlds: Sequence[int], seed: int) -> None:
        self._deal: Deal = Deal(grown(scenarios, tuple(worlds)), seed=seed, total=None, attempts=1)

    def dataset(self) -> Any:
        datasets: Any = import_module("datasets")
        rows = [self._row(place, episode) for place, episode in enumerate(self._deal)]
        return datasets.Dataset.from_list(rows)

    def _row(self, place: int, episode: Episode) -> JsonObject:
        return {"prompt": task_prompt(episode, {"place": place}), "place": place}

    def episode(self, row: Row) -> Episode:
        """Return the episode of a row. Raises InputError for a row of another dataset."""
        place = row.get("place")
        if not isinstance(place, int) or not 0 <= place < len(self._deal):
            raise InputError(f"there is no task {place}")
        return self._deal[place]


def _config(trl: Any, out: Path, stage: Grpo, seed: int) -> Any:
    how = stage.with_
    rollouts = how.prompts * how.samples
    return trl.GRPOConfig(
        str(out),
        max_steps=how.steps,
        learning_rate=how.learning_rate,
        lr_scheduler_type="constant",
        per_device_train_batch_size=how.micro_batch,
        gradient_accumulation_steps=rollouts // how.micro_batch,
        generation_batch_size=rollouts,
        num_generations=how.samples,
        max_completion_length=how.longest,
        temperature=how.temperature,
        beta=how.beta,
        use_vllm=how.sampler == "vllm",
        **({"vllm_mode": "colocate"} if how.sampler == "vllm" else {}),
        save_steps=how.checkpoint_every,
        **everywhere(how.precision, seed),
    )
