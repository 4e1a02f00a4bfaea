"""The questions of a scenario about a world: composed, written by hand, or read from a file."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from simtrain.contracts.question import UNANSWERABLE, Question, QuestionSet
from simtrain.contracts.world import World
from simtrain.files.jsonl import whole_lines
from simtrain.files.yaml_files import parse_line
from simtrain.questions.composing import Bounds
from simtrain.questions.families import FAMILIES
from simtrain.questions.making import Made, QuestionMaker
from simtrain.questions.solving import solver_of
from simtrain.questions.written import written_questions
from simtrain.values.errors import InputError, nearest
from simtrain.values.types import JsonObject

# Fixed: questions are the cases of a scenario, which the seed of a run must not change.
SEED: Final = 0


def maker_of(world: World, wanted: QuestionSet, *, seed: int = SEED) -> QuestionMaker:
    """Return the maker for a set's composed questions. Raises InputError for an unknown kind."""
    known = (*FAMILIES, UNANSWERABLE)
    for place, kind in enumerate(wanted.compose or ()):
        if kind not in known:
            raise InputError(
                f"unknown kind of question {kind!r}", remedy=nearest(kind, known), place=f"compose[{place}]"
            )
    kinds = tuple(kind for kind in wanted.compose or () if kind != UNANSWERABLE)
    return QuestionMaker(
        world,
        bounds=Bounds(wanted.hops, wanted.rows, wanted.columns),
        languages=wanted.languages,
        families=kinds or tuple(FAMILIES),
        unanswerable=1.0 if wanted.compose and not kinds else wanted.unanswerable,
        seed=seed,
    )


def made_questions(world: World, wanted: QuestionSet) -> Iterator[Made]:
    """Yield the questions of a set about a world, in the order they are made. Raises InputError with the place in the set."""
    if not wanted.families:
        yield from maker_of(world, wanted).make(wanted.count)
        return
    for place, family in enumerate(wanted.families):
        try:
            made = written_questions(solver_of(world), family, languages=wanted.languages, seed=SEED)
            yield from islice(made, wanted.count)
        except InputError as error:
            inner = f".{error.place}" if error.place else ""
            raise InputError(error.problem, remedy=error.remedy, place=f"families[{place}]{inner}") from None


def read_questions(path: Path, *, world: str) -> Iterator[Question]:
    """Yield the questions of a JSONL file. Raises InputError, with the line, for a line that is no question about `world`."""
    if not path.is_file():
        raise InputError(f"there is no file {path}", remedy="`simtrain world questions` writes one")
    for number, line in whole_lines(path):
        question = parse_line(Question, line, file=path, line=number, what="no question")
        if question.world != world:
            raise InputError(f"a question of another world, {question.world!r}", file=path, line=number)
        yield question


def cases_about(world: World, wanted: QuestionSet | Path) -> Iterator[JsonObject]:
    """Yield the questions as cases of a scenario. Raises InputError."""
    if isinstance(wanted, Path):
        yield from (question.model_dump(mode="json") for question in read_questions(wanted, world=world.name))
        return
    for made in made_questions(world, wanted):
        yield made.question.model_dump(mode="json")
