"""What the parser makes of tokens."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Literal:
    """A number, true, false or none."""

    value: int | float | bool | None


@dataclass(frozen=True)
class Text:
    """A text: pieces as they are, and expressions whose values come between them."""

    parts: tuple["str | Node", ...]


@dataclass(frozen=True)
class Reference:
    """Another value, by its path from the outermost table."""

    path: tuple[str, ...]
    line: int
    column: int


@dataclass(frozen=True)
class Operation:
    """Two values and a sign between them."""

    sign: str
    left: "Node"
    right: "Node"
    line: int
    column: int


@dataclass(frozen=True)
class Items:
    """A list."""

    items: tuple["Node", ...]


@dataclass(frozen=True)
class Block:
    """A table: keys in the order of their first appearance."""

    entries: tuple[tuple[str, "Node"], ...]


Node: TypeAlias = Literal | Text | Reference | Operation | Items | Block
