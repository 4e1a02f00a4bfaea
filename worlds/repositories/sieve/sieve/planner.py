"""Which index helps."""

from collections.abc import Sequence
from dataclasses import dataclass

from sieve.expressions import children
from sieve.nodes import Between, Binary, Column, Expression, Literal, Parameter, Within
from sieve.tables import Table

FLIPPED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Access:
    """How the rows of the first table are reached; `how` says it in words."""

    rows: tuple[int, ...] | None
    how: str


def conjuncts(node: Expression | None) -> list[Expression]:
    """Return the conditions that must all hold."""
    if node is None:
        return []
    if isinstance(node, Binary) and node.sign == "and":
        return [*conjuncts(node.left), *conjuncts(node.right)]
    return [node]


def _constant(node: Expression, parameters: Sequence[object]) -> tuple[bool, object]:
    if isinstance(node, Literal):
        return True, node.value
    if isinstance(node, Parameter):
        return True, parameters[node.number]
    return False, None


def _own(node: Expression, alias: str, table: Table) -> str | None:
    """Return the column of this table that an expression is; None for anything else."""
    if not isinstance(node, Column) or node.name.lower() not in table.columns:
        return None
    return node.name.lower() if node.table is None or node.table.lower() == alias else None


def _simple(
    node: Expression, alias: str, table: Table, parameters: Sequence[object]
) -> tuple[str, str, object] | None:
    """Return column, sign and value of a condition like `born >= 1990`, in either order."""
    if not isinstance(node, Binary) or node.sign not in FLIPPED:
        return None
    for first, second, sign in (
        (node.left, node.right, node.sign),
        (node.right, node.left, FLIPPED[node.sign]),
    ):
        column = _own(first, alias, table)
        known, value = _constant(second, parameters)
        if column is not None and known:
            return column, sign, value
    return None


def access(
    where: Expression | None, alias: str, table: Table, parameters: Sequence[object], *, alone: bool
) -> Access:
    """Return the rows that an index finds, at least all that the condition wants; else all.

    Names without a table are only sure to be of this one if it stands `alone`.
    """
    best = Access(None, f"all rows of {table.name}")
    for node in conjuncts(where):
        if not alone and any(isinstance(one, Column) and one.table is None for one in _all(node)):
            continue
        found = _by_index(node, alias.lower(), table, parameters)
        if found is not None and (best.rows is None or len(found.rows) < len(best.rows)):
            best = found
    return best


def _all(node: Expression) -> list[Expression]:
    return [node, *(inner for child in children(node) for inner in _all(child))]


def _by_index(
    node: Expression, alias: str, table: Table, parameters: Sequence[object]
) -> Access | None:
    simple = _simple(node, alias, table, parameters)
    if simple is not None:
        column, sign, value = simple
        if value is None:
            return Access((), f"nothing: {column} {sign} null")
        if sign == "=" and column in table.hashes:
            rows = table.hashes[column].find(value)
            return Access(tuple(rows), f"{table.name} by {column}")
        if column in table.sorted:
            return _by_order(table, column, sign, value)
    if isinstance(node, Within) and not node.negated:
        return _by_items(node, alias, table, parameters)
    if isinstance(node, Between) and not node.negated:
        column = _own(node.value, alias, table)
        low, high = _constant(node.low, parameters), _constant(node.high, parameters)
        if column in table.sorted and low[0] and high[0] and None not in (low[1], high[1]):
            rows = table.sorted[column].between(low[1], high[1])
            return Access(tuple(rows), f"{table.name} in order of {column}")
    return None


def _by_order(table: Table, column: str, sign: str, value: object) -> Access:
    index = table.sorted[column]
    if sign == "=":
        rows = index.between(value, value)
    elif sign in ("<", "<="):
        rows = index.between(high=value, high_open=sign == "<")
    else:
        rows = index.between(low=value, low_open=sign == ">")
    return Access(tuple(rows), f"{table.name} in order of {column}")


def _by_items(
    node: Within, alias: str, table: Table, parameters: Sequence[object]
) -> Access | None:
    column = _own(node.value, alias, table)
    if column not in table.hashes:
        return None
    rows: set[int] = set()
    for item in node.items:
        known, value = _constant(item, parameters)
        if not known:
            return None
        rows.update(table.hashes[column].find(value))
    return Access(tuple(sorted(rows)), f"{table.name} by {column}")
