"""Curricula: a run dealt in stages, each as hard as the training's progress requires, with a ledger that replays it."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from simtrain.contracts.perturbation import Probability, Ramp
from simtrain.contracts.scenario import Scenario
from simtrain.curricula.ledger import as_line, read_line
from simtrain.files.file_model import FileModel
from simtrain.files.jsonl import LineWriter, whole_lines
from simtrain.files.yaml_files import read_document
from simtrain.scenarios.arms import armed, bundles, unfit
from simtrain.values.arm import Arm
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject

LEDGER_FILE = "curriculum.jsonl"
FORMAT = "simtrain-curriculum/1"


class ProgressBand(FileModel):
    """How progress follows success: a family that succeeds more often than `high` moves up a level, one below `low` down."""

    levels: int = Field(default=10, ge=1, description="Steps between progress 0 and 1.")
    start: int = Field(default=0, ge=0, description="The level to begin with.")
    low: Probability = Field(default=0.5, description="Share of successes below which a family moves down.")
    high: Probability = Field(default=0.8, description="Share of successes above which it moves up.")

    @model_validator(mode="after")
    def _in_order(self) -> ProgressBand:
        if self.low > self.high:
            raise ValueError("`low` is above `high`")
        if self.start > self.levels:
            raise ValueError("`start` is above `levels`")
        return self

    def next(self, level: int, *, succeeded: int, played: int) -> int:
        """Return the level after a stage; unchanged if nothing was graded."""
        if not played:
            return level
        rate = succeeded / played
        return min(self.levels, level + 1) if rate > self.high else max(0, level - 1) if rate < self.low else level


class CurriculumSpec(FileModel):
    """The YAML of a curriculum file.

    Progress runs from 0 in the first stage to 1 in the last; with `adaptive` it follows success, family by family. `severity`
    holds where knobs leave it open, `probability` multiplies that of each trigger; ramps inside triggers follow progress too.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    description: str = ""
    packs: list[str] = Field(default_factory=list, description="Perturbation packs; none: the scenario's own.")
    stages: int = Field(default=10, ge=1, description="Parts in which the run is dealt, one after the other.")
    severity: Ramp | None = Field(default=None, description="Severity by progress; left out, that of the pack.")
    probability: Ramp = Field(
        default_factory=lambda: Ramp(start=1, end=1), description="Share of their probability with which triggers fire."
    )
    adaptive: ProgressBand | None = Field(default=None, description="Let progress follow success instead of time.")


class Learnt(FileModel):
    """One family in one stage: its difficulty and results. Only `progress` affects later stages, the rest is for readers."""

    progress: Probability
    severity: float | None
    probability: float
    played: int = Field(ge=0, description="Graded episodes.")
    succeeded: int = Field(ge=0)


class LedgerEntry(FileModel):
    """A line of the ledger: a finished stage, the places `begin` to `end` (not included) of the deal."""

    stage: int
    begin: int
    end: int
    families: dict[str, Learnt]


class _Head(FileModel):
    """The first line of a ledger."""

    format: Literal["simtrain-curriculum/1"] = FORMAT
    curriculum: CurriculumSpec


@dataclass(frozen=True)
class Curriculum:
    """A curriculum ready to run; `replayed` are the stages of a ledger that it repeats, whatever the agent does."""

    spec: CurriculumSpec
    path: Path
    replayed: tuple[LedgerEntry, ...] = ()

    def facts(self, *, episodes: int) -> JsonObject:
        """Return its entry in run.json, which must be the same when a run is resumed."""
        stages = [{name: one.progress for name, one in entry.families.items()} for entry in self.replayed]
        return {**self.spec.model_dump(), "episodes": episodes, **({"replayed": stages} if stages else {})}


@dataclass(frozen=True)
class Stage:
    """One stage of a run: the positions of the deal to play now, and the scenarios at their current difficulty."""

    number: int
    places: range
    progress: Mapping[str, float]
    scenarios: tuple[Scenario, ...]


def load_curriculum(path: Path) -> Curriculum:
    """Return the curriculum of a YAML file, or of a ledger (`.jsonl`) to replay. Raises InputError."""
    if path.suffix != ".jsonl":
        return Curriculum(read_document(path).parse(CurriculumSpec), path)
    if not path.is_file():
        raise InputError("there is no such ledger", remedy=f"name the {LEDGER_FILE} of a run folder", file=path)
    head, entries = read_ledger(path)
    if not entries:
        raise InputError("the ledger holds no finished stage", file=path)
    return Curriculum(head, path, entries)


def read_ledger(path: Path) -> tuple[CurriculumSpec, tuple[LedgerEntry, ...]]:
    """Return the curriculum and the finished stages in a ledger. Raises InputError for a line that cannot be read."""
    lines = list(whole_lines(path))
    if not lines:
        raise InputError("the ledger is empty", file=path)
    head = read_line(_Head, lines[0], path).curriculum
    return head, tuple(read_line(LedgerEntry, line, path) for line in lines[1:])


