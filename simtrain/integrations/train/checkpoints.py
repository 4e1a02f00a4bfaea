"""Checkpoints that are whole, and the curve of a training: what a killed trainer leaves, and goes on from."""

import shutil
import time
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import Any

import orjson

from simtrain.files.jsonl import whole_lines
from simtrain.integrations.train.watching import TrainingWatch
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject

CURVE = "curve.jsonl"
"""The file that holds the curve of a training."""

_WHOLE = "whole"
"""The file that marks a checkpoint as completely written: transformers writes its parts one after the other, under the final name."""


def last_checkpoint(folder: Path) -> Path | None:
    """Return the last whole checkpoint in a folder; torn ones are removed."""
    found = list[Path]()
    for path in folder.glob("checkpoint-*"):
        if (path / _WHOLE).is_file():
            found.append(path)
        else:
            shutil.rmtree(path, ignore_errors=True)
    return max(found, key=_step_of, default=None)


def _step_of(checkpoint: Path) -> int:
    return int(checkpoint.name.rpartition("-")[2])


class Curve:
    """The lines of curve.jsonl: a JSON object for each update, with `step`, `loss`, `learning_rate`, `cpu_seconds`, and others."""

    def __init__(self, path: Path, checkpoint: Path | None) -> None:
        """Open a curve; lines after the checkpoint that training goes on from are dropped."""
        last = _step_of(checkpoint) if checkpoint else 0
        kept = [line for line in read_curve(path) if line["step"] <= last]
        path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in kept))
        self._path = path
        self._before: float = kept[-1]["cpu_seconds"] if kept else 0.0
        self._begun = time.process_time()

    def add(self, step: int, values: JsonObject) -> None:
        """Append the line of an update."""
        spent = self._before + time.process_time() - self._begun
        line = {"step": step, **values, "cpu_seconds": round(spent, 1)}
        with self._path.open("ab") as file:
            file.write(orjson.dumps(line) + b"\n")


def read_curve(path: Path) -> list[JsonObject]:
    """Return the lines of a curve; none where there is no file."""
    return [orjson.loads(line) for _, line in whole_lines(path)] if path.is_file() else []


_KEPT = (
    "loss",
    "learning_rate",
    "grad_norm",
    "mean_token_accuracy",
    "num_tokens",
    "reward",
    "reward_std",
    "kl",
    "frac_reward_zero_std",
    "completions/mean_length",
)


def watched(curve: Curve, watch: TrainingWatch) -> Any:
    """Return the callback of a trainer that writes the curve, shows progress, marks whole checkpoints, and stops at a loss of NaN."""
    transformers: Any = import_module("transformers")

    def log(state: Any, logs: dict[str, float]) -> None:
        loss = logs.get("loss")
        if loss is None:
            return
        if not isfinite(loss):
            raise InputError(
                f"the loss of update {state.global_step} is {loss}",
                remedy="lower learning_rate, or use precision: fp32",
            )
        curve.add(state.global_step, {name: logs[name] for name in _KEPT if name in logs})
        watch.step(state.global_step, f"loss {loss:.3f}")

    class Watched(transformers.TrainerCallback):
        """Follows a trainer; transformers wants a class."""

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            watch.begin("training", state.max_steps)

        def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float], **_: Any) -> None:
            log(state, logs)

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            (Path(args.output_dir) / f"checkpoint-{state.global_step}" / _WHOLE).touch()

    return Watched()
