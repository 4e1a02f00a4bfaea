"""The families of a ladder: a scenario for each level and world, and the episodes with the level's difficulty."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from simtrain.contracts.question import UNANSWERABLE, Question
from simtrain.contracts.scenario import Episode, Scenario, ScenarioSpec
from simtrain.curricula.curriculum_file import SPLITS, LadderSpec, Level, Split
from simtrain.curricula.splits import SplitTexts, names_in_world
from simtrain.files.yaml_files import Document, Place, read_document, read_place
from simtrain.scenarios.find import find
from simtrain.scenarios.load import assemble, load_world, paradigm_of
from simtrain.values.errors import InputError, nearest
from simtrain.values.types import JsonObject

SHIPPED = Path(__file__).parent / "shipped"


@dataclass(frozen=True)
class LevelScenario:
    """One level in one world. The questions are generated on first use. `drawn` is the seed of samples and faults.

    `document` is the ladder file, `named` the place in it where the world is named, `later` the families of all worlds of later splits.
    """

    document: Document
    named: Place
    level: int
    bounds: Level
    world: str
    written: JsonObject
    scenario: Scenario
    drawn: int
    later: tuple[LevelScenario, ...] = ()

    @cached_property
    def episodes(self) -> tuple[Episode, ...]:
        """Return the episodes of the level's difficulty, with their share of unanswerable ones; none if the world has
        no such question.

        Raises InputError.
        """
        with _in_ladder(self.document, self.level, self.named):
            found = list(paradigm_of(self.scenario).episodes(self.scenario, seed=self.drawn, attempts=1))
        fitting = [(episode, question) for episode in found if _fits(self.bounds, question := question_of(episode))]
        share = self.bounds.questions.unanswerable
        answered = sum(question.answer != UNANSWERABLE for _, question in fitting)
        # The share is of the kept questions, and bounds may drop answered ones more often than unanswerable ones.
        left = len(fitting) if share == 1 else round(share / (1 - share) * answered)
        kept: list[Episode] = []
        for episode, question in fitting:
            left -= question.answer == UNANSWERABLE
            if question.answer != UNANSWERABLE or left >= 0:
                kept.append(episode)
        return tuple(kept)

    @cached_property
    def clean(self) -> tuple[Episode, ...]:
        """Return the episodes that mention no name from a later split's worlds. Raises InputError."""
        names = frozenset[str]().union(*(family.names for family in self.later))
        return tuple(
            episode for episode in self.episodes if not is_contaminated(episode, [SplitTexts(names, frozenset())])
        )

    @cached_property
    def names(self) -> frozenset[str]:
        """Return the names of all entities of the world, in all its variants. Raises InputError."""
        variants = self.scenario.variants
        return frozenset[str]().union(*(names_in_world(self.scenario.source.build(variant)) for _, variant in variants))

    def error(self, problem: str, remedy: str) -> InputError:
        """Return an error at the level's place in the ladder file."""
        return self.document.error(("levels", self.level), problem, remedy)


