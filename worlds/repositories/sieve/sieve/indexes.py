"""Rows by value, rows in order."""

from bisect import bisect_left, bisect_right

from sieve.errors import QueryError
from sieve.values import sort_key


class HashIndex:
    """The rows of each value of a column. `unique` refuses a second one, but not a second None."""

    def __init__(self, column: str, *, unique: bool = False) -> None:
        self.column = column
        self.unique = unique
        self._rows: dict[object, list[int]] = {}

    def add(self, value: object, row: int) -> None:
        """Add a row."""
        self.check(value)
        self._rows.setdefault(value, []).append(row)

    def check(self, value: object) -> None:
        """Raise QueryError if no further row may have a value."""
        if self.unique and value is not None and self._rows.get(value):
            raise QueryError(f"{self.column} {value!r} is there already")

    def remove(self, value: object, row: int) -> None:
        """Take a row away."""
        rows = self._rows.get(value, [])
        rows.remove(row)
        if not rows:
            del self._rows[value]

    def find(self, value: object) -> list[int]:
        """Return the rows of a value, in order; none for None."""
        return [] if value is None else sorted(self._rows.get(value, []))

    def __len__(self) -> int:
        return len(self._rows)


class SortedIndex:
    """The rows of a column in the order of its values."""

    def __init__(self, column: str) -> None:
        self.column = column
        self._entries: list[tuple[tuple, int]] = []

    def add(self, value: object, row: int) -> None:
        """Add a row."""
        entry = (sort_key(value), row)
        self._entries.insert(bisect_left(self._entries, entry), entry)

    def remove(self, value: object, row: int) -> None:
        """Take a row away."""
        entry = (sort_key(value), row)
        at = bisect_left(self._entries, entry)
        if at == len(self._entries) or self._entries[at] != entry:
            raise ValueError(f"row {row} is not in the index")
        del self._entries[at]

    def between(
        self,
        low: object = None,
        high: object = None,
        *,
        low_open: bool = False,
        high_open: bool = False,
    ) -> list[int]:
        """Return the rows of values between two borders, in the order of rows; None is no border."""
        keys = [key for key, _ in self._entries]
        first = bisect_right(keys, (0, 0))
        if low is not None:
            side = bisect_right if low_open else bisect_left
            first = max(first, side(keys, sort_key(low)))
        last = len(keys)
        if high is not None:
            side = bisect_left if high_open else bisect_right
            last = side(keys, sort_key(high))
        return sorted(row for _, row in self._entries[first:last])

    def __len__(self) -> int:
        return len(self._entries)
