"""`simtrain train` as a function: what is missing is trained and played, and the report is written beside it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from simtrain.curricula.curriculum_file import Split
from simtrain.files.jsonl import write_whole
from simtrain.integrations.train.comparison import CaseOutcome, outcomes
from simtrain.integrations.train.page import page
from simtrain.integrations.train.recipe import Recipe
from simtrain.integrations.train.report import PlayedModel, TrainingReport
from simtrain.integrations.train.training import Trained, Training
from simtrain.integrations.train.watching import TrainingWatch
from simtrain.values.errors import InputError, nearest
from simtrain.values.extras import require


def train(
    recipe: Recipe,
    out: Path,
    *,
    seeds: Sequence[int] = (),
    arms: Sequence[str] = (),
    split: Split = "validation",
    watch: TrainingWatch = TrainingWatch(),  # noqa: B008  it is frozen
) -> TrainingReport:
    """Train and play what is missing of a recipe in the folder `out`, and return the report, also written as SPLIT.json and SPLIT.html.

    `seeds` and `arms` choose among the recipe's own. Raises InputError for bad input, and where the work cannot go on; what was
    finished stays, and the same call goes on with it.
    """
    require("train", "torch", "transformers", "trl", "datasets")
    chosen = _chosen(recipe, seeds, arms)
    training = Training(chosen, out, watch)
    training.check()
    played: dict[str, list[CaseOutcome]] = {}
    results = [_result(training, trained, split, played) for trained in training.models()]
    report = TrainingReport(chosen, split, results)
    write_whole(out / f"{split}.json", report.data())
    write_whole(out / f"{split}.html", page(report))
    return report


def _result(training: Training, trained: Trained, split: Split, played: dict[str, list[CaseOutcome]]) -> PlayedModel:
    """Return the outcomes of a model; arms may have a model in common, which plays once."""
    if trained.key not in played:
        played[trained.key] = outcomes(training.play(trained, split), seed=trained.seed)
    return PlayedModel(trained, [replace(one, seed=trained.seed) for one in played[trained.key]])


def _chosen(recipe: Recipe, seeds: Sequence[int], arms: Sequence[str]) -> Recipe:
    for seed in seeds:
        if seed not in recipe.seeds:
            raise InputError(
                f"the recipe has no seed {seed}", remedy=f"its seeds are {', '.join(map(str, recipe.seeds))}"
            )
    for arm in arms:
        if arm not in recipe.arms:
            raise InputError(f"the recipe has no arm {arm!r}", remedy=nearest(arm, recipe.arms))
    kept = {name: trial for name, trial in recipe.arms.items() if not arms or name in arms}
    return recipe.model_copy(update={"seeds": list(seeds) or recipe.seeds, "arms": kept})
