"""Tables by name, and answers that are kept until a table changes."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence

from sieve.errors import QueryError
from sieve.executor import Execution
from sieve.expressions import parameters_given
from sieve.nodes import Select
from sieve.parser import parse
from sieve.tables import Table


class Database:
    """All tables. `kept` answers are remembered, the least used are forgotten first."""

    def __init__(self, *, kept: int = 50) -> None:
        self._tables: dict[str, Table] = {}
        self._kept = kept
        self._answers: OrderedDict[tuple, tuple[tuple, list[str], list[tuple]]] = OrderedDict()
        self.hits = 0

    def create(self, name: str, columns: Mapping[str, type], key: str | None = None) -> Table:
        """Make a table."""
        if name.lower() in self._tables:
            raise QueryError(f"there is a table {name!r} already")
        table = self._tables[name.lower()] = Table(name, columns, key)
        return table

    def drop(self, name: str) -> None:
        """Remove a table."""
        self.table(name)
        del self._tables[name.lower()]
        self._answers.clear()

    def table(self, name: str) -> Table:
        """Return a table."""
        if name.lower() not in self._tables:
            raise QueryError(f"there is no table {name!r}")
        return self._tables[name.lower()]

    def insert(self, name: str, rows: Iterable[Mapping[str, object]]) -> int:
        """Add rows, all or none, and return how many."""
        table, added = self.table(name), []
        try:
            for row in rows:
                added.append(table.insert(row))
        except QueryError:
            for number in reversed(added):
                table.delete(number)
            raise
        return len(added)

    def update(self, name: str, values: Mapping[str, object], where: Callable[[dict], bool]) -> int:
        """Change the rows that a function wants, and return how many."""
        table = self.table(name)
        numbers = table.matching(where)
        for number in numbers:
            table.update(number, values)
        return len(numbers)

    def delete(self, name: str, where: Callable[[dict], bool]) -> int:
        """Remove the rows that a function wants, and return how many."""
        table = self.table(name)
        numbers = table.matching(where)
        for number in numbers:
            table.delete(number)
        return len(numbers)

    def query(self, text: str, parameters: Sequence[object] = ()) -> list[dict[str, object]]:
        """Return the rows of a query as dicts."""
        names, rows = self._answer(text, parameters)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def value(self, text: str, parameters: Sequence[object] = ()) -> object:
        """Return the first column of the first row; None if there is none."""
        _, rows = self._answer(text, parameters)
        return rows[0][0] if rows else None

    def explain(self, text: str, parameters: Sequence[object] = ()) -> list[str]:
        """Return how the tables of a query are read."""
        return self._execution(text, parameters)[1].how()

    def _execution(self, text: str, parameters: Sequence[object]) -> tuple[Select, Execution]:
        select = parse(text)
        parameters_given(select.parameters, parameters)
        return select, Execution(select, self._tables, parameters)

    def _answer(self, text: str, parameters: Sequence[object]) -> tuple[list[str], list[tuple]]:
        key = (text, tuple((type(one), one) for one in parameters))
        known = self._answers.get(key)
        if known is not None and known[0] == self._versions(table for table, _ in known[0]):
            self.hits += 1
            self._answers.move_to_end(key)
            return known[1], known[2]
        select, execution = self._execution(text, parameters)
        rows = execution.rows()
        versions = self._versions(source.table.lower() for source in select.sources)
        self._answers[key] = (versions, execution.names, rows)
        self._answers.move_to_end(key)
        while len(self._answers) > self._kept:
            self._answers.popitem(last=False)
        return execution.names, rows

    def _versions(self, names: Iterable[str]) -> tuple[tuple[str, int], ...]:
        return tuple((name, self._tables[name].version) for name in names)
