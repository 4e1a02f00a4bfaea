"""The methods of training: each takes a model and returns another one, and leaves in its folder what it learnt from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simtrain.contracts.trajectory import Trajectory
from simtrain.files.jsonl import write_whole
from simtrain.integrations.train.fitting import fit
from simtrain.integrations.train.models import SavedModel
from simtrain.integrations.train.playing import best_of, demonstrate, play_model
from simtrain.integrations.train.recipe import Grpo, Recipe, Rejection, Sft, Stage
from simtrain.integrations.train.reinforcing import reinforce
from simtrain.integrations.train.rows import chosen, rows_facts, rows_of
from simtrain.integrations.train.watching import TrainingWatch
from simtrain.values.errors import InputError

ROWS = "rows.json"
"""The file that says from how many episodes and tokens a model learnt."""


@dataclass(frozen=True)
class Setting:
    """What a stage is given beside its own knobs: the recipe, the seed of the training, and the folder for demonstrations."""

    recipe: Recipe
    seed: int
    demonstrations: Path
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
    def learn_from() -> Sequence[Trajectory]:
        return demonstrate(stage.data, setting.worlds, setting.demonstrations, watch=setting.watch)

    return _fitted(stage, start, out, setting, learn_from, tokens=stage.data.tokens)


def _rejection(stage: Rejection, start: SavedModel, out: Path, setting: Setting) -> SavedModel:
    model, rounds = start, stage.data.rounds
    for number in range(rounds):
        folder = out / f"round-{number + 1}"
        # Each round samples in worlds of its own: a model that was fitted to a case samples it over and over alike.
        worlds = setting.worlds[number::rounds]
        if not worlds:
            raise InputError(
                f"{rounds} rounds need as many worlds to learn from", remedy="name more seeds under worlds"
            )

        def learn_from(
            model: SavedModel = model, folder: Path = folder, worlds: list[int] = worlds
        ) -> list[Trajectory]:
            played = play_model(
                model,
                stage.data,
                worlds,
                folder / "samples",
                chat=setting.recipe.chat,
                server=setting.recipe.server,
                temperature=stage.data.temperature,
                seed=setting.seed,
                watch=setting.watch,
                name="samples",
            )
            kept = best_of(played, most=stage.data.most)
            if not kept:
                raise InputError(
                    f"the model solved none of {len(played)} samples", remedy="begin with demonstrations", file=folder
                )
            return kept

        model = _fitted(stage, model, folder, setting, learn_from)
    return model


def _fitted(
    stage: Sft | Rejection,
    start: SavedModel,
    out: Path,
    setting: Setting,
    learn_from: Callable[[], Sequence[Trajectory]],
    *,
    tokens: int | None = None,
) -> SavedModel:
    def rows(tokenizer: Any) -> Any:
        found = rows_of(learn_from(), tokenizer, setting.recipe.chat, longest=stage.with_.longest)
        picked = chosen(found, tokens=tokens, seed=setting.seed)
        write_whole(out / ROWS, rows_facts(picked))
        return picked

    return fit(start, rows, out, stage.with_, seed=setting.seed, watch=setting.watch)


def _grpo(stage: Grpo, start: SavedModel, out: Path, setting: Setting) -> SavedModel:
    return reinforce(
        start, stage, setting.worlds, out, chat=setting.recipe.chat, seed=setting.seed, watch=setting.watch
    )
