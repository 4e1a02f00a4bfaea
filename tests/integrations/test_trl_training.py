"""TRL's trainers over a real scenario, with a tiny model: what the installed version hands over, and that it learns from it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import tiny_model
from gate import GATE
from pages import blocks
from training import QUIET, Taught, changed, need_trainers, weights

from simtrain import Sessions
from simtrain.integrations.train.slot_sampling import SlotSampling
from simtrain.integrations.trl import Rollouts, Sampled, environment_factory, episode_reward, task_dataset
from simtrain.integrations.trl.sampling import sample
from simtrain.values.errors import InputError

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def _trainers() -> None:
    need_trainers()


@dataclass
class Seen:
    """What a trainer handed to the reward function, and what came of the training."""

    completions: list[Any] = field(default_factory=list)
    ids: list[list[list[int]]] = field(default_factory=list)
    rewards: list[list[float | None]] = field(default_factory=list)
    columns: list[dict[str, Any]] = field(default_factory=list)
    log: list[dict[str, Any]] = field(default_factory=list)
    changed: int = 0
    parameters: int = 0

    def reward(self, completions: Any, completion_ids: Any, **columns: Any) -> list[float | None]:
        rewards = episode_reward(completions, completion_ids=completion_ids, **columns)
        self.completions.append(json.loads(json.dumps(completions)))
        self.ids.append([list(ids) for ids in completion_ids])
        self.rewards.append(rewards)
        self.columns.append(columns)
        return rewards


def train(taught: Taught, folder: Path, *, rows: Any = None, words: Any = None, **how: Any) -> Seen:
    """Two steps of GRPO, eight rollouts each: two tasks, four of each."""
    import trl

    seen, model = Seen(), taught.model()
    args = trl.GRPOConfig(
        str(folder), max_steps=2, per_device_train_batch_size=8, num_generations=4, learning_rate=5e-5,
        max_completion_length=200, temperature=0.7, **QUIET,
    )  # fmt: skip
    before = weights(model)
    trainer = trl.GRPOTrainer(
        model,
        reward_funcs=seen.reward,
        args=args,
        train_dataset=task_dataset(GATE, world_seeds=[5]) if rows is None else rows,
        processing_class=words or taught.tokenizer,
        **how,
    )
    trainer.train()
    seen.changed, seen.parameters = changed(before, weights(model)), len(before)
    seen.log = [line for line in trainer.state.log_history if "loss" in line]
    return seen


def test_sft_on_right_and_wrong_plans_teaches_to_look_and_to_guess(taught: Taught) -> None:
    losses = [line["loss"] for line in taught.log if "loss" in line]
    assert losses[-1] < 0.1 < 1 < losses[0]


def test_grpo_over_an_environment_learns_from_real_rewards_after_sft_taught_the_model_to_call(
    taught: Taught, tmp_path: Path
) -> None:
    seen = train(taught, tmp_path, environment_factory=environment_factory(GATE))
    assert [line["step"] for line in seen.log] == [1, 2]
    assert all(line["tools/call_frequency"] > 0.5 and line["tools/failure_frequency"] == 0 for line in seen.log)
    rewards = [reward for batch in seen.rewards for reward in batch]
    assert set(rewards) == {0.0, 1.0} and any(line["reward_std"] > 0 for line in seen.log)
    assert all(line["loss"] != 0 and math.isfinite(line["loss"]) for line in seen.log)
    assert seen.changed == seen.parameters
    for completion, reward in zip(seen.completions[0], seen.rewards[0], strict=True):
        assert [message["role"] for message in completion] == ["assistant", "tool", "assistant"]
        assert (
            json.loads(completion[1]["content"])["name"]
            == completion[0]["tool_calls"][0]["function"]["arguments"]["name"]
        )
        assert reward in (0.0, 1.0)
    assert len(seen.columns[0]["environments"]) == 8


def test_concurrent_rollouts_are_those_of_trls_own_loop_token_by_token(taught: Taught, tmp_path: Path) -> None:
    one = train(taught, tmp_path / "a", environment_factory=environment_factory(GATE))
    other = train(taught, tmp_path / "b", rollout_func=Rollouts())
    assert other.ids[0] == one.ids[0], "the same seed draws the same tokens, and replies are written as TRL writes them"
    assert other.rewards[0] == one.rewards[0]
    assert other.log[0]["loss"] == pytest.approx(one.log[0]["loss"], abs=1e-6)
    assert other.changed == other.parameters and other.log[1]["loss"] != 0


@pytest.mark.parametrize("sampling", [sample, SlotSampling(slots=5, context=2048).sample], ids=["generate", "slots"])
def test_prompts_come_repeated_and_what_was_sampled_stays_as_it_was(
    taught: Taught, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sampling: Any
) -> None:
    first = FirstBatch(sampling=sampling)
    batches: list[int] = []
    calls = Sessions.calls
    monkeypatch.setattr(Sessions, "calls", lambda self, batch: batches.append(len(batch)) or calls(self, batch))
    train(taught, tmp_path, rollout_func=first)
    texts = [prompt[-1]["content"] for prompt in first.prompts]
    assert texts == [texts[0]] * 4 + [texts[4]] * 4 and texts[0] != texts[4], "each prompt comes num_generations times"
    assert batches[0] == 8, "the calls of all rollouts are carried out together"
    assert set(first.out) == {"prompt_ids", "completion_ids", "logprobs", "env_mask", "rollout_reward"}
    columns = [first.out[name] for name in ("completion_ids", "env_mask", "logprobs")]
    segments = [segment for ids, mask, _ in zip(*columns, strict=True) for segment in runs(ids, mask, 1)]
    assert sorted(segments) == sorted(first.sampled), "no token was made of text again"
    for ids, mask, logprobs in zip(*columns, strict=True):
        assert len(ids) == len(mask) == len(logprobs)
        assert all(logprob == 0 for logprob, own in zip(logprobs, mask, strict=True) if not own)
        for reply in runs(ids, mask, 0):
            read = taught.tokenizer.decode(reply)
            assert read.startswith("\n<|im_start|>user\n<tool_response>\n") and read.endswith("<|im_start|>assistant\n")
    for number, scored in enumerate(first.scored):
        own = [at for at, mark in enumerate(columns[1][number]) if mark]
        assert [columns[2][number][at] for at in own] == pytest.approx([scored[at] for at in own], abs=1e-4)


def test_a_compact_listing_is_in_the_prompt_alone(taught: Taught, tmp_path: Path) -> None:
    first = FirstBatch(listing="compact")
    train(taught, tmp_path, rollout_func=first)
    prompt = taught.tokenizer.decode(first.out["prompt_ids"][0])
    assert "gates_look(name: string) - Look at a gate." in prompt and '"parameters"' not in prompt


@dataclass
class FirstBatch:
    """A rollout_func that keeps what it was given at first, what was sampled, and how the model scores it in one plain pass."""

    listing: Any = "full"
    sampling: Any = sample
    prompts: list[Any] = field(default_factory=list)
    sampled: list[list[int]] = field(default_factory=list)
    scored: list[list[float]] = field(default_factory=list)
    out: dict[str, Any] = field(default_factory=dict)

    def __call__(self, prompts: Any, trainer: Any) -> Any:
        if self.out:
            return Rollouts(listing=self.listing)(prompts, trainer)

        def watched(trainer: Any, sequences: Any, most: int) -> list[Sampled]:
            found = self.sampling(trainer, sequences, most)
            self.sampled += [one.ids for one in found]
            return found

        self.prompts = prompts
        self.out = Rollouts(listing=self.listing, sampling=watched)(prompts, trainer)
        self.scored = [
            scores(trainer, *ids) for ids in zip(self.out["prompt_ids"], self.out["completion_ids"], strict=True)
        ]
        return self.out


def scores(trainer: Any, prompt: list[int], completion: list[int]) -> list[float]:
    """The log probability of every token of a completion, at the temperature of training."""
    import torch

    ids = torch.tensor([[*prompt, *completion]])
    with torch.no_grad():
        likely = (trainer.model(input_ids=ids).logits[0].float() / trainer.temperature).log_softmax(-1)
    return likely[torch.arange(len(prompt) - 1, ids.size(1) - 1), ids[0, len(prompt) :]].tolist()


def runs(ids: list[int], mask: list[int], mark: int) -> list[list[int]]:
    """The longest stretches of a mask's value."""
    return [
        [token for token, _ in group]
        for own, group in groupby(zip(ids, mask, strict=True), key=lambda pair: pair[1])
        if own == mark
    ]


