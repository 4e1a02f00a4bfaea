"""The YAML of ladder files: worlds by split, levels of difficulty, their mix, and when to climb."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, model_validator

from simtrain.contracts.question import QuestionSet
from simtrain.contracts.scenario import PackUse, PerturbationUse
from simtrain.files.file_model import FileModel
from simtrain.values.types import JsonObject, JsonValue

Split: TypeAlias = Literal["train", "validation", "test"]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]

SPLITS: tuple[Split, ...] = ("train", "validation", "test")


Measured: TypeAlias = Literal[
    "searches", "visits", "calls", "facts", "hops", "rows", "columns", "pages", "distractors", "conflict"
]
"""The measures of a question: fields of simtrain.contracts.question.Difficulty."""


class Level(FileModel):
    """One level: which questions are asked, how the web appears, what goes wrong."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    description: str = ""
    questions: QuestionSet = Field(description="Which questions, as under `cases: {questions: ...}` of a scenario.")
    difficulty: dict[Measured, tuple[float, float]] = Field(
        default_factory=dict[Measured, tuple[float, float]],
        description="Bounds on what was measured of a question: facts, calls, searches, visits, hops, pages, conflict, ...",
    )
    web: dict[str, JsonValue] = Field(
        default_factory=dict, description="Knobs of how the world appears, as under `with:` of a scenario's world."
    )
    perturbations: list[PerturbationUse | PackUse | str] = Field(
        default_factory=list[PerturbationUse | PackUse | str],
        description="As in a scenario: packs by name, or single ones.",
    )
    budget: float | None = Field(
        default=None,
        gt=0,
        description="Calls, as a multiple of what the oracle needs, as under `cases:` of a scenario.",
    )
    limits: JsonObject = Field(default_factory=dict, description="As in a scenario.")

    @model_validator(mode="after")
    def _bounds_run_forwards(self) -> Level:
        for name, (low, high) in self.difficulty.items():
            if low > high:
                raise ValueError(f"the bounds of `{name}` begin with the lower one")
        return self


class LevelMix(FileModel):
    """The shares of tasks that come from below and from above the level reached; the rest is of that level."""

    easier: Share = 0.25
    harder: Share = 0.15

    @model_validator(mode="after")
    def _leaves_some(self) -> LevelMix:
        # Without tasks of its own a level is never measured, and nothing moves.
        if self.easier + self.harder >= 1:
            raise ValueError("`easier` and `harder` leave nothing for the level itself")
        return self


class LevelBand(FileModel):
    """Success that is wanted: above `high` the next level is reached, below `low` the one before.

    Success is the mean reward of the last `window` tasks of the level reached, played since it was reached.
    """

    low: Share = 0.4
    high: Share = 0.7
    window: int = Field(default=64, ge=1)

    @model_validator(mode="after")
    def _in_order(self) -> LevelBand:
        if self.low >= self.high:
            raise ValueError("`low` is not below `high`")
        return self


class Pace(FileModel):
    """How the level follows the number of tasks dealt: evenly, or as ZeroSearch's curve (2505.04588) does, late and steeply.

    The share of the way is `p`, or `(4^p - 1) / 3`, for progress `p` = tasks dealt / `tasks`.
    """

    curve: Literal["linear", "exponential"] = "linear"
    tasks: int = Field(ge=1, description="Tasks after which the last level is reached and kept.")

    def share(self, dealt: int) -> float:
        """Return the share of the way, 0 to 1."""
        progress = min(1.0, dealt / self.tasks)
        return progress if self.curve == "linear" else (4**progress - 1) / 3


class LadderSpec(FileModel):
    """A ladder file."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    description: str = ""
    worlds: dict[Split, list[str]] = Field(min_length=1, description="Worlds of each split; none is in two.")
    seeds: list[int] = Field(
        default_factory=list[int], description="Seeds with which each world is built; left out, its own."
    )
    rows: dict[str, Annotated[int, Field(ge=1)]] = Field(
        default_factory=dict[str, int], description="The size of the worlds, such as {pages: 2000}."
    )
    tools: list[str] = Field(
        default_factory=lambda: ["*"], min_length=1, description="Globs over the tools, as in a scenario."
    )
    levels: list[Level] = Field(min_length=1)
    mix: LevelMix | None = Field(default=None, description="Shares of easier and harder tasks while climbing.")
    adaptive: LevelBand | None = Field(default=None, description="Climb by success.")
    pace: Pace | None = Field(default=None, description="Climb by the number of tasks.")
    uniform: bool = Field(default=False, description="Do not climb: all levels in equal shares from the first task.")

    @model_validator(mode="after")
    def _is_whole(self) -> LadderSpec:
        if [self.adaptive is not None, self.pace is not None, self.uniform].count(True) != 1:
            raise ValueError("a ladder is climbed by `adaptive` or by `pace`, or is `uniform`")
        if self.uniform and self.mix is not None:
            raise ValueError("`mix` is not for `uniform`, which takes all levels in equal shares")
        names = [level.name for level in self.levels]
        twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
        if twice is not None:
            raise ValueError(f"the level {twice!r} appears twice")
        worlds = [world for split in SPLITS for world in self.worlds.get(split, [])]
        shared = next((world for place, world in enumerate(worlds) if world in worlds[:place]), None)
        if shared is not None:
            raise ValueError(f"the world {shared!r} is listed twice, and splits may not share a world")
        if any(not found for found in self.worlds.values()):
            raise ValueError("a split without worlds: leave it out")
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("`seeds` names a seed twice")
        return self
