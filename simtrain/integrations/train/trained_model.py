"""What every method has in common: a trainer that goes on from its last whole checkpoint, and the model that it leaves."""

import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from simtrain.integrations.train.checkpoints import CURVE, Curve, last_checkpoint, watched
from simtrain.integrations.train.models import SavedModel, disk_errors, load, quiet, save
from simtrain.integrations.train.watching import TrainingWatch


def trained_model(
    start: SavedModel, out: Path, make_trainer: Callable[[Any, Any, Path], Any], *, watch: TrainingWatch
) -> SavedModel:
    """Return the model in `out`/model, trained if it is not there yet; `out`/curve.jsonl has a line for every update.

    `make_trainer` gets the model to start from, its tokenizer and the folder for checkpoints. Raises InputError, also for a full disk.
    """
    folder = out / "model"
    if not folder.is_dir():
        _train(start, out, make_trainer, watch, folder)
    return SavedModel(folder, start.gguf)


def _train(
    start: SavedModel, out: Path, make_trainer: Callable[[Any, Any, Path], Any], watch: TrainingWatch, folder: Path
) -> None:
    transformers: Any = import_module("transformers")
    out.mkdir(parents=True, exist_ok=True)
    checkpoints = out / "checkpoints"
    resumed = last_checkpoint(checkpoints)
    model, tokenizer = load(start.source)
    with quiet():
        trainer = make_trainer(model, tokenizer, checkpoints)
        trainer.add_callback(watched(Curve(out / CURVE, resumed), watch))
        # It prints every line of the log.
        trainer.remove_callback(transformers.PrinterCallback)
        with disk_errors(checkpoints):
            trainer.train(resume_from_checkpoint=resumed and str(resumed))
    save(model.float(), tokenizer, folder)
    shutil.rmtree(checkpoints, ignore_errors=True)
