"""The tables of a world for a script that starts jobs."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar, cast

from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.machine.records import Records

T = TypeVar("T")


class JobRecords:
    """The tables for a script that starts jobs: what they answer is noted, and told again when one of its jobs is run again."""

    __slots__ = ("_answers", "_before", "_records", "told")

    def __init__(self, records: Records, answers: list[object], before: Callable[[], None]) -> None:
        """`answers` are told first, in their order. `before` is called before the tables are asked anything new."""
        self._records = records
        self._answers = answers
        self._before = before
        self.told = 0

    def read(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> list[JsonObject]:
        return self._answer(lambda: self._records.read(sql, parameters))

    def write(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> int:
        return self._answer(lambda: self._records.write(sql, parameters))

    def together(self) -> AbstractContextManager[None]:
        return self._records.together() if self.told == len(self._answers) else nullcontext()

    def _answer(self, ask: Callable[[], T]) -> T:
        if self.told == len(self._answers):
            self._before()
            self._answers.append(ask())
        self.told += 1
        return cast(T, self._answers[self.told - 1])
