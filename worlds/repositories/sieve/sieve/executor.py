"""The rows of a SELECT."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from sieve.errors import QueryError
from sieve.expressions import Evaluator, Scope, check, has_aggregate
from sieve.nodes import Binary, Column, Expression, Literal, Order, Select, Source
from sieve.planner import access, conjuncts
from sieve.tables import Table
from sieve.values import sort_key


class Execution:
    """One query over tables."""

    def __init__(
        self, select: Select, tables: Mapping[str, Table], parameters: Sequence[object]
    ) -> None:
        self._select = select
        self._tables = tables
        self._parameters = parameters
        self._scope = Scope()
        for source in select.sources:
            self._scope.add(source.alias, list(self._table(source).columns))
        self._evaluator = Evaluator(self._scope, parameters)
        self._items = self._expanded()
        self._grouped = bool(select.groups) or any(
            has_aggregate(node) for node, _ in self._items if not isinstance(node, int)
        )
        self._check()

    def _table(self, source: Source) -> Table:
        table = self._tables.get(source.table.lower())
        if table is None:
            raise QueryError(f"there is no table {source.table!r}")
        return table

    def _expanded(self) -> list[tuple[Expression | int, str]]:
        """Return the columns of the answer; those of `*` by their places."""
        found: list[tuple[Expression | int, str]] = []
        for item in self._select.items:
            if item.expression is not None:
                found.append((item.expression, item.name))
            else:
                found += [(place, name) for name, place in self._scope.columns(item.table)]
        return found

    def _check(self) -> None:
        select = self._select
        for node, _ in self._items:
            if not isinstance(node, int):
                check(node, self._scope, groups_allowed=True)
        for node in (select.where, *select.groups, *(one.on for one in select.sources)):
            if node is not None:
                check(node, self._scope, groups_allowed=False)
        if select.having is not None:
            if not self._grouped:
                raise QueryError("having without groups")
            check(select.having, self._scope, groups_allowed=True)
        for order in select.orders:
            if self._named(order.expression) is None:
                check(order.expression, self._scope, groups_allowed=self._grouped)

    def _named(self, node: Expression) -> int | None:
        """Return which column of the answer an order means: by its name there, or its number."""
        names = [name.lower() for _, name in self._items]
        if isinstance(node, Column) and node.table is None and node.name.lower() in names:
            return names.index(node.name.lower())
        if isinstance(node, Literal) and type(node.value) is int:
            if not 1 <= node.value <= len(names):
                raise QueryError(f"there is no column {node.value} to sort by")
            return node.value - 1
        return None

    @property
    def names(self) -> list[str]:
        """The names of the columns of the answer; of equal ones the later have a number."""
        found: list[str] = []
        for _, name in self._items:
            number, own = 2, name
            while own in found:
                own, number = f"{name}_{number}", number + 1
            found.append(own)
        return found

    def how(self) -> list[str]:
        """Return how the tables are read, in words."""
        if not self._select.sources:
            return []
        first = self._select.sources[0]
        alone = len(self._select.sources) == 1
        found = access(
            self._select.where, first.alias, self._table(first), self._parameters, alone=alone
        )
        joins = [self._join_how(source) for source in self._select.sources[1:]]
        return [found.how, *joins]

    def _join_how(self, source: Source) -> str:
        key = self._join_key(source)
        table = self._table(source)
        return f"{table.name} by {key[0]}" if key else f"all rows of {table.name}"

    def rows(self) -> list[tuple]:
        """Return the rows of the answer."""
        joined = list(self._filtered(self._joined()))
        groups = self._groups(joined) if self._grouped else [(row, None) for row in joined]
        if self._select.having is not None:
            groups = [one for one in groups if self._holds(self._select.having, *one)]
        pairs = [(self._output(row, group), row, group) for row, group in groups]
        if self._select.distinct:
            first: dict[tuple, tuple] = {}
            for pair in pairs:
                first.setdefault(pair[0], pair)
            pairs = list(first.values())
        for order in reversed(self._select.orders):
            key = partial(self._order_key, order)
            pairs.sort(key=key, reverse=order.descending)
        return self._sliced([output for output, _, _ in pairs])

    def _order_key(self, order: Order, pair: tuple) -> tuple:
        output, row, group = pair
        place = self._named(order.expression)
        value = (
            output[place]
            if place is not None
            else self._evaluator.value(order.expression, row, group)
        )
        return sort_key(value)

    def _output(self, row: Sequence, group: Sequence | None) -> tuple:
        return tuple(
            row[node] if isinstance(node, int) else self._evaluator.value(node, row, group)
            for node, _ in self._items
        )

    def _holds(self, node: Expression, row: Sequence, group: Sequence | None = None) -> bool:
        value = self._evaluator.value(node, row, group)
        if value is not None and not isinstance(value, bool):
            raise QueryError(f"{value!r} is neither true nor false")
        return value is True

    def _filtered(self, rows: Iterator[tuple]) -> Iterator[tuple]:
        where = self._select.where
        return (row for row in rows if where is None or self._holds(where, row))

    def _joined(self) -> Iterator[tuple]:
        sources = self._select.sources
        if not sources:
            yield ()
            return
        table = self._table(sources[0])
        found = access(
            self._select.where,
            sources[0].alias,
            table,
            self._parameters,
            alone=len(sources) == 1,
        )
        numbers = table.rows if found.rows is None else found.rows
        rows: Iterator[tuple] = (table.rows[number] for number in numbers)
        for source in sources[1:]:
            rows = self._join(rows, source)
        yield from rows

    def _join(self, rows: Iterator[tuple], source: Source) -> Iterator[tuple]:
        table = self._table(source)
        key = self._join_key(source)
        for row in rows:
            matched = False
            padding = (None,) * (self._scope.width - len(row))
            for number in self._partners(table, key, row + padding):
                joined = row + table.rows[number]
                rest = (None,) * (self._scope.width - len(joined))
                if source.on is None or self._holds(source.on, joined + rest):
                    matched = True
                    yield joined
            if source.left and not matched:
                yield row + (None,) * len(table.columns)

    def _partners(self, table: Table, key: tuple[str, Expression] | None, row: tuple) -> list[int]:
        if key is None:
            return list(table.rows)
        column, other = key
        return table.hashes[column].find(self._evaluator.value(other, row))

    def _join_key(self, source: Source) -> tuple[str, Expression] | None:
        """Return an indexed column of a table and what it must equal, if `on` says so."""
        table = self._table(source)
        for node in conjuncts(source.on):
            if not isinstance(node, Binary) or node.sign != "=":
                continue
            for own, other in ((node.left, node.right), (node.right, node.left)):
                if not isinstance(own, Column) or not isinstance(other, Column):
                    continue
                named = (own.table or "").lower() == source.alias.lower()
                foreign = other.table is not None and other.table.lower() != source.alias.lower()
                if named and foreign and own.name.lower() in table.hashes:
                    return own.name.lower(), other
        return None

    def _groups(self, rows: list[tuple]) -> list[tuple[tuple, list[tuple]]]:
        if not self._select.groups:
            return [(rows[0] if rows else (None,) * self._scope.width, rows)]
        found: dict[tuple, list[tuple]] = {}
        for row in rows:
            key = tuple(self._evaluator.value(node, row) for node in self._select.groups)
            found.setdefault(key, []).append(row)
        return [(group[0], group) for group in found.values()]

    def _sliced(self, rows: list[tuple]) -> list[tuple]:
        offset = self._count(self._select.offset, "offset") or 0
        limit = self._count(self._select.limit, "limit")
        return rows[offset:] if limit is None else rows[offset : offset + limit]

    def _count(self, node: Expression | None, what: str) -> int | None:
        if node is None:
            return None
        value = self._evaluator.value(node, ())
        if type(value) is not int or value < 0:
            raise QueryError(f"{what} is {value!r}, not a number of rows")
        return value