@dataclass(frozen=True)
class Ladder:
    """A ladder file, read and checked."""

    spec: LadderSpec
    document: Document

    def families(self, split: Split, *, seed: int = 0) -> list[list[LevelScenario]]:
        """Return the families of a split, level by level. Raises InputError for an unknown split, world, pack or bound."""
        worlds = self.spec.worlds.get(split)
        if worlds is None:
            raise InputError(
                f"the ladder {self.spec.name!r} has no split {split!r}", remedy=nearest(split, self.spec.worlds)
            )
        self._check_worlds()
        # Only later splits: training gives way to validation, and both to test.
        after: list[Split] = [other for other in SPLITS[SPLITS.index(split) + 1 :] if other in self.spec.worlds]
        later = tuple(family for other in after for family in self._level(0, other, seed))
        return [self._level(number, split, seed, later) for number in range(len(self.spec.levels))]

    def _level(
        self, number: int, split: Split, drawn: int, later: tuple[LevelScenario, ...] = ()
    ) -> list[LevelScenario]:
        return [
            replace(self._family(number, world, built, drawn, named=("worlds", split, place)), later=later)
            for place, world in enumerate(self.spec.worlds[split])
            for built in self.spec.seeds or [None]
        ]

    def _check_worlds(self) -> None:
        """Raise InputError unless all are search worlds, each under one name, and each name for one world."""
        known: dict[str, str] = {}
        for split, worlds in self.spec.worlds.items():
            for place, world in enumerate(worlds):
                with self.document.at(("worlds", split, place)):
                    source = load_world(find("worlds", world, beside=self.document.path.parent))
                    if source.kind != "search":
                        raise InputError(f"{world} is a world of the kind {source.kind}", remedy="name search worlds")
                    for same in (source.digest, Path(world).stem):
                        # By content and by name: a copy under another name would leak, and the name is part of the families' names.
                        if known.setdefault(same, world) != world:
                            raise InputError(
                                f"{world} is {known[same]} again",
                                remedy="list each world, and each name, only once",
                            )

    def _family(self, number: int, world: str, built: int | None, drawn: int, *, named: Place) -> LevelScenario:
        level = self.spec.levels[number]
        written = self._scenario_of(level, world, built)
        document = Document(self.document.path, written, {})
        with _in_ladder(self.document, number, named):
            spec = document.parse(ScenarioSpec)
            scenario = assemble(document, spec, spec.name)
        return LevelScenario(self.document, named, number, level, world, written, scenario, drawn)

    def _scenario_of(self, level: Level, world: str, built: int | None) -> JsonObject:
        """Return the scenario of a level in a world built with a seed, as a scenario file would write it."""
        as_written = level.model_dump(mode="json", by_alias=True, exclude_unset=True)
        vary: JsonObject = {
            **({} if built is None else {"seeds": [built]}),
            **({"rows": [{**self.spec.rows}]} if self.spec.rows else {}),
        }
        optional: JsonObject = {
            "description": level.description,
            "perturbations": as_written.get("perturbations"),
            "limits": as_written.get("limits"),
            "vary": vary,
        }
        return {
            "name": "_".join([level.name, Path(world).stem, *([] if built is None else [f"s{built}"])]),
            "paradigm": "fiction",
            "world": {"use": world, "with": as_written["web"]} if level.web else world,
            "cases": {key: as_written[key] for key in ("questions", "budget") if key in as_written},
            "tools": [*self.spec.tools],
            **{key: value for key, value in optional.items() if value},
        }


def load_ladder(name: str | Path) -> Ladder:
    """Return the ladder in a file, or the shipped one of that name. Raises InputError."""
    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        known = sorted(file.stem for file in SHIPPED.glob("*.yaml"))
        if str(name) not in known:
            raise InputError(f"unknown curriculum {str(name)!r}", remedy=nearest(str(name), known))
        path = SHIPPED / f"{name}.yaml"
    document = read_document(path)
    return Ladder(document.parse(LadderSpec), document)


def _fits(level: Level, question: Question) -> bool:
    """True if a question has a level's difficulty; for an unanswerable one only hops and columns can be measured."""
    measured = question.difficulty
    bounds = level.difficulty.items()
    if question.answer == UNANSWERABLE:
        bounds = [(name, bound) for name, bound in bounds if name in ("hops", "columns")]
    return all(low <= getattr(measured, name) <= high for name, (low, high) in bounds)


@contextmanager
def _in_ladder(document: Document, level: int, named: Place) -> Generator[None]:
    """Make InputErrors in the block name the place in the ladder file, not in a level's scenario."""
    try:
        yield
    except InputError as error:
        # Errors in other files, such as a pack, already name the right place.
        if error.file not in (None, str(document.path)):
            raise
        place = _written_at(read_place(error.place), level, named)
        raise document.error(place, error.problem, error.remedy) from None


def _written_at(place: Place, level: int, named: Place) -> Place:
    """Map a place in a level's scenario back to the ladder file."""
    match place:
        case ("world", "with", *inner):
            return ("levels", level, "web", *inner)
        case ("world", *_):
            return named
        case ("cases", *inner):
            return ("levels", level, *inner)
        case ("vary", "rows", _, *inner):
            return ("rows", *inner)
        case ("vary", "seeds", *_):
            return ("seeds",)
        case ("tools", *_):
            return place
        case _:
            return ("levels", level, *place)


def question_of(episode: Episode) -> Question:
    """Return the question that an episode asks."""
    return Question.model_validate(episode.case)


def is_contaminated(episode: Episode, later: Sequence[SplitTexts]) -> bool:
    """True if an episode's question, or its gold, mentions a name of a later split, or equals one of its questions."""
    question = question_of(episode)
    gold = question.gold(episode.scenario.source.build(episode.variant).query)
    cells = [str(cell) for row in gold for cell in row.values()]
    return any(texts.stands_in(question, cells) for texts in later)


def no_questions(families: Sequence[LevelScenario]) -> InputError:
    """Return the error that the families of a level have no questions, with the reason."""
    family = families[0]
    if any(found.episodes for found in families):
        return family.error(
            f"every task of the level {family.bounds.name!r} says what a later split says",
            "give the splits worlds that share no names",
        )
    return family.error(
        f"no world has a question for the level {family.bounds.name!r}",
        "widen its bounds, or raise the `count` of its questions",
    )
