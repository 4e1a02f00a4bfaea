"""Makes questions: composes shapes, words and checks them, solves them through the search engine and measures them."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from simtrain.contracts.question import (
    UNANSWERABLE_SHARE,
    AnswerKind,
    Column,
    Difficulty,
    Language,
    Premise,
    Question,
    cell_text,
)
from simtrain.contracts.world import World
from simtrain.questions.asked_for import asks_for_something, given_cells
from simtrain.questions.composing import Bounds, Composer
from simtrain.questions.distances import lookalikes
from simtrain.questions.families import FAMILIES
from simtrain.questions.gathering import Gathered, gather, names_in
from simtrain.questions.idle import without_idle
from simtrain.questions.mixing import FamilyTurn, TurnMix
from simtrain.questions.paths import FactUnreachable
from simtrain.questions.schema import WorldSchema
from simtrain.questions.shapes import DrawRefused, Shape
from simtrain.questions.solving import Solver
from simtrain.questions.spoiling import Spoiler
from simtrain.questions.sql import Compiled, compile_shape
from simtrain.questions.widening import widened
from simtrain.questions.wording import Wording
from simtrain.values.errors import InputError
from simtrain.values.seeding import Stream, derive
from simtrain.values.types import JsonObject

MOST_SHARE: Final = 0.1
"""The largest share of all questions with the same SQL skeleton."""

TRIES: Final = 40
"""Most draws per wanted question; after that the world is taken to have no more."""

NARROWINGS: Final = 5
MOST_CALLS: Final = 300
"""Most calls of the oracle for one question: more would be too much for an episode."""


@dataclass(frozen=True, slots=True)
class Made:
    """A question with its gold table."""

    question: Question
    gold: list[JsonObject]


@dataclass(frozen=True, slots=True)
class _Draft:
    """A shape in a language: its columns and its SQL."""

    shape: Shape
    language: Language
    columns: list[Column]
    compiled: Compiled

    @property
    def headings(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]


class QuestionMaker:
    """Makes questions about one world. `refused` counts the reasons for refused draws."""

    def __init__(
        self,
        world: World,
        *,
        bounds: Bounds | None = None,
        languages: Sequence[Language] | None = None,
        families: Sequence[str] = tuple(FAMILIES),
        unanswerable: float = UNANSWERABLE_SHARE,
        seed: int = 0,
    ) -> None:
        """`languages` default to those that the world has words for. `unanswerable` is the share of questions without an answer.

        Raises InputError for a world about which no questions can be made.
        """
        self.world = world
        self.bounds = bounds or Bounds()
        self.families = families
        self.unanswerable = unanswerable
        # The world's name is part of the seed: two worlds with the same seed must not get parallel questions.
        self.seed = derive(seed, world.name, "questions")
        self.schema = WorldSchema(world)
        self.languages = languages or self.schema.languages
        self.solver = Solver(world, self.schema)
        self.composer = Composer(self.schema, self.bounds)
        self.spoiler = Spoiler(self.composer, self.solver.stating)
        self.wordings = {language: Wording(self.schema, language) for language in self.languages}
        self.refused: Counter[str] = Counter()
        self._asked: set[str] = set()
        self._skeletons: Counter[str] = Counter()

    def make(self, count: int, *, on_made: Callable[[], None] = lambda: None) -> Iterator[Made]:
        """Yield `count` different questions, or fewer if the world has no more. No skeleton has more than its share of `count`."""
        most = max(1, int(count * MOST_SHARE))
        # Two mixes: a family that can rarely be spoiled must not lose its turns as a normal one.
        # `single` cannot be spoiled, since a thing that is only described has no name to search for.
        spoilable = [name for name in self.families if name != "single"]
        mixes = {False: TurnMix(self.families, self.bounds.hops), True: TurnMix(spoilable, self.bounds.hops)}
        made = number = spoiled = 0
        while made < count and number < count * TRIES:
            # The share is kept after every question, not only at the end: a caller may stop early.
            spoil = spoiled < int((made + 1) * self.unanswerable + 0.5)
            turn = mixes[spoil].next()
            if turn is None and spoil and self.unanswerable < 1:
                spoil, turn = False, mixes[False].next()
            if turn is None:
                return
            number += 1
            found = self._tried(turn, number, most, spoil=spoil)
            mixes[spoil].tell(turn, made=found is not None)
            if found is None:
                continue
            # Skeletons of unanswerable questions do not count: they would use up the share of answerable ones.
            if not spoil:
                self._skeletons[found.question.skeleton] += 1
            made, spoiled = made + 1, spoiled + spoil
            on_made()
            yield found

    def _tried(self, turn: FamilyTurn, number: int, most: int, *, spoil: bool) -> Made | None:
        """Return the question from a draw; None if it was refused."""
        # A stream per draw, so that a refused draw does not shift the following ones.
        stream = Stream(derive(self.seed, number))
        try:
            return self._spoiled(turn, stream, number) if spoil else self._drawn(turn, stream, number, most)
        except FactUnreachable as refusal:
            self.refused[f"out of reach: {refusal.place}"] += 1
        except DrawRefused as refusal:
            self.refused[str(refusal)] += 1
        return None

    def _shape(self, turn: FamilyTurn, stream: Stream) -> Shape:
        """Return a shape of a family, widened to the wanted columns."""
        return widened(FAMILIES[turn.family].draw(self.composer, turn.hops, stream), self.composer, stream)

    def _drawn(self, turn: FamilyTurn, stream: Stream, number: int, most: int) -> Made:
        shape = self._shape(turn, stream)
        answer: AnswerKind = "single" if turn.family == "single" else "table"
        language = stream.choose(self.languages)
        draft, gathered = self._fitted(shape, stream, language, answer)
        shape, compiled = draft.shape, draft.compiled
        # Narrowing and removing idle conditions may have changed the number of hops.
        if shape.hops != turn.hops:
            raise DrawRefused("other hops than were to be")
        asks = shape.asks_for()
        if asks in self._asked:
            raise DrawRefused("asked before")
        if self._skeletons[compiled.skeleton] >= most:
            raise DrawRefused("too many of its skeleton")
        # Cheap checks first; solving, which searches the web, comes last.
        self._check(shape, compiled, gathered)
        query = self.wordings[language].query(shape, stream, answer=answer)
        question = self._question(draft, query, answer, number)
        self._check_names(question, gathered)
        self._check_cells(question, gathered)
        solved = self.solver.find(gathered)
        if len(solved.path.calls) > MOST_CALLS:
            raise DrawRefused("too many calls")
        distractors = self._distractors(shape, compiled, len(gathered.rows))
        measured = self.solver.difficulty(question, solved, hops=shape.hops, distractors=distractors)
        self._asked.add(asks)
        return Made(question.model_copy(update={"difficulty": measured}), gathered.rows)

    def _draft(self, shape: Shape, language: Language) -> _Draft:
        columns = self.wordings[language].columns(shape)
        return _Draft(shape, language, columns, compile_shape(shape, self.schema, [column.name for column in columns]))

    def _fitted(self, shape: Shape, stream: Stream, language: Language, answer: AnswerKind) -> tuple[_Draft, Gathered]:
        """Return a draft of the shape, narrowed until its rows are within the bounds, with its gold."""
        low, high = (1, 1) if answer == "single" else self.bounds.rows
        for _ in range(NARROWINGS + 1):
            draft = self._draft(shape, language)
            sql, parameters = draft.compiled.sql, draft.compiled.parameters
            # One row more than allowed is enough to know that there are too many.
            rows = len(self.world.query(f"select 1 from ({sql} ) limit {high + 1}", parameters))
            if rows < low:
                raise DrawRefused("too few rows")
            if rows <= high:
                # A description has no idle conditions: `described` has removed them.
                less = shape if answer == "single" else without_idle(shape, self.schema, draft.headings)
                draft = draft if less is shape else self._draft(less, language)
                try:
                    return draft, gather(self._question(draft, "?", answer, 0), self.world)
                except InputError:
                    raise DrawRefused("ambiguous") from None
            try:
                # Too many rows: one more condition narrows the answer.
                shape = self.composer.tested(shape, stream, range(len(shape.nodes)), 0.5)
            except DrawRefused:
                break
        raise DrawRefused("too many rows")

    def _question(self, draft: _Draft, query: str, answer: AnswerKind, number: int) -> Question:
        compiled = draft.compiled
        return Question(
            id=f"{self.world.name}_{draft.language}_{number:06}",
            world=self.world.name,
            language=draft.language,
            query=query,
            sql=compiled.sql,
            parameters=compiled.parameters,
            key=tuple(draft.headings[place] for place in draft.shape.key),
            columns=tuple(draft.columns),
            skeleton=compiled.skeleton,
            answer=answer,
            evidence=compiled.evidence,
        )

    def _check(self, shape: Shape, compiled: Compiled, gathered: Gathered) -> None:
        """Refuse a ranking that ends in a tie or includes everything."""
        extreme = shape.extreme
        if extreme is None or compiled.limit is None:
            return
        column = list(gathered.rows[0])[shape.columns.index(extreme.term)]
        # One row past the limit shows whether the last ranks are tied: with a tie, the cut would be arbitrary.
        more = self.world.query(compiled.sql, {**compiled.parameters, compiled.limit: extreme.count + 1})
        if len(more) <= extreme.count:
            raise DrawRefused("a ranking of all there are")
        if more[-1][column] == more[-2][column]:
            raise DrawRefused("a tie")

    def _check_names(self, question: Question, gathered: Gathered) -> None:
        given = [value for value in question.parameters.values() if isinstance(value, str) and value[:1].isupper()]
        if lookalikes([*names_in(question, gathered.rows), *given]) is not None:
            raise DrawRefused("names too much alike")

    @staticmethod
    def _check_cells(question: Question, gathered: Gathered) -> None:
        """Refuse a question that leaves nothing to find out: it contains its answer, or the answer has no values."""
        if not asks_for_something(gathered.rows, given_cells(question, gathered.rows, question.query)):
            raise DrawRefused("nothing is left to find out")

    def _distractors(self, shape: Shape, compiled: Compiled, rows: int) -> int:
        """Return the number of rows that fail by one condition only."""
        names = [f"c{place}" for place in range(len(shape.columns) + 2 * (shape.dispute is not None))]
        count = 0
        for place in range(len(shape.tests)):
            # Without the ranking, which would cut the rows that the removed condition lets in.
            wider = replace(shape, tests=(*shape.tests[:place], *shape.tests[place + 1 :]), extreme=None)
            other = compile_shape(wider, self.schema, names)
            found = self.world.query(f"select count(*) as n from ({other.sql})", other.parameters)
            count += max(0, int(found[0]["n"]) - rows)
        return count

    def _spoiled(self, turn: FamilyTurn, stream: Stream, number: int) -> Made:
        """Return an unanswerable question of a family."""
        shape = self._shape(turn, stream)
        spoiled = self.spoiler.spoiled(shape, stream)
        if not self.bounds.hops[0] <= spoiled.shape.hops <= self.bounds.hops[1]:
            raise DrawRefused
        shape, language = spoiled.shape, stream.choose(self.languages)
        asks = shape.asks_for()
        if asks in self._asked:
            raise DrawRefused("asked before")
        draft = self._draft(shape, language)
        columns, compiled = draft.columns, draft.compiled
        if self.bounds.columns and not self.bounds.columns[0] <= len(columns) <= self.bounds.columns[1]:
            raise DrawRefused("too few columns")
        query = self.wordings[language].query(shape, stream)
        measured = Difficulty(searches=len(spoiled.names), hops=shape.hops, columns=len(columns))
        question = self._question(draft, query, "table", number).model_copy(
            update={
                "answer": "unanswerable",
                "evidence": None,
                "difficulty": measured,
                "premise": Premise(kind=spoiled.kind, names=spoiled.names),
            }
        )
        # Proved by the same SQL as answerable questions: the spoilt name must really leave nothing to answer.
        found = self.world.query(compiled.sql, compiled.parameters)
        rows = [{name: cell_text(value) for name, value in row.items()} for row in found]
        if asks_for_something(rows, given_cells(question, rows, query)):
            raise DrawRefused("it has an answer")
        self._asked.add(asks)
        self.spoiler.tell(spoiled)
        return Made(question, [])
