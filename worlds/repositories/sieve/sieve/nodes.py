"""What the parser makes of tokens."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Literal:
    """A value."""

    value: object


@dataclass(frozen=True)
class Parameter:
    """A value that is given with the query, by its number from 0."""

    number: int


@dataclass(frozen=True)
class Column:
    """A column, with the table if it was named."""

    table: str | None
    name: str
    at: int


@dataclass(frozen=True)
class Unary:
    """A sign or `not` before a value."""

    sign: str
    operand: "Expression"


@dataclass(frozen=True)
class Binary:
    """Two values and what stands between them."""

    sign: str
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True)
class Within:
    """A value and a list that it may be in."""

    value: "Expression"
    items: tuple["Expression", ...]
    negated: bool


@dataclass(frozen=True)
class Between:
    """A value and two borders, which belong to it."""

    value: "Expression"
    low: "Expression"
    high: "Expression"
    negated: bool


@dataclass(frozen=True)
class Call:
    """A function; `star` for `count(*)`."""

    name: str
    arguments: tuple["Expression", ...]
    distinct: bool
    star: bool
    at: int


@dataclass(frozen=True)
class Case:
    """The value of the first condition that holds."""

    branches: tuple[tuple["Expression", "Expression"], ...]
    otherwise: "Expression | None"


Expression: TypeAlias = (
    Literal | Parameter | Column | Unary | Binary | Within | Between | Call | Case
)


@dataclass(frozen=True)
class Item:
    """One column of the answer; `expression` is None for `*`, of one table if `table` is given."""

    expression: Expression | None
    name: str
    table: str | None = None


@dataclass(frozen=True)
class Source:
    """A table, the name that it has in the query, and how it is joined."""

    table: str
    alias: str
    on: Expression | None = None
    left: bool = False


@dataclass(frozen=True)
class Order:
    """What is sorted by."""

    expression: Expression
    descending: bool


@dataclass(frozen=True)
class Select:
    """A whole query."""

    items: tuple[Item, ...]
    sources: tuple[Source, ...]
    where: Expression | None
    groups: tuple[Expression, ...]
    having: Expression | None
    orders: tuple[Order, ...]
    limit: Expression | None
    offset: Expression | None
    distinct: bool
    parameters: int
