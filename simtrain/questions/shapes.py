"""The structure of a composed question, before SQL and words: joined tables, conditions, columns, and the choice of rows."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self, TypeAlias, TypeVar

from simtrain.values.seeding import Stream
from simtrain.values.types import JsonValue

Operator: TypeAlias = Literal["=", "<>", "in", ">=", "<=", "between", "current", "ended", "on", "more", "less"]
"""`current`, `ended` and `on` (a day) test the time for which a row holds; `more` and `less` compare with another term."""

Combine: TypeAlias = Literal["count", "sum", "mean"]

T = TypeVar("T")


class DrawRefused(Exception):
    """A draw that makes no question. The message is the reason."""

    def __init__(self, reason: str = "the draw led nowhere") -> None:
        super().__init__(reason)


def drawn(choices: Sequence[T], stream: Stream) -> T:
    """Return one of the choices. Raises DrawRefused if there is none."""
    if not choices:
        raise DrawRefused
    return stream.choose(choices)


@dataclass(frozen=True, slots=True)
class JoinNode:
    """A table in the join: the subject, or the target of the reference `ref` of the node `parent`."""

    table: str
    parent: int = -1
    ref: str = ""


@dataclass(frozen=True, slots=True)
class Term:
    """An attribute at a node."""

    node: int
    attribute: str


@dataclass(frozen=True, slots=True)
class Test:
    """A condition on a term: a comparison with values or with another term."""

    term: Term
    operator: Operator
    values: tuple[JsonValue, ...] = ()
    other: Term | None = None


@dataclass(frozen=True, slots=True)
class Exists:
    """A condition that a row of another table refers to the subject by `ref`, or, if `negated`, that none does.

    With a `path` of references from such a row, only rows count for which `test` holds at its end (the test's node is the number of
    the last step).
    """

    table: str
    ref: str
    path: tuple[str, ...] = ()
    test: Test | None = None
    current: bool = False
    negated: bool = False

    @property
    def hops(self) -> int:
        """The number of references from the subject to the tested attribute."""
        return 1 + len(self.path)


@dataclass(frozen=True, slots=True)
class GroupMeasure:
    """A figure over the rows of a group."""

    combine: Combine
    term: Term


@dataclass(frozen=True, slots=True)
class Extreme:
    """The rows with the highest (or lowest) value of a term: `count` of all, or, with `group`, the one of each group."""

    term: Term
    highest: bool
    count: int = 1
    group: int | None = None


@dataclass(frozen=True, slots=True)
class Dispute:
    """An attribute of the subject that one site states correctly and another does not."""

    attribute: str
    trusted: str
    other: str


@dataclass(frozen=True, slots=True)
class Shape:
    """A question as a structure. Its rows are those of node 0 that meet all conditions; with `group`, one per entity of that node."""

    family: str
    nodes: tuple[JoinNode, ...]
    columns: tuple[Term | GroupMeasure, ...]
    key: tuple[int, ...] = (0,)
    tests: tuple[Test, ...] = ()
    exists: tuple[Exists, ...] = ()
    group: int | None = None
    extreme: Extreme | None = None
    dispute: Dispute | None = None
    described: int | None = None
    """The node that is described by its tests, which only one row of its table meets, and not named."""

    @property
    def subject(self) -> str:
        """The table whose rows are asked for or counted."""
        return self.nodes[0].table

    @property
    def hops(self) -> int:
        """The number of references between the subject and the farthest fact."""
        return max([*map(self.depth, range(len(self.nodes))), *(item.hops for item in self.exists)])

    @property
    def deciding(self) -> list[int]:
        """The nodes whose facts decide which rows there are, and those by which rows are grouped."""
        terms = [term for test in self.tests for term in (test.term, test.other)]
        groups = [self.group]
        if self.extreme is not None:
            terms.append(self.extreme.term)
            groups.append(self.extreme.group)
        nodes = [*(None if term is None else term.node for term in terms), *groups]
        return [node for node in nodes if node is not None]

    def depth(self, node: int) -> int:
        """Return the number of references between the subject and a node."""
        return len(self.path(node))

    def path(self, node: int) -> list[JoinNode]:
        """Return the nodes on the way from the subject (exclusive) to a node (inclusive)."""
        return [self.nodes[place] for place in self.places(node)[1:]]

    def places(self, node: int) -> list[int]:
        """Return the numbers of the nodes from the subject to a node."""
        return [0] if node <= 0 else [*self.places(self.nodes[node].parent), node]

    def asks_for(self) -> str:
        """Return a key for the rows: equal for questions that differ only in their columns."""
        return repr(replace(self, family="", columns=() if self.group is None else self.columns, key=()))

    def with_nodes(self, kept: Collection[int]) -> Self:
        """Return the shape with these nodes alone, numbered anew; all that it refers to is among them."""
        new = {place: at for at, place in enumerate(sorted(kept))}

        def moved(term: Term) -> Term:
            return replace(term, node=new[term.node])

        extreme = self.extreme
        if extreme is not None:
            group = None if extreme.group is None else new[extreme.group]
            extreme = replace(extreme, term=moved(extreme.term), group=group)
        return replace(
            self,
            nodes=tuple(replace(self.nodes[old], parent=new.get(self.nodes[old].parent, -1)) for old in new),
            columns=tuple(
                replace(column, term=moved(column.term)) if isinstance(column, GroupMeasure) else moved(column)
                for column in self.columns
            ),
            tests=tuple(
                replace(test, term=moved(test.term), other=None if test.other is None else moved(test.other))
                for test in self.tests
            ),
            extreme=extreme,
            group=None if self.group is None else new[self.group],
            described=None if self.described is None else new[self.described],
        )
