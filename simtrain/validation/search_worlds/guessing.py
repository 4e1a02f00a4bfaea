"""Guesses without a model: the most frequent value of a column, in the world or in answers to other questions."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from simtrain.contracts.question import Column, Question, cell_text
from simtrain.contracts.world import World
from simtrain.values.types import JsonObject

UNKNOWN: Final = "1"
"""The guess for a column of which nothing is known: counts are small."""

About: TypeAlias = tuple[str, str, str]
"""The content of a column: attribute, combination of facts, language of its words."""


class Guesser:
    """Guesses one value for each column. `answered`: the questions with their gold; a question's own gold never informs its guess."""

    def __init__(self, world: World, answered: Iterable[tuple[Question, Sequence[JsonObject]]]) -> None:
        self._world = world
        self._kinds = {
            f"{row['type']}.{row['name']}": row["target"]
            for row in world.query("select type, name, target from _attributes")
        }
        self._held: dict[str, Counter[str]] = {}
        self._answers: dict[About, Counter[str]] = {}
        for question, gold in answered:
            for column, about in _columns(question):
                self._answers.setdefault(about, Counter()).update(str(row[column.name]) for row in gold)

    def by_world(self, question: Question) -> dict[str, str]:
        """Return for each column the value that is right for most rows of the world."""
        found = dict.fromkeys((column.name for column in question.columns), UNKNOWN)
        for column, (attribute, combine, _) in _columns(question):
            if combine == "value":
                found[column.name] = _translated(column, _best(self._values(attribute), column))
        return found

    def by_answers(self, question: Question, gold: Sequence[JsonObject]) -> dict[str, str]:
        """Return for each column the value that is right most often in other answers; without any, that of the world."""
        found = self.by_world(question)
        for column, about in _columns(question):
            # Leave one out: the answer to the question itself must not help to guess it.
            others = self._answers[about] - Counter(str(row[column.name]) for row in gold)
            if others:
                found[column.name] = _best(others, column)
        return found

    def _values(self, attribute: str) -> Counter[str]:
        if attribute not in self._held:
            kind, _, name = attribute.partition(".")
            target = self._kinds.get(attribute)
            value = f'(select name from "{target}" where id = "{kind}"."{name}")' if target else f'"{name}"'
            rows = self._world.query(
                f'select {value} as value, count(*) as count from "{kind}" where "{name}" is not null group by 1'
            )
            self._held[attribute] = Counter({cell_text(row["value"]): int(row["count"]) for row in rows})
        return self._held[attribute]


def _columns(question: Question) -> list[tuple[Column, About]]:
    """Return the columns with known content."""
    if question.evidence is None:
        return []
    cells = question.evidence.cells
    return [
        (column, (cell.attribute, cell.combine, question.language if column.words else ""))
        for column in question.columns
        if (cell := cells.get(column.name)) is not None
    ]


def _best(values: Counter[str], column: Column) -> str:
    """Return the value that is right most often by the column's comparison; of equals, the first in order."""
    if not values:
        return UNKNOWN
    if "number_near" in column.metric and isinstance(column.criterion, float):
        near = _nearest(values, column.criterion)
        if near is not None:
            return near
    return min(values, key=lambda value: (-values[value], value))


def _nearest(values: Counter[str], tolerance: float) -> str | None:
    """Return the number with the most others within the tolerance; None if not all values are numbers."""
    try:
        numbers = sorted((float(value), value, count) for value, count in values.items())
    except ValueError:
        return None
    sizes = [number for number, _, _ in numbers]
    sums = [0]
    for _, _, count in numbers:
        sums.append(sums[-1] + count)

    def around(number: float) -> int:
        off = abs(number) * tolerance
        # Just below the lower bound, so that a number exactly on it counts.
        return sums[bisect_right(sizes, number + off)] - sums[bisect_right(sizes, number - off - 1e-12)]

    return max(numbers, key=lambda item: (around(item[0]), -item[0]))[1]


def _translated(column: Column, value: str) -> str:
    """Return a value in the words of the question."""
    return next((word for word, own in column.words.items() if own == value), value)
