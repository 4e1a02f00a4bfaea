"""The value of an expression for a row."""

from collections.abc import Iterator, Mapping, Sequence

from sieve.errors import QueryError
from sieve.functions import AGGREGATES, aggregate, call_scalar, check_call
from sieve.nodes import (
    Between,
    Binary,
    Call,
    Case,
    Column,
    Expression,
    Literal,
    Parameter,
    Unary,
    Within,
)
from sieve.values import arithmetic, both, compare, either, like, opposite


class Scope:
    """The columns that a query knows: table -> column -> place in a joined row."""

    def __init__(self) -> None:
        self._places: dict[str, dict[str, int]] = {}
        self.width = 0

    def add(self, alias: str, columns: Sequence[str]) -> None:
        """Add the columns of a table."""
        if alias.lower() in self._places:
            raise QueryError(f"{alias!r} is there twice, give one another name")
        self._places[alias.lower()] = {
            column: self.width + place for place, column in enumerate(columns)
        }
        self.width += len(columns)

    def place(self, column: Column) -> int:
        """Return where a column is in a row."""
        name = column.name.lower()
        if column.table is not None:
            table = self._places.get(column.table.lower())
            if table is None:
                raise QueryError(f"there is no table {column.table!r}", column.at)
            if name not in table:
                raise QueryError(f"{column.table} has no column {column.name!r}", column.at)
            return table[name]
        found = [table[name] for table in self._places.values() if name in table]
        if not found:
            raise QueryError(f"there is no column {column.name!r}", column.at)
        if len(found) > 1:
            raise QueryError(f"{column.name!r} is in several tables", column.at)
        return found[0]

    def columns(self, alias: str | None = None) -> list[tuple[str, int]]:
        """Return the names and places of all columns, or of those of one table."""
        if alias is not None and alias.lower() not in self._places:
            raise QueryError(f"there is no table {alias!r}")
        tables = self._places.values() if alias is None else [self._places[alias.lower()]]
        return [one for table in tables for one in table.items()]


def children(node: Expression) -> Iterator[Expression]:
    """Yield the expressions directly within one."""
    if isinstance(node, Unary):
        yield node.operand
    elif isinstance(node, Binary):
        yield from (node.left, node.right)
    elif isinstance(node, Within):
        yield from (node.value, *node.items)
    elif isinstance(node, Between):
        yield from (node.value, node.low, node.high)
    elif isinstance(node, Call):
        yield from node.arguments
    elif isinstance(node, Case):
        for condition, value in node.branches:
            yield from (condition, value)
        if node.otherwise is not None:
            yield node.otherwise


def has_aggregate(node: Expression) -> bool:
    """Return whether an expression is about a group of rows."""
    own = isinstance(node, Call) and node.name in AGGREGATES
    return own or any(map(has_aggregate, children(node)))


def check(node: Expression, scope: Scope, *, groups_allowed: bool) -> None:
    """Raise QueryError for columns and functions that do not exist, or stand in the wrong place."""
    if isinstance(node, Column):
        scope.place(node)
    if isinstance(node, Call):
        if node.star and node.name != "count":
            raise QueryError(f"{node.name}(*) means nothing", node.at)
        if not node.star:
            check_call(node.name, len(node.arguments), node.at)
        if node.name in AGGREGATES:
            if not groups_allowed:
                raise QueryError(f"{node.name} is about groups, which are not known here", node.at)
            groups_allowed = False
    for child in children(node):
        check(child, scope, groups_allowed=groups_allowed)


class Evaluator:
    """Works out expressions over rows, or over groups of rows."""

    def __init__(self, scope: Scope, parameters: Sequence[object]) -> None:
        self._scope = scope
        self._parameters = parameters

    def value(
        self,
        node: Expression,
        row: Sequence[object],
        group: Sequence[Sequence[object]] | None = None,
    ) -> object:
        """Return the value for a row, or for a group of which the row is the first."""
        if isinstance(node, Literal):
            return node.value
        if isinstance(node, Parameter):
            return self._parameters[node.number]
        if isinstance(node, Column):
            return row[self._scope.place(node)]
        if isinstance(node, Unary):
            return self._unary(node, self.value(node.operand, row, group))
        if isinstance(node, Binary):
            return self._binary(node, row, group)
        if isinstance(node, Within):
            return self._within(node, row, group)
        if isinstance(node, Between):
            value = self.value(node.value, row, group)
            low = compare(">=", value, self.value(node.low, row, group))
            high = compare("<=", value, self.value(node.high, row, group))
            found = both(low, high)
            return opposite(found) if node.negated else found
        if isinstance(node, Case):
            for condition, value in node.branches:
                if self.value(condition, row, group) is True:
                    return self.value(value, row, group)
            return None if node.otherwise is None else self.value(node.otherwise, row, group)
        return self._call(node, row, group)

    def _unary(self, node: Unary, value: object) -> object:
        if node.sign == "is null":
            return value is None
        if node.sign == "is not null":
            return value is not None
        if node.sign == "not":
            return opposite(_truth(value))
        return arithmetic("-", 0, value)

    def _binary(self, node: Binary, row: Sequence, group: Sequence | None) -> object:
        left = self.value(node.left, row, group)
        if node.sign in ("and", "or"):
            joined = both if node.sign == "and" else either
            return joined(_truth(left), _truth(self.value(node.right, row, group)))
        right = self.value(node.right, row, group)
        if node.sign == "like":
            return like(left, right)
        if node.sign in ("=", "<>", "<", "<=", ">", ">="):
            return compare(node.sign, left, right)
        return arithmetic(node.sign, left, right)

    def _within(self, node: Within, row: Sequence, group: Sequence | None) -> bool | None:
        value = self.value(node.value, row, group)
        found: bool | None = False
        for item in node.items:
            found = either(found, compare("=", value, self.value(item, row, group)))
        return opposite(found) if node.negated else found

    def _call(self, node: Call, row: Sequence, group: Sequence | None) -> object:
        if node.name not in AGGREGATES:
            return call_scalar(node.name, [self.value(one, row, group) for one in node.arguments])
        rows = group or []
        if node.star:
            return len(rows)
        values = [self.value(node.arguments[0], one) for one in rows]
        if len(node.arguments) > 1:
            sign = self.value(node.arguments[1], row)
            return aggregate(node.name, values, node.distinct, str(sign))
        return aggregate(node.name, values, node.distinct)


def _truth(value: object) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise QueryError(f"{value!r} is neither true nor false")


def parameters_given(count: int, given: Sequence[object] | Mapping) -> None:
    """Raise QueryError for another number of parameters than a query has."""
    if count != len(given):
        raise QueryError(f"the query has {count} parameters, {len(given)} were given")
