"""Supervised fine-tuning by TRL: rows in, a model out, a checkpoint every so often from which a killed run goes on."""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from simtrain.integrations.train.masked_loss import masked_trainer
from simtrain.integrations.train.models import SavedModel, computes_bf16
from simtrain.integrations.train.recipe import Fit
from simtrain.integrations.train.rows import Row
from simtrain.integrations.train.trained_model import trained_model
from simtrain.integrations.train.watching import TrainingWatch


def fit(
    start: SavedModel, rows: Callable[[Any], Sequence[Row]], out: Path, how: Fit, *, seed: int, watch: TrainingWatch
) -> SavedModel:
    """Return the model after training, in `out`/model; `out`/curve.jsonl holds the loss of every update.

    `rows` gives the rows for a tokenizer; it is called only where training is not finished yet. Goes on from the last whole
    checkpoint in `out`. Raises InputError, also for a full disk.
    """
    trl: Any = import_module("trl")

    def make_trainer(model: Any, tokenizer: Any, checkpoints: Path) -> Any:
        return _trainer(trl)(
            model,
            _config(trl, checkpoints, how, seed),
            train_dataset=_dataset(rows(tokenizer)),
            processing_class=tokenizer,
        )

    return trained_model(start, out, make_trainer, watch=watch)


def _trainer(trl: Any) -> Any:
    torch: Any = import_module("torch")
    return trl.SFTTrainer if torch.cuda.is_available() else masked_trainer()


def _dataset(rows: Sequence[Row]) -> Any:
    datasets: Any = import_module("datasets")
    return datasets.Dataset.from_list([{"input_ids": row.ids, "labels": row.labels} for row in rows])


def _config(trl: Any, out: Path, how: Fit, seed: int) -> Any:
    return trl.SFTConfig(
        str(out),
        num_train_epochs=how.epochs,
        learning_rate=how.learning_rate,
        lr_scheduler_type="constant_with_warmup" if how.schedule == "constant" else how.schedule,
        warmup_steps=how.warmup,
        weight_decay=how.weight_decay,
        per_device_train_batch_size=how.micro_batch,
        gradient_accumulation_steps=how.batch // how.micro_batch,
        gradient_checkpointing=how.gradient_checkpointing,
        save_steps=how.checkpoint_every,
        max_length=None,
        # The rows are tokens already, whose bytes are those of play.
        dataset_kwargs={"skip_prepare_dataset": True},
        **everywhere(how.precision, seed),
    )


def everywhere(precision: str, seed: int) -> dict[str, Any]:
    """Return what the configurations of all trainers have in common."""
    torch: Any = import_module("torch")
    return {
        "bf16": precision == "bf16" and computes_bf16(),
        "use_cpu": not torch.cuda.is_available(),
        "seed": seed,
        "data_seed": seed,
        "logging_steps": 1,
        # It would show the loss before in place of one that is not a number.
        "logging_nan_inf_filter": False,
        "save_strategy": "steps",
        "save_total_limit": 1,
        "report_to": [],
        "disable_tqdm": True,
        "remove_unused_columns": False,
        "dataloader_pin_memory": torch.cuda.is_available(),
    }
