"""A recipe from beginning to end: every arm and seed trained stage by stage, played on held-out worlds, and reported."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from simtrain.contracts.trajectory import Trajectory
from simtrain.curricula.curriculum_file import Split
from simtrain.files.yaml_files import Place, name_place
from simtrain.integrations.train.models import SavedModel, prepare
from simtrain.integrations.train.playing import check_play, play_model
from simtrain.integrations.train.recipe import Demonstrations, Recipe, Stage
from simtrain.integrations.train.stages import Setting, run_stage
from simtrain.integrations.train.watching import TrainingWatch
from simtrain.llm.chat_template import ChatTemplate
from simtrain.values.errors import InputError
from simtrain.values.types import canonical


@dataclass(frozen=True)
class Trained:
    """A model that a recipe made: its arm, the stage after which it was taken (0: before any), and the seed of its training."""

    arm: str
    stage: int
    method: str
    seed: int
    folder: Path
    model: SavedModel

    @property
    def key(self) -> str:
        """Return its name, made of all that it depends on."""
        return self.folder.name


@dataclass(frozen=True)
class Training:
    """A recipe and the folder that it works in.

    What a part of the work makes lies under a name made of all that it depends on. So a killed run goes on where it was, arms share
    stages that they have in common, and an edited recipe repeats only what the edit concerns.
    """

    recipe: Recipe
    out: Path
    watch: TrainingWatch

    def check(self) -> None:
        """Raise InputError for scenarios, packs, agents or a template that cannot be had, before anything is trained."""
        for place, play in self.recipe.plays():
            with _placed(place):
                check_play(play)
        with _placed(("chat", "template")):
            ChatTemplate.load(self.recipe.chat.template)

    def models(self) -> Iterator[Trained]:
        """Train, and yield every model: the one that an arm starts from, and that after each of its stages. Raises InputError."""
        for arm, trial in self.recipe.trials().items():
            name = trial.model or self.recipe.model
            for seed in self.recipe.seeds:
                # `{seed}` leads to the model of the same seed in the folder of another recipe.
                source = name.replace("{seed}", str(seed))
                folder = self.out / "models" / _key("start", source)
                model = prepare(source, folder / "model")
                yield Trained(arm, 0, "start", seed, folder, model)
                for number, stage in enumerate(trial.stages, 1):
                    folder = self.out / "models" / self._stage_key(stage, folder.name, seed)
                    model = run_stage(stage, model, folder, self._setting(seed))
                    yield Trained(arm, number, stage.method, seed, folder, model)

    def play(self, trained: Trained, split: Split) -> list[Trajectory]:
        """Return the episodes that a model played in the worlds of a split: once, since they are kept. Raises InputError."""
        recipe = self.recipe
        depends = recipe.evaluate.model_dump(), recipe.chat.model_dump(), recipe.server.weights
        played = _key(split, *depends, str(recipe.worlds.seeds(split)))
        name = f"{split}: {trained.arm}, {trained.method}, seed {trained.seed}"
        return play_model(
            trained.model,
            recipe.evaluate,
            recipe.worlds.seeds(split),
            self.out / "played" / f"{played}-{trained.key}",
            chat=recipe.chat,
            server=recipe.server,
            watch=self.watch,
            name=name,
        )

    def _stage_key(self, stage: Stage, before: str, seed: int) -> str:
        recipe = self.recipe
        return _key(f"{stage.method}-{seed}", before, stage.model_dump(), recipe.chat.model_dump(), recipe.worlds.train)

    def _setting(self, seed: int) -> Setting:
        return Setting(self.recipe, seed, self._demonstrations, self.watch)

    def _demonstrations(self, data: Demonstrations) -> Path:
        played = data.model_dump(exclude={"keep", "tokens"})
        return self.out / "demonstrations" / _key("by", played, self.recipe.worlds.train)


@contextmanager
def _placed(place: Place) -> Generator[None]:
    """Name the place of the recipe in InputErrors of the block that are about no file of their own."""
    try:
        yield
    except InputError as error:
        if error.file is not None:
            raise
        inner = ": ".join(part for part in (name_place(place), error.place) if part)
        raise InputError(error.problem, remedy=error.remedy, place=inner) from None


def _key(name: str, *depends: object) -> str:
    """Return a name for what depends on these values."""
    return f"{name}-{blake2b(canonical(list(depends)), digest_size=5).hexdigest()}"
