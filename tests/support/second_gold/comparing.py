"""Holding a gold table against the second one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from .asked import Asked, Condition, Only, Tie, Undecided, Unreadable
from .facts import Facts
from .reading import Reader, nobodies
from .walking import Mean, Table, Walk


class SecondGold:
    """Answers questions about one world from their text and the facts."""

    def __init__(self, world: Path) -> None:
        self.facts = Facts(world)
        self._readers: dict[str, Reader] = {}

    def senses(self, text: str, language: str) -> set[Asked]:
        """Every way to read a question. Raises Unreadable."""
        if language not in self._readers:
            self._readers[language] = Reader(self.facts, language)
        return self._readers[language].read(text)

    def answer(self, text: str, language: str) -> Table | None:
        """The gold table of a question; None where it rests on what does not exist. Raises Unreadable, Undecided."""
        found: list[Table | None] = []
        for asked in self.senses(text, language):
            table = None if any(nobodies(asked.conditions)) else Walk(self.facts, asked.today).table(asked)
            if not any(_same(table, other) for other in found):
                found.append(table)
        if len(found) > 1:
            raise Undecided("it can be read in two ways, with two answers")
        return found[0]

    def difference(self, text: str, language: str, gold: list[dict[str, str]] | None) -> str | None:
        """Why a gold table (None: the question is said to have no answer) is not what the text asks for; None where it is."""
        try:
            answer = self.answer(text, language)
        except Unreadable as problem:
            return f"unreadable: {problem}"
        except Undecided as problem:
            return f"undecided: {problem}"
        if gold is None and _tells_nothing(answer, text):
            return None
        if gold is not None and answer is not None and all(set(row) == {""} for row in answer):
            # The answer is a bare name: no words of the question head it.
            answer = [dict.fromkeys(gold[0], row[""]) for row in answer] if gold else answer
        if _same(answer, gold):
            return None
        return f"gold has {_shown(gold)}, the facts give {_shown(answer)}"

    def idle(self, text: str, language: str) -> list[Condition]:
        """The conditions without which the answer would be the same."""
        asked = min(self.senses(text, language), key=repr)
        walk = Walk(self.facts, asked.today)
        table = walk.table(asked)
        found: list[Condition] = []
        for condition, rest in weaker(asked.conditions):
            try:
                less = walk.table(replace(asked, conditions=rest, ever=True))
            except Undecided:
                continue
            if _same(less, table):
                found.append(condition)
        return found


def weaker(conditions: tuple[Condition, ...]) -> Iterator[tuple[Condition, tuple[Condition, ...]]]:
    """Each condition, or part of one, with what is left without it."""
    for place, condition in enumerate(conditions):
        before, after = conditions[:place], conditions[place + 1 :]
        yield condition, (*before, *after)
        if isinstance(condition, Tie) and condition.present:
            if condition.now:
                yield condition, (*before, replace(condition, now=False), *after)
            if condition.clause is not None:
                yield condition, (*before, replace(condition, clause=None), *after)
        if isinstance(condition, Only):
            for inner, rest in weaker(condition.conditions):
                yield inner, (*before, replace(condition, conditions=rest), *after)


def _tells_nothing(answer: Table | None, text: str) -> bool:
    """True if the facts give no row, or none with a value that the text does not give itself."""
    return not answer or all(
        value is None or (isinstance(value, str) and value in text) for row in answer for value in row.values()
    )


def _same(first: list[dict[str, Any]] | None, second: list[dict[str, Any]] | None) -> bool:
    """True if two tables have the same columns and the same rows, in any order."""
    if first is None or second is None:
        return first is second
    means = {name for row in first for name, value in row.items() if isinstance(value, Mean)}
    rows, others = ([_row(row, means) for row in table] for table in (first, second))
    if not means:
        return Counter(rows) == Counter(others)
    return len(rows) == len(others) and all(map(_near, sorted(rows), sorted(others)))


def _row(row: dict[str, Any], means: set[str]) -> tuple[tuple[str, str], ...]:
    """The cells of a row in order of their columns, means last."""
    return tuple(sorted((f"{name in means:d}{name}", _text(value)) for name, value in row.items()))


def _near(first: tuple[tuple[str, str], ...], second: tuple[tuple[str, str], ...]) -> bool:
    """True if two rows differ in their means alone, and there by the rounding of the second digit."""
    return len(first) == len(second) and all(
        name == other and (value == told or (name[0] == "1" and abs(float(value) - float(told)) < 0.005001))
        for (name, value), (other, told) in zip(first, second, strict=True)
    )


def _text(value: Any) -> str:
    """A cell in one form: numbers without needless digits, what does not exist as N/A."""
    if value is None:
        return "N/A"
    try:
        return f"{float(value):.10g}"
    except ValueError:
        return str(value)


def _shown(table: list[dict[str, Any]] | None) -> str:
    return "no answer" if table is None else json.dumps(table, ensure_ascii=False)
