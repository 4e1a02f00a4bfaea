"""Run folders as datasets of SFT and preference rows, stored so that Arrow does not mix the arguments of different tools."""

from collections.abc import Sequence
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

from simtrain.contracts.exporter import Exporter
from simtrain.runs.export import ExportTally, Selection, build_exporter, export_rows
from simtrain.runs.run_folder import read_run
from simtrain.values.errors import InputError
from simtrain.values.extras import require
from simtrain.values.types import JsonObject


def sft_dataset(
    runs: str | Path | Sequence[str | Path],
    *,
    selection: Selection | None = None,
    completion_only: bool = False,
    knobs: JsonObject | None = None,
) -> Any:
    """Return a `datasets.Dataset` for SFTTrainer of the episodes in run folders: `messages` and `tools`.

    To train only on the agent's text, set `assistant_only_loss=True`. With `completion_only` rows are `prompt` and `completion`, for
    `completion_only_loss`; tool replies are then part of the completion. `selection` chooses episodes (default: those with full reward);
    `knobs` are those of the exporter `trl`. Raises InputError, also if there are no rows.
    """
    form = {"form": "prompt_completion"} if completion_only else {}
    exporter = build_exporter("trl", {**(knobs or {}), **form})
    return _dataset(runs, exporter, selection or Selection(minimum=1.0), leave_out=("mask",))


def preference_dataset(
    runs: str | Path | Sequence[str | Path], *, selection: Selection | None = None, knobs: JsonObject | None = None
) -> Any:
    """Return a `datasets.Dataset` for DPOTrainer, of pairs of episodes in run folders: `prompt`, `chosen`, `rejected` and `tools`.

    `knobs` are those of the exporter `preference`. Raises InputError, also if no two episodes form a pair.
    """
    exporter = build_exporter("preference", {"arguments": "object", **(knobs or {})})
    return _dataset(runs, exporter, selection or Selection(), leave_out=("kind", "rewards"))


def _dataset(
    runs: str | Path | Sequence[str | Path], exporter: Exporter, selection: Selection, *, leave_out: Sequence[str]
) -> Any:
    require("train", "datasets")
    folders = [runs] if isinstance(runs, str | Path) else list(runs)
    tally = ExportTally()
    read = chain.from_iterable(read_run(Path(folder)) for folder in folders)
    rows = [_without(row, leave_out) for row in export_rows(read, exporter, selection, tally=tally)]
    if not rows:
        raise InputError(f"the dataset has {tally.why_none()}", remedy="play more episodes, or select others")
    return json_dataset(rows)


def _without(row: JsonObject, names: Sequence[str]) -> JsonObject:
    return {name: value for name, value in row.items() if name not in names}


def json_dataset(rows: Sequence[JsonObject]) -> Any:
    """Return rows as a dataset in which Arrow treats messages and tools as JSON.

    Raises InputError when rows differ in their columns.
    """
    datasets: Any = import_module("datasets")
    # As structs, Arrow would give every call the union of all argument names, with nulls, or fail on mixed types.
    columns = {name: datasets.List(datasets.Json()) for name in rows[0]}
    return datasets.Dataset.from_list(list(rows), features=datasets.Features(columns))