class StagedRun:
    """A curriculum applied to one run folder: each finished stage is written to the ledger."""

    def __init__(self, curriculum: Curriculum, scenarios: Sequence[Scenario], *, episodes: int, attempts: int) -> None:
        """`episodes` is the number dealt over all families. Raises InputError if curriculum and run do not fit."""
        self._curriculum = curriculum
        self._spec = curriculum.spec
        self._scenarios = scenarios
        self._bounds = self._cut(episodes, len(scenarios) * attempts)
        self._check(episodes)

    def _cut(self, episodes: int, group: int) -> list[int]:
        """Return where stages begin and end; all attempts at a case fall into one stage."""
        if self._curriculum.replayed:
            return [0, *(entry.end for entry in self._curriculum.replayed)]
        stages = self._spec.stages
        # Rounded to whole groups: attempts at one case must meet the same difficulty, or pass@k would mix several.
        return [0, *(place * episodes // stages // group * group for place in range(1, stages)), episodes]

    def _check(self, episodes: int) -> None:
        path, entries = self._curriculum.path, self._curriculum.replayed
        if entries and entries[-1].end != episodes:
            raise InputError(
                f"the ledger tells of {entries[-1].end} episodes, and {episodes} are asked for",
                remedy=f"--episodes {entries[-1].end} replays it whole",
                file=path,
            )
        if any(begin >= end for begin, end in pairwise(self._bounds)):
            raise InputError(
                f"{episodes} episodes are too few for {self._spec.stages} stages",
                remedy="give --episodes, or fewer `stages`",
                file=path,
            )
        for scenario in self._scenarios:
            missing = next((entry.stage for entry in entries if scenario.name not in entry.families), None)
            if missing is not None:
                raise InputError(f"the ledger says nothing of {scenario.name} in stage {missing}", file=path)
            if scenario.spec.paradigm == "perturbation":
                raise InputError(f"{scenario.name} deals arms of its own, which leaves a curriculum nothing", file=path)
            if not any(bundle.armed for bundle in bundles(scenario, tuple(self._spec.packs))):
                raise InputError(
                    f"{scenario.name} has no perturbations to make harder", remedy="name `packs`", file=path
                )

    def stages(self, folder: Path) -> Generator[Stage]:
        """Yield the stages in order, finished ones included; each is decided by those before it, as the ledger in `folder` has them.

        Finish a stage before asking for the next. Raises InputError for a damaged ledger.
        """
        ledger = folder / LEDGER_FILE
        self._ledger = LineWriter(ledger)
        try:
            if not ledger.stat().st_size:
                self._ledger.write(as_line(_Head(curriculum=self._spec)))
            self._entries = list(read_ledger(ledger)[1])
            for number, (begin, end) in enumerate(pairwise(self._bounds)):
                progress = self._progress(number)
                scenarios = tuple(self._armed(scenario, progress[scenario.name]) for scenario in self._scenarios)
                yield Stage(number, range(begin, end), progress, scenarios)
        finally:
            self._ledger.close()

    def finish(self, stage: Stage, outcomes: Iterable[tuple[str, bool]]) -> None:
        """Record the outcomes of a stage, for each graded episode its family and success; a stage is recorded once.

        Raises InputError when the folder cannot be written.
        """
        if stage.number < len(self._entries):
            return
        counts = {name: [0, 0] for name in stage.progress}
        for name, succeeded in outcomes:
            counts[name][0] += 1
            counts[name][1] += succeeded
        families = {
            name: Learnt(
                progress=progress,
                severity=self._severity(progress),
                probability=self._spec.probability.at(progress),
                played=counts[name][0],
                succeeded=counts[name][1],
            )
            for name, progress in stage.progress.items()
        }
        entry = LedgerEntry(stage=stage.number, begin=stage.places.start, end=stage.places.stop, families=families)
        self._ledger.write(as_line(entry))
        self._entries.append(entry)

    def _progress(self, number: int) -> dict[str, float]:
        entries = self._entries
        names = [scenario.name for scenario in self._scenarios]
        band, replayed = self._spec.adaptive, self._curriculum.replayed
        # What the ledger holds wins, so that a resumed run repeats its stages exactly.
        if number < len(entries):
            return {name: entries[number].families[name].progress for name in names}
        if replayed:
            return {name: replayed[number].families[name].progress for name in names}
        if band is None:
            return dict.fromkeys(names, number / (self._spec.stages - 1) if self._spec.stages > 1 else 1.0)
        if not number:
            return dict.fromkeys(names, band.start / band.levels)
        last = entries[number - 1].families
        return {name: _moved(band, last[name]) for name in names}

    def _armed(self, scenario: Scenario, progress: float) -> Scenario:
        chance = self._spec.probability.at(progress)
        packs, severity = tuple(self._spec.packs), self._severity(progress)
        found = [item for bundle in bundles(scenario, packs, severity) for item in bundle.armed.values()]
        labels = tuple(item.label for item in found if unfit(item, scenario) is None)
        name = f"progress {progress:.3f}"
        return armed(
            scenario,
            Arm(name, packs, labels if chance else (), severity, chance=chance, progress=progress),
        )

    def _severity(self, progress: float) -> float | None:
        return None if self._spec.severity is None else self._spec.severity.at(progress)


def _moved(band: ProgressBand, last: Learnt) -> float:
    # Rounded, since progress is stored as a share and must come back as the same whole level.
    level = round(last.progress * band.levels)
    return band.next(level, succeeded=last.succeeded, played=last.played) / band.levels
