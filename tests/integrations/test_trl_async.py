"""TRL's async trainer over a real scenario: rollouts in a process of their own, tokens and log probabilities from a server.

The server is ours, and samples from the tiny model. Where the trainer needs a GPU, plain torch or a file does the same work: the
attention kernel, and the transport of weights between the client's calls.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from gate import GATE
from training import QUIET, Taught, changed, need_trainers, weights
from vllm_server import PlainAttention, SmallServer, WeightsByFile, serving

from simtrain.integrations.trl import environment_factory, episode_reward, task_dataset

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]

SYNC = ["/pause", "/start_weight_update", "/update_weights", "/finish_weight_update", "/resume"]


@pytest.fixture(autouse=True)
def _without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    need_trainers()
    from trl.experimental.async_grpo import async_grpo_trainer, async_rollout_worker, packing

    monkeypatch.setattr(packing, "_flash_attn", PlainAttention)
    monkeypatch.setattr(async_rollout_worker, "is_vllm_available", lambda: True)
    monkeypatch.setattr(async_grpo_trainer, "get_peak_flops_per_device", lambda *_: None)


def trainer_over(server: SmallServer, taught: Taught, folder: Path) -> Any:
    from trl.experimental.async_grpo import AsyncGRPOConfig, AsyncGRPOTrainer
    from trl.experimental.async_grpo.vllm_client import VLLMClient

    args = AsyncGRPOConfig(
        str(folder), max_steps=2, per_device_train_batch_size=8, num_generations=8, learning_rate=5e-5, temperature=0.7,
        max_completion_length=100, token_budget=-1, max_inflight_tasks=8, vllm_server_base_url=server.url, **QUIET,
    )  # fmt: skip
    return AsyncGRPOTrainer(
        str(taught.folder),
        reward_funcs=episode_reward,
        args=args,
        train_dataset=task_dataset(GATE, world_seeds=[5]),
        processing_class=taught.tokenizer,
        environment_factory=environment_factory(GATE),
        weight_transfer=WeightsByFile(VLLMClient(server.url), folder),
    )


def test_the_async_trainer_learns_in_two_steps_from_what_a_server_sampled(taught: Taught, tmp_path: Path) -> None:
    with serving(taught.model(), taught.tokenizer.eos_token_id) as server:
        trainer = trainer_over(server, taught, tmp_path)
        before = weights(trainer.model)
        trainer.train()
        after = weights(trainer.model)
        assert changed(weights(server.model), after) == 0, "the server samples from the weights that were sent last"
    log = [line for line in trainer.state.log_history if "loss" in line]
    assert [line["step"] for line in log] == [1, 2] and changed(before, after) == len(before)
    assert all(math.isfinite(line["loss"]) for line in log)
    # The trainer draws the seeds of its requests at random: that eight rollouts all earn the same is rare, but happens.
    assert any(line["loss"] != 0 and line["reward_std"] > 0 for line in log)
    # Before the first update the trainer scores every token as the server that sampled it.
    assert abs(log[0]["ratio"] - 1) < 1e-4 and abs(log[0]["kl"]) < 1e-5
    assert log[0]["tools/call_frequency"] > 0.5 and log[0]["rewards/episode_reward"] == log[0]["reward"]
    assert {0 <= line["reward"] <= 1 for line in log} == {True}
    controls = [path for path in server.called if path != "/v1/completions"]
    assert controls == ["/health", "/server_info", "/get_world_size", "/init_weight_transfer_engine", *SYNC * 3]
    assert len(server.prompts) >= 16, "of a group of eight, most have two turns"
