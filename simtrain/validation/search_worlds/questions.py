"""Audits of questions: each has one gold table, stated on reachable pages, that neither code nor a model can guess."""

import asyncio
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from simtrain.contracts.question import Question, normal_name
from simtrain.contracts.world import World
from simtrain.llm.client import ChatClient
from simtrain.questions.gathering import gather
from simtrain.questions.stating import Needed
from simtrain.questions.widesearch.strict import score_question
from simtrain.questions.widesearch.words import is_missing
from simtrain.validation.search_worlds.guessing import Guesser
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue

CHANCE: Final = 0.1
"""The highest mean item F1 of a guess without a model. Above 0, since categories have few values."""
GUESSED: Final = 0.05
"""The highest mean item F1 of a model without tools. Both are over the cells that questions do not give."""
AT_ONCE: Final = 8

_ASK = (
    "Answer from memory: you have no tools, and nobody can be asked. Give the table that is asked for in Markdown; "
    "guess where you do not know."
)


@dataclass(frozen=True, slots=True)
class Audited:
    """The result of an audit; `guesses` are the mean item F1 of each way to guess without a model."""

    questions: int
    cells: int
    guesses: Mapping[str, float]
    findings: tuple[str, ...]


@dataclass
class QuestionAudit:
    """Audits questions about one world; `reachable` holds the ids of the pages within reach."""

    world: World
    reachable: Container[int]
    _backwards: World | None = None
    _pages: dict[tuple[str, int, str | None], bool] = field(default_factory=dict[tuple[str, int, str | None], bool])

    async def audit(self, questions: Iterable[Question], *, on_question: Callable[[], None] = lambda: None) -> Audited:
        """Return the audit of all questions."""
        found: list[str] = []
        answerable: list[tuple[Question, Sequence[JsonObject]]] = []
        questions = list(questions)
        queries = [question.query for question in questions]
        for question in questions:
            try:
                gold = question.gold(self.world.query)
            except InputError as error:
                found.append(f"{question.id}: {error}")
                continue
            leaks = leaked_cells(question, gold, labels=self._labels(), among=queries)
            problems = [*self._ambiguous(question, gold), *self._unstated(question), *leaks]
            found += [f"{question.id}: {problem}" for problem in problems]
            if question.answer != "unanswerable":
                answerable.append((question, gold))
            on_question()
        guesses = await self._guesses(answerable)
        for method, mean in guesses.items():
            if mean > CHANCE:
                found.append(f"all: a guess that needs no model, by the {method}, reaches an item F1 of {mean:.3f}")
        cells = sum(len(gold) * len(question.columns) for question, gold in answerable)
        return Audited(len(answerable), cells, guesses, tuple(found))

    async def _guesses(self, answerable: Sequence[tuple[Question, Sequence[JsonObject]]]) -> dict[str, float]:
        """Return the mean item F1 of each way to guess, over the cells that questions do not give.

        A guess has rows for the names in the question, in each column one value.
        """
        guesser = Guesser(self.world, answerable)
        sums = {"world": 0.0, "answers": 0.0}
        for question, gold in answerable:
            guesses = {"world": guesser.by_world(question), "answers": guesser.by_answers(question, gold)}
            for method, cells in guesses.items():
                sums[method] += await _hidden_f1(question, gold, _guess(question, gold, cells))
        return {method: total / max(1, len(answerable)) for method, total in sums.items()}

    def _labels(self) -> frozenset[str]:
        return frozenset(str(row["label"]).casefold() for row in self.world.query("select label from _attributes"))

    def _ambiguous(self, question: Question, gold: Sequence[JsonObject]) -> list[str]:
        """Return the problem of a gold table that depends on the order in which SQLite finds rows."""
        if self._backwards is None:
            self._backwards = self.world.backwards()
        other = question.gold(self._backwards.query)
        same = sorted(map(_values, gold)) == sorted(map(_values, other))
        return [] if same else ["its SQL gives another table when rows are found in another order"]

    def _unstated(self, question: Question) -> list[str]:
        """Return the facts behind cells that no reachable page states with the intended value."""
        if question.evidence is None or question.answer == "unanswerable":
            return []
        gathered = gather(question, self.world)
        return [
            f"{fact.type}.{fact.name} of {fact.entity} is on no page within reach"
            for fact in gathered.stated
            if not self._is_stated(fact) and not self._is_empty(fact)
        ]

    def _is_stated(self, fact: Needed) -> bool:
        place = (f"{fact.type}.{fact.name}", fact.entity, fact.site)
        if place not in self._pages:
            rows = self.world.query(
                "select distinct s.page as page from _statements s join _attributes a on a.id = s.attribute "
                "join _types t on t.name = a.type and t.position = s.type "
                "join _pages p on p.id = s.page join _sites w on w.id = p.site where a.type = :type and a.name = :name "
                "and s.entity = :entity and case when :site is null then s.claim is null else w.name = :site end",
                {"type": fact.type, "name": fact.name, "entity": fact.entity, "site": fact.site},
            )
            self._pages[place] = any(row["page"] in self.reachable for row in rows)
        return self._pages[place]

    def _is_empty(self, fact: Needed) -> bool:
        """True if the fact is missing, so that no page can state it."""
        rows = self.world.query(f'select "{fact.name}" as value from "{fact.type}" where id = :id', {"id": fact.entity})
        return bool(rows) and rows[0]["value"] is None


