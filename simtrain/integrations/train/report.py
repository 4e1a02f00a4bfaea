"""The report of a recipe: what every model was trained on, how it went, and how it did in held-out worlds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import orjson

from simtrain.curricula.curriculum_file import Split
from simtrain.drills.statistics import Estimate
from simtrain.integrations.train.checkpoints import CURVE, read_curve
from simtrain.integrations.train.comparison import CaseOutcome, Success, gain, success
from simtrain.integrations.train.recipe import Recipe
from simtrain.integrations.train.stages import ROWS
from simtrain.integrations.train.training import Trained
from simtrain.values.arm import CLEAN
from simtrain.values.types import JsonObject
from simtrain.values.version import VERSION

FORMAT = "simtrain-training/1"


@dataclass(frozen=True)
class PlayedModel:
    """A model and the outcomes of its episodes."""

    trained: Trained
    outcomes: Sequence[CaseOutcome]


@dataclass(frozen=True)
class Gain:
    """How much better one stage or arm does than another, as a difference of shares, -1 to 1."""

    better: str
    than: str
    condition: str
    estimate: Estimate


@dataclass(frozen=True)
class RecipePlace:
    """A stage of an arm: what the models of all seeds there have in common."""

    arm: str
    stage: int
    method: str

    @property
    def name(self) -> str:
        """Return its name in tables."""
        return f"{self.arm} {'before' if self.stage == 0 else f'{self.stage}. {self.method}'}"


@dataclass(frozen=True)
class TrainingReport:
    """The results of a recipe on one split."""

    recipe: Recipe
    split: Split
    results: Sequence[PlayedModel]

    def places(self) -> dict[RecipePlace, list[PlayedModel]]:
        """Return the results by place, in the order of the recipe."""
        found: dict[RecipePlace, list[PlayedModel]] = {}
        for result in self.results:
            one = result.trained
            found.setdefault(RecipePlace(one.arm, one.stage, one.method), []).append(result)
        return found

    def conditions(self) -> list[str]:
        """Return the conditions that were played, `clean` before the packs."""
        played = {one.condition for result in self.results for one in result.outcomes}
        return sorted(played, key=lambda name: (name != CLEAN, name))

    def shares(self, found: Sequence[PlayedModel]) -> Iterator[tuple[str, Success]]:
        """Yield the success of some models under each condition."""
        for name in self.conditions():
            share = success([one for result in found for one in result.outcomes if one.condition == name])
            if share is not None:
                yield name, share

    def families(self, found: Sequence[PlayedModel]) -> Iterator[tuple[str, Success]]:
        """Yield the success of some models in each family, over all conditions."""
        every = [one for result in found for one in result.outcomes]
        for family in sorted({one.family for one in every}):
            share = success([one for one in every if one.family == family])
            if share is not None:
                yield family, share

    def gains(self) -> Iterator[Gain]:
        """Yield the gain of each stage over the one before it, and of each arm over the first arm."""
        places = self.places()
        for before, after in pairwise(places):
            if before.arm == after.arm:
                yield from self._gains(places, before, after)
        last = {place.arm: place for place in places}
        first, *others = last.values()
        for other in others:
            yield from self._gains(places, first, other)

    def _gains(
        self, places: Mapping[RecipePlace, Sequence[PlayedModel]], before: RecipePlace, after: RecipePlace
    ) -> Iterator[Gain]:
        for name in self.conditions():
            old, new = (
                [one for result in places[place] for one in result.outcomes if one.condition == name]
                for place in (before, after)
            )
            estimate = gain(old, new)
            if estimate is not None:
                yield Gain(after.name, before.name, name, estimate)

    def data(self) -> JsonObject:
        """Return the report as JSON."""
        places = self.places()
        return {
            "format": FORMAT,
            "version": VERSION,
            "recipe": self.recipe.model_dump(by_alias=True),
            "split": self.split,
            "models": [self._model(result) for result in self.results],
            "success": [
                {"at": place.name, "condition": name, **_share(share)}
                for place, found in places.items()
                for name, share in self.shares(found)
            ],
            "families": [
                {"at": place.name, "family": name, **_share(share)}
                for place, found in places.items()
                for name, share in self.families(found)
            ],
            "gains": [{**asdict(one), "estimate": asdict(one.estimate)} for one in self.gains()],
        }

    def _model(self, result: PlayedModel) -> JsonObject:
        one = result.trained
        return {
            "arm": one.arm,
            "stage": one.stage,
            "method": one.method,
            "seed": one.seed,
            "folder": one.key,
            **learnt_from(one.folder),
            "success": {name: _share(share) for name, share in self.shares([result])},
        }


def learnt_from(folder: Path) -> JsonObject:
    """Return what a model learnt from and what that took: episodes, tokens, updates, CPU seconds, and the last loss."""
    rows = sorted(folder.rglob(ROWS))
    curves = [lines for file in sorted(folder.rglob(CURVE)) if (lines := read_curve(file))]
    found: JsonObject = {}
    for file in rows:
        for name, value in orjson.loads(file.read_bytes()).items():
            if isinstance(value, int):
                found[name] = found.get(name, 0) + value
    if curves:
        found["updates"] = sum(len(lines) for lines in curves)
        found["cpu_seconds"] = round(sum(lines[-1]["cpu_seconds"] for lines in curves), 1)
        found["last_loss"] = curves[-1][-1].get("loss")
    return found


def _share(share: Success) -> JsonObject:
    return {**asdict(share), "share": round(share.share, 6)}