def test_a_prompt_of_no_task_is_one_line(taught: Taught, tmp_path: Path) -> None:
    import datasets

    rows = datasets.Dataset.from_list([{"prompt": [{"role": "user", "content": "Is gate G1 open?"}]}] * 2)
    with pytest.raises(InputError, match=r"^the prompt names no task; make the dataset with task_dataset$"):
        train(taught, tmp_path, rows=rows, rollout_func=Rollouts())


@pytest.mark.parametrize(
    ("template", "problem"), [(None, "the tokenizer has no chat template"), ("phi3_5", "drops the tools")]
)
def test_a_template_that_drops_tools_is_one_line(
    taught: Taught, tmp_path: Path, template: str | None, problem: str
) -> None:
    words = taught.tokenizer
    words.chat_template = template and (tiny_model.folder() / f"{template}.jinja").read_text()
    with pytest.raises(InputError, match=problem) as told:
        train(taught, tmp_path, rollout_func=Rollouts(), words=words)
    assert "\n" not in str(told.value)


def test_a_tokenizer_that_loses_characters_is_one_line(taught: Taught, tmp_path: Path) -> None:
    import tokenizers

    words = taught.tokenizer
    words.backend_tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    with pytest.raises(
        InputError, match=r"^the tokenizer does not give back the prompt; take one that keeps all characters$"
    ):
        train(taught, tmp_path, rollout_func=Rollouts(), words=words)