def _guess(question: Question, gold: Sequence[JsonObject], cells: Mapping[str, str]) -> str:
    """Return a table with a row for each name in the question, or for one guessed name, and the same cells in every row."""
    names = [column.name for column in question.columns]
    keys = names_in_prompt(question, gold) or [cells[question.key[0]]]
    rows = [tuple(key if name == question.key[0] else cells[name] for name in names) for key in keys]
    return "\n".join("| " + " | ".join(row) + " |" for row in (tuple(names), ("---",) * len(names), *rows))


def leaked_cells(
    question: Question,
    gold: Sequence[JsonObject],
    *,
    labels: frozenset[str] = frozenset(),
    among: Sequence[str] = (),
) -> list[str]:
    """Return the cells that occur in the question itself and vary by row; a column with a single value is part of the
    question.

    `labels`, folded, are the world's names of attributes: a question contains them without leaking a cell. The same
    holds for text in many queries (`among`): standard phrases (official sources come first) answer nothing.
    """
    found: list[str] = []
    for column in question.columns:
        cells = {str(row[column.name]) for row in gold}
        if len(cells) == 1 and len(gold) > 1:
            continue
        for cell in sorted(cells):
            if cell.casefold() in labels or _is_given(cell, question):
                continue
            if _stands_in(cell, question.query) and not _is_usual(cell, among):
                found.append(f"its cell {cell!r} under {normal_name(column.name)} is in the question")
    return found


def _is_usual(cell: str, queries: Sequence[str]) -> bool:
    """True if at least ten queries, and a fifth of them, hold the words."""
    return sum(_stands_in(cell, query) for query in queries) >= max(10, len(queries) / 5)


def names_in_prompt(question: Question, gold: Sequence[JsonObject]) -> list[str]:
    """Return the gold keys that the question itself gives."""
    return [name for row in gold if _stands_in(name := str(row[question.key[0]]), question.query)]


def _stands_in(cell: str, query: str) -> bool:
    # A short number may occur anywhere and mean anything.
    if is_missing(cell) or len(cell) < 4:
        return False
    return re.search(rf"(?<!\w){re.escape(cell.casefold())}(?!\w)", query.casefold()) is not None


def _is_given(cell: str, question: Question) -> bool:
    """True if the question asks by that value: it is in the SQL or its parameters."""
    conditions = (question.sql, *map(str, question.parameters.values()))
    return any(cell.casefold() in text.casefold() for text in conditions)


def _values(row: JsonObject) -> tuple[str, ...]:
    return tuple(map(str, row.values()))


async def _hidden_f1(question: Question, gold: Sequence[JsonObject], answer: str) -> float:
    """Return the item F1 of an answer over the cells that the question itself does not give."""
    scores = await score_question(question, gold, answer)
    names = {normal_name(column.name): column.name for column in question.columns}
    given_cells = {
        (place, name)
        for place, row in enumerate(gold)
        for name in names
        if _stands_in(str(row[names[name]]), question.query)
    }
    found = [(cell.credit, (cell.row, cell.column) in given_cells) for cell in scores.cells]
    right = sum(credit for credit, given in found if not given)
    hidden = len(gold) * len(names) - len(given_cells)
    claimed = scores.given_rows * len(names) - sum(given for _, given in found)
    # The harmonic mean of right / claimed and right / hidden.
    return 2 * right / (hidden + claimed) if right else 0.0


@dataclass(frozen=True, slots=True)
class ClosedBook:
    """What a model without tools knows: its mean item F1, the number of questions, and of replies that were cut off.

    A reply that was cut off counts as far as it goes: it may prove that the model knows, but never that it does not.
    """

    item_f1: float
    questions: int
    cut: int

    @property
    def problems(self) -> list[str]:
        """The reasons why this does not prove that the model does not know the world; empty if it does."""
        if self.item_f1 > GUESSED:
            return [f"it knows them: an item F1 of {self.item_f1:.3f}"]
        if self.cut > self.questions / 2:
            return [f"{self.cut} of {self.questions} replies were cut off at the token limit, which shows nothing"]
        return []


async def closed_book(
    client: ChatClient,
    world: World,
    questions: Sequence[Question],
    *,
    sampling: Mapping[str, JsonValue] | None = None,
    on_question: Callable[[], None] = lambda: None,
) -> ClosedBook:
    """Return what a model without tools knows of the cells that the questions do not give. Raises ModelFault."""
    gate = asyncio.Semaphore(AT_ONCE)
    fields: JsonObject = {"temperature": 0.0, **(sampling or {})}

    async def ask(question: Question) -> tuple[float, bool]:
        messages: list[JsonObject] = [{"role": "system", "content": _ASK}, {"role": "user", "content": question.query}]
        async with gate:
            completion = await client.complete(messages, **fields)
        on_question()
        return await _hidden_f1(question, question.gold(world.query), completion.text), completion.cut

    answerable = [question for question in questions if question.answer != "unanswerable"]
    found = await asyncio.gather(*(ask(question) for question in answerable))
    return ClosedBook(sum(f1 for f1, _ in found) / max(1, len(found)), len(found), sum(cut for _, cut in found))
