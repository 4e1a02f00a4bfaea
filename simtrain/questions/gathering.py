"""The basis of a question: its gold table, the facts behind each cell, and the facts that decide on the rows."""

from collections.abc import Sequence
from dataclasses import dataclass

from simtrain.contracts.question import CellSource, Question, cell_text
from simtrain.contracts.world import World
from simtrain.questions.stating import Needed
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject


@dataclass(frozen=True, slots=True)
class Gathered:
    """The gold rows, the facts behind each of their cells, and the facts that decide which rows there are."""

    rows: list[JsonObject]
    cells: list[list[tuple[Needed, ...]]]
    deciding: tuple[Needed, ...]

    @property
    def stated(self) -> list[Needed]:
        """The facts behind the cells, without repetition, in order."""
        return list(dict.fromkeys(fact for row in self.cells for cell in row for fact in cell))

    @property
    def facts(self) -> list[Needed]:
        """All facts, without repetition, in order."""
        return list(dict.fromkeys((*self.stated, *self.deciding)))


def gather(question: Question, world: World) -> Gathered:
    """Return the gold with its facts. Raises InputError for a question without rows, with ambiguous rows, or without evidence."""
    gold = question.gold(world.query)
    evidence = question.evidence
    if evidence is None:
        raise InputError(f"the question {question.id!r} names no evidence")
    places = {tuple(row[name] for name in question.key): place for place, row in enumerate(gold)}
    gathered: list[list[dict[Needed, None]]] = [[{} for _ in question.columns] for _ in gold]
    deciding: dict[Needed, None] = {}
    for row in world.query(evidence.sql, question.parameters):
        place = places.get(tuple(cell_text(row[name]) for name in question.key))
        if place is None:
            continue
        for column, facts in zip(question.columns, gathered[place], strict=True):
            cell = evidence.cells[column.name]
            # Several rows of evidence may belong to one gold row: a count or sum needs all, a plain value just one.
            if cell.combine == "value" and facts:
                continue
            fact = _needed(cell, row, gold[place][column.name])
            if fact is not None:
                facts[fact] = None
        for fact in evidence.deciding:
            entity = row[fact.entity]
            if entity is not None:
                kind, _, name = fact.attribute.partition(".")
                deciding[Needed(kind, name, entity)] = None
    return Gathered(gold, [[tuple(facts) for facts in row] for row in gathered], tuple(deciding))


def _needed(cell: CellSource, row: JsonObject, value: str) -> Needed | None:
    entity = row[cell.entity]
    if entity is None:
        return None
    kind, _, name = cell.attribute.partition(".")
    if cell.site is None:
        return Needed(kind, name, entity)
    return Needed(kind, name, entity, cell.site, value)


def names_in(question: Question, rows: Sequence[JsonObject]) -> list[str]:
    """Return the names in the cells of a question, which a reader has to tell apart."""
    columns = [column.name for column in question.columns if column.names is not None]
    return list(dict.fromkeys(str(row[name]) for row in rows for name in columns))