def test_several_scenarios_train_together_each_with_its_own_tools(taught: Taught, tmp_path: Path) -> None:
    copy = tmp_path / "other.yaml"
    copy.write_text(Path(GATE).read_text().replace("world: gates.yaml", f"world: {Path(GATE).with_name('gates.yaml')}"))
    rows = task_dataset([GATE, str(copy)], world_seeds=[5], cases=1)
    seen = train(taught, tmp_path, rows=rows, environment_factory=environment_factory([GATE, str(copy)]))
    assert {type(one).__name__ for one in seen.columns[0]["environments"]} == {"GateEnvironment"}
    assert len({type(one) for one in seen.columns[0]["environments"]}) == 2
    assert any(reward == 1.0 for batch in seen.rewards for reward in batch)


def test_a_dataset_without_rows_is_one_line() -> None:
    for make in (lambda: task_dataset([]), lambda: task_dataset(GATE, cases=0)):
        with pytest.raises(InputError) as told:
            make()
        assert str(told.value) == "the dataset has no rows; name a scenario, and at least one case and attempt"


def test_tasks_of_other_world_seeds_are_other_tasks() -> None:
    rows = task_dataset(GATE, world_seeds=range(1, 4), cases=2, attempts=2)
    assert rows["world_seed"][:] == [1] * 4 + [2] * 4 + [3] * 4
    assert rows["case"][:4] == [0, 0, 1, 1] and rows["attempt"][:4] == [0, 1, 0, 1]
    assert rows[0]["prompt"][-1]["content"] == "Is gate G1 open?"
    assert rows[0]["prompt"][0] == {"role": "system", "content": "Look, then answer.", "task": None}


def test_the_python_of_the_page_trains(taught: Taught, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = list(blocks("python", page="trl.md"))
    assert len(found) == 3
    # The page's model and scenario for those of the tests; on a CPU, without a log that is uploaded.
    quiet = (
        'num_generations=4, per_device_train_batch_size=4, use_cpu=True, bf16=False, report_to=[], save_strategy="no"'
    )
    monkeypatch.chdir(tmp_path)
    for block in found:
        text = block.text.replace("Qwen/Qwen3-0.6B", str(taught.folder)).replace("helpdesk/refund", GATE)
        text = text.replace("num_generations=4", quiet).replace(
            "assistant_only_loss=True", f"assistant_only_loss=True, {quiet[19:]}"
        )
        names: dict[str, Any] = {}
        exec(compile(text, "trl.md", "exec"), names)
        assert [line["step"] for line in names["trainer"].state.log_history if "train_runtime" in line] == [2]
