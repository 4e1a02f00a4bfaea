"""Rows, their kinds, their indexes."""

from collections.abc import Callable, Mapping

from sieve.errors import QueryError
from sieve.indexes import HashIndex, SortedIndex

KINDS = (int, float, str, bool)


class Table:
    """Columns with their kinds, and rows by number. `version` grows with each change."""

    def __init__(self, name: str, columns: Mapping[str, type], key: str | None = None) -> None:
        self.name = name
        self.columns = {column.lower(): kind for column, kind in columns.items()}
        if len(self.columns) < len(columns):
            raise QueryError(f"{name} has a column twice")
        for column, kind in columns.items():
            if kind not in KINDS:
                raise QueryError(f"{kind!r} of {name}.{column} is no kind of column")
        self.rows: dict[int, tuple] = {}
        self.version = 0
        self.hashes: dict[str, HashIndex] = {}
        self.sorted: dict[str, SortedIndex] = {}
        self._next = 0
        if key is not None:
            self.index(key, unique=True)

    def position(self, column: str) -> int:
        """Return the place of a column in a row."""
        names = list(self.columns)
        if column.lower() not in names:
            raise QueryError(f"{self.name} has no column {column!r}")
        return names.index(column.lower())

    def index(self, column: str, *, unique: bool = False, ordered: bool = False) -> None:
        """Keep an index of a column."""
        place, name = self.position(column), column.lower()
        index = SortedIndex(name) if ordered else HashIndex(name, unique=unique)
        for number, row in self.rows.items():
            index.add(row[place], number)
        if isinstance(index, SortedIndex):
            self.sorted[name] = index
        else:
            self.hashes[name] = index

    def _indexes(self) -> list[tuple[int, HashIndex | SortedIndex]]:
        found = [*self.hashes.values(), *self.sorted.values()]
        return [(self.position(index.column), index) for index in found]

    def insert(self, values: Mapping[str, object]) -> int:
        """Add a row and return its number; columns that are left out are None."""
        row = self._row(values, (None,) * len(self.columns))
        for place, index in self._indexes():
            if isinstance(index, HashIndex):
                index.check(row[place])
        number = self._next
        self._next += 1
        self.rows[number] = row
        for place, index in self._indexes():
            index.add(row[place], number)
        self.version += 1
        return number

    def _row(self, values: Mapping[str, object], before: tuple) -> tuple:
        row = list(before)
        for column, value in values.items():
            place = self.position(column)
            row[place] = self._fitting(column, value)
        return tuple(row)

    def _fitting(self, column: str, value: object) -> object:
        kind = self.columns[column.lower()]
        if value is None or type(value) is kind:
            return value
        if kind is float and type(value) is int:
            return float(value)
        raise QueryError(f"{self.name}.{column} takes {kind.__name__}, not {value!r}")

    def update(self, number: int, values: Mapping[str, object]) -> None:
        """Change columns of a row."""
        before = self._existing(number)
        after = self._row(values, before)
        for place, index in self._indexes():
            if isinstance(index, HashIndex) and before[place] != after[place]:
                index.check(after[place])
        for place, index in self._indexes():
            index.remove(before[place], number)
            index.add(after[place], number)
        self.rows[number] = after
        self.version += 1

    def delete(self, number: int) -> None:
        """Remove a row."""
        row = self._existing(number)
        for place, index in self._indexes():
            index.remove(row[place], number)
        del self.rows[number]
        self.version += 1

    def _existing(self, number: int) -> tuple:
        if number not in self.rows:
            raise QueryError(f"{self.name} has no row {number}")
        return self.rows[number]

    def matching(self, wanted: Callable[[dict], bool]) -> list[int]:
        """Return the numbers of the rows that a function wants; it gets each as a dict."""
        names = list(self.columns)
        return [
            number
            for number, row in self.rows.items()
            if wanted(dict(zip(names, row, strict=True)))
        ]
