"""The tree of a page template: the parts of a page, resolved against the schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from simtrain.worlds.search.pages.formats import Filter
from simtrain.worlds.search.spec.schema import Attribute, Type


@dataclass(frozen=True, slots=True)
class ProsePart:
    """Prose, free of facts."""

    text: str


@dataclass(frozen=True, slots=True)
class RowPath:
    """A row, by a variable and the refs that lead from it."""

    root: str
    refs: tuple[Attribute, ...]
    kind: Type

    @property
    def words(self) -> str:
        """Return the source text."""
        return ".".join([self.root, *(one.name for one in self.refs)])


@dataclass(frozen=True, slots=True)
class FactPart:
    """A fact that is stated: a path to a row, and which of its attributes. `alias`: its name as it was, or in short."""

    path: RowPath
    attribute: Attribute
    filters: tuple[Filter, ...] = ()
    fallback: str | None = None
    link: str | None = None
    """The label of the pages to link to; empty: whichever there are."""
    alias: str | None = None
    article: bool = False
    """Whether `a` or `an` precedes it."""


@dataclass(frozen=True, slots=True)
class PageFact:
    """What a page says of itself: its date, its number, how many pages and members its list has."""

    attribute: Attribute
    filters: tuple[Filter, ...] = ()


@dataclass(frozen=True, slots=True)
class SiteFact:
    """What a page says of its site."""

    attribute: Attribute


@dataclass(frozen=True, slots=True)
class GroupFact:
    """The value by which the members of a list belong together: it is stated of each of them."""

    filters: tuple[Filter, ...] = ()
    link: str | None = None


@dataclass(frozen=True, slots=True)
class PageLink:
    """A fixed text that leads to the pages of that label."""

    text: str
    label: str


@dataclass(frozen=True, slots=True)
class Paging:
    """Which page of a list this is, with links to the ones before and after; nothing if there is one page."""


@dataclass(frozen=True, slots=True)
class Rows:
    """What a loop runs over: the rows that refer to a row by `via`; without one the members of a list, or `every` row of a type."""

    kind: Type
    path: RowPath | None = None
    via: Attribute | None = None
    limit: int | None = None
    every: bool = False
    order: tuple[Attribute, ...] = ()
    """The path to the fact by which they are sorted; empty: as they come."""
    descending: bool = False


@dataclass(frozen=True, slots=True)
class LoopPart:
    """A part for each of some rows, and one for when there are none."""

    name: str
    rows: Rows
    body: tuple[Node, ...]
    otherwise: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Has:
    """Whether a fact is known: for flags, whether it is so."""

    fact: FactPart


@dataclass(frozen=True, slots=True)
class Compared:
    """A fact beside a constant."""

    fact: FactPart
    operator: str
    constant: str | int | float


@dataclass(frozen=True, slots=True)
class Same:
    """Whether two paths lead to the same row."""

    first: RowPath
    second: RowPath
    same: bool


@dataclass(frozen=True, slots=True)
class Edge:
    """Whether a loop is at its `first` or `last` row."""

    edge: str


@dataclass(frozen=True, slots=True)
class HasRows:
    """Whether a loop would have rows."""

    rows: Rows


@dataclass(frozen=True, slots=True)
class Corrected:
    """Whether the site has a fact wrong elsewhere and puts it right on this page."""

    fact: FactPart


@dataclass(frozen=True, slots=True)
class Counted:
    """How many rows a loop would have, beside a constant."""

    rows: Rows
    operator: str
    constant: int


@dataclass(frozen=True, slots=True)
class Speaks:
    """Whether a page is written in this one of its site's voices."""

    voice: int


@dataclass(frozen=True, slots=True)
class Not:
    """The contrary."""

    test: Test


@dataclass(frozen=True, slots=True)
class Both:
    """Two tests tied by `and` or `or`."""

    first: Test
    word: str
    second: Test


@dataclass(frozen=True, slots=True)
class Branch:
    """One part or another."""

    test: Test
    body: tuple[Node, ...]
    otherwise: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class WordsPart:
    """Prose with several phrases, one drawn for each page: one list for all pages, or one for each voice of the site.

    What a voice says has a `name`: no page says the same under it twice, as long as there is something else to say. `each` phrase then
    stands in the list so many times, with other words behind it.
    """

    lists: tuple[tuple[str, ...], ...]
    name: str = ""
    each: int = 1


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several parts that state facts, drawn for each page."""

    options: tuple[tuple[Node, ...], ...]


@dataclass(frozen=True, slots=True)
class Comments:
    """What readers say under some pages: on this share of them up to so many, each under the name of a reader."""

    share: float
    most: int
    heading: str
    readers: WordsPart
    options: tuple[tuple[Node, ...], ...]


Test: TypeAlias = Has | Compared | Same | Edge | HasRows | Speaks | Corrected | Counted | Not | Both
Node: TypeAlias = (
    ProsePart
    | WordsPart
    | Choice
    | Comments
    | FactPart
    | PageFact
    | SiteFact
    | GroupFact
    | PageLink
    | Paging
    | LoopPart
    | Branch
)


def tests(nodes: Iterable[Node]) -> Iterator[Test]:
    """Yield all conditions, those that are parts of others included."""
    waiting = [node.test for node in walk(nodes) if isinstance(node, Branch)]
    while waiting:
        test = waiting.pop()
        yield test
        if isinstance(test, Not):
            waiting.append(test.test)
        elif isinstance(test, Both):
            waiting += [test.first, test.second]


def walk(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield all nodes, including those in loops, branches and choices."""
    for node in nodes:
        yield node
        for part in parts_of(node):
            yield from walk(part)


def parts_of(node: Node) -> tuple[tuple[Node, ...], ...]:
    """Return the children of a node: the two sides of a loop or a branch, the options of a choice."""
    if isinstance(node, LoopPart | Branch):
        return node.body, node.otherwise
    return node.options if isinstance(node, Choice | Comments) else ()
