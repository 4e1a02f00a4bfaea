"""What tests with real trainers share: a tiny model that was shown as many wrong answers as right ones, so that rewards differ.

A random model never calls a tool. This one learnt by SFT to look at the gate it is asked about, and to say one state or the other.
Without the trainers the tests skip and say so; where CI is set they fail instead.
"""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import tiny_model
from gate import GATE

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

STEPS = 150


def need_trainers() -> None:
    """Skip, or fail in CI, where the trainers are not installed."""
    if all(find_spec(name) for name in ("torch", "trl", "datasets", "accelerate")):
        return
    reason = "NO TRAINER WAS RUN: the extra `train` is not installed; `make .venv/.train` installs it"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@dataclass(frozen=True)
class Taught:
    """The folder of the model that SFT made, the log of that training, and what it was trained on."""

    folder: Path
    log: list[dict[str, Any]]

    @property
    def tokenizer(self) -> Any:
        import transformers

        return transformers.AutoTokenizer.from_pretrained(self.folder)

    def model(self) -> Any:
        import torch
        import transformers

        return transformers.AutoModelForCausalLM.from_pretrained(self.folder, dtype=torch.float32)


def taught_model(folder: Path) -> Taught:
    """The taught model, made once for all processes of a test run."""
    need_trainers()
    import torch

    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "log.json").exists():
            _teach(folder)
    import json

    return Taught(folder / "model", json.loads((folder / "log.json").read_text()))


def played(folder: Path) -> list[Path]:
    """Run folders of the right and of the wrong plan."""
    from simtrain import load_scenario, run

    runs = [folder / "oracle", folder / "wrong"]
    folder.mkdir(exist_ok=True)
    for out in runs:
        if not out.exists():
            run([load_scenario(GATE)], out.name, out=out)
    return runs


def _teach(folder: Path) -> None:
    import json

    import trl

    from simtrain.integrations.trl import sft_dataset
    from simtrain.runs.export import Selection

    rows = sft_dataset(played(folder), selection=Selection())
    words = tiny_model.tokenizer(shown(rows))
    trainer = trl.SFTTrainer(
        tiny_model.model(words),
        sft_config(folder, max_steps=STEPS, per_device_train_batch_size=8, logging_steps=10),
        train_dataset=rows,
        processing_class=words,
    )
    trainer.train()
    trainer.save_model(str(folder / "model"))
    words.save_pretrained(folder / "model")
    (folder / "log.json").write_text(json.dumps(trainer.state.log_history))


def shown(rows: Any) -> list[str]:
    """Conversations as the chat template writes them, for a tokenizer to learn from."""
    plain = _plain()
    return [plain.apply_chat_template(row["messages"], tools=row["tools"], tokenize=False) for row in rows]


@cache
def _plain() -> Any:
    return tiny_model.tokenizer(["-"])


def sft_config(folder: Path, **more: Any) -> Any:
    import trl

    return trl.SFTConfig(
        str(folder / "sft"), learning_rate=3e-3, warmup_steps=10, lr_scheduler_type="constant_with_warmup",
        **{"assistant_only_loss": True, **QUIET, **more},
    )  # fmt: skip


QUIET: dict[str, Any] = {
    "report_to": [],
    "logging_steps": 1,
    "save_strategy": "no",
    "use_cpu": True,
    "bf16": False,
    "disable_tqdm": True,
    "gradient_checkpointing": False,
    "seed": 0,
}


def weights(model: Any) -> dict[str, Any]:
    """A copy of a model's parameters."""
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def changed(before: dict[str, Any], after: dict[str, Any]) -> int:
    """How many parameters differ."""
    import torch

    return sum(not torch.equal(before[name], after[name]) for name in before)
