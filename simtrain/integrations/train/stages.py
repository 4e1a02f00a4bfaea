"""The methods of training: each takes a model and returns another one, and leaves in its folder what it learnt from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simtrain.contracts.trajectory import Trajectory
from simtrain.files.jsonl import write_whole
from simtrain.integrations.train.dealt_samples import sample_dealt
from simtrain.integrations.train.fitting import fit
from simtrain.integrations.train.models import SavedModel
from simtrain.integrations.train.playing import best_of, demonstrate, play_model
from simtrain.integrations.train.recipe import Demonstrations, Grpo, Recipe, Rejection, Samples, Sft, Stage
from simtrain.integrations.train.reinforcing import reinforce
from simtrain.integrations.train.rows import Row, chosen, rows_facts, rows_of
from simtrain.integrations.train.watching import TrainingWatch
from simtrain.values.errors import InputError

ROWS = "rows.json"
"""The file that says from how many episodes and tokens a model learnt."""


@dataclass(frozen=True)
class Setting:
    """What a stage is given beside its own knobs: the recipe, the seed of the training, and the folder of each set of demonstrations."""

    recipe: Recipe
    seed: int
    demonstrations: Callable[[Demonstrations], Path]
    watch: TrainingWatch

    @property
    def worlds(self) -> list[int]:
        """Return the seeds of the worlds to learn from."""
        return self.recipe.worlds.seeds("train")


def run_stage(stage: Stage, start: SavedModel, out: Path, setting: Setting) -> SavedModel:
    """Return the model after a stage, which works in the folder `out` and goes on where it was broken off. Raises InputError."""
    if isinstance(stage, Sft):
        return _sft(stage, start, out, setting)
    return _rejection(stage, start, out, setting) if isinstance(stage, Rejection) else _grpo(stage, start, out, setting)


def _sft(stage: Sft, start: SavedModel, out: Path, setting: Setting) -> SavedModel:
    def mixed(tokenizer: Any) -> list[Row]:
        found = list[Row]()
        for data in stage.data:
            played = demonstrate(data, setting.worlds, setting.demonstrations(data), watch=setting.watch)
            rows = _rows(played, tokenizer, stage, setting)
            found += rows if data.tokens is None else chosen(rows, tokens=data.tokens, seed=setting.seed)
        return found

    return _fitted(stage, start, out, setting, mixed)


def _rejection(stage: Rejection, start: SavedModel, out: Path, setting: Setting) -> SavedModel:
    model = start
    for number in range(stage.data.rounds):
        folder = out / f"round-{number + 1}"

        def rows(tokenizer: Any, model: SavedModel = model, number: int = number, folder: Path = folder) -> list[Row]:
            played = _sampled(stage.data, model, number, folder, setting)
            kept = best_of(played, most=stage.data.most)
            if not kept:
                raise InputError(
                    f"the model solved none of {len(played)} samples", remedy="begin with demonstrations", file=folder
                )
            return _rows(kept, tokenizer, stage, setting)

        model = _fitted(stage, model, folder, setting, rows)
    return model


def _sampled(data: Samples, model: SavedModel, number: int, folder: Path, setting: Setting) -> list[Trajectory]:
    recipe, out = setting.recipe, folder / "samples"
    if data.curriculum:
        return sample_dealt(
            model,
            data,
            folder.parent,
            out,
            number=number,
            chat=recipe.chat,
            server=recipe.server,
            seed=setting.seed,
            watch=setting.watch,
        )
    # Each round samples in worlds of its own: a model that was fitted to a case samples it over and over alike.
    worlds = setting.worlds[number :: data.rounds]
    if not worlds:
        raise InputError(
            f"{data.rounds} rounds need as many worlds to learn from", remedy="name more seeds under worlds"
        )
    return play_model(
        model,
        data,
        worlds,
        out,
        chat=recipe.chat,
        server=recipe.server,
        temperature=data.temperature,
        seed=setting.seed,
        watch=setting.watch,
        name="samples",
    )


def _rows(played: Sequence[Trajectory], tokenizer: Any, stage: Sft | Rejection, setting: Setting) -> list[Row]:
    return rows_of(played, tokenizer, setting.recipe.chat, longest=stage.with_.longest)


def _fitted(
    stage: Sft | Rejection, start: SavedModel, out: Path, setting: Setting, rows: Callable[[Any], list[Row]]
) -> SavedModel:
    def counted(tokenizer: Any) -> list[Row]:
        found = rows(tokenizer)
        write_whole(out / ROWS, rows_facts(found))
        return found

    return fit(start, counted, out, stage.with_, seed=setting.seed, watch=setting.watch)


def _grpo(stage: Grpo, start: SavedModel, out: Path, setting: Setting) -> SavedModel:
    return reinforce(
        start, stage, setting.worlds, out, chat=setting.recipe.chat, seed=setting.seed, watch=setting.watch
    )
