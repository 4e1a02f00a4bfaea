"""The nodes of a page template, resolved against the schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from simtrain.worlds.search.pages.formats import Filter
from simtrain.worlds.search.spec.schema import Attribute, Type


@dataclass(frozen=True, slots=True)
class ProsePart:
    """Prose without facts."""

    text: str


@dataclass(frozen=True, slots=True)
class RowPath:
    """A path to a row: a variable and the refs to follow from it."""

    root: str
    refs: tuple[Attribute, ...]
    kind: Type

    @property
    def words(self) -> str:
        """Return the source text."""
        return ".".join([self.root, *(one.name for one in self.refs)])


@dataclass(frozen=True, slots=True)
class FactPart:
    """A stated fact: a path to a row, and one of its attributes. `alias`: `former` or `short` for another name of the row."""

    path: RowPath
    attribute: Attribute
    filters: tuple[Filter, ...] = ()
    fallback: str | None = None
    link: str | None = None
    """The label of the pages to link to; empty: any; None: no link."""
    alias: str | None = None
    article: bool = False
    """True if `a` or `an` precedes it."""


@dataclass(frozen=True, slots=True)
class PageFact:
    """A fact of the page itself: its date, its number, the number of pages or members of its list."""

    attribute: Attribute
    filters: tuple[Filter, ...] = ()


@dataclass(frozen=True, slots=True)
class SiteFact:
    """A fact of the page's site."""

    attribute: Attribute


@dataclass(frozen=True, slots=True)
class GroupFact:
    """The value by which a list is grouped; stating it states it of every member."""

    filters: tuple[Filter, ...] = ()
    link: str | None = None


@dataclass(frozen=True, slots=True)
class PageLink:
    """A fixed text that leads to the pages of that label."""

    text: str
    label: str


@dataclass(frozen=True, slots=True)
class Paging:
    """The number of a list's page, with links to the previous and next one; nothing if there is only one page."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a loop: those that refer to a row by `via`; without it the members of a list, or `every` row of a type."""

    kind: Type
    path: RowPath | None = None
    via: Attribute | None = None
    limit: int | None = None
    every: bool = False
    order: tuple[Attribute, ...] = ()
    """The path to the fact that they are sorted by; empty: in stored order."""
    descending: bool = False


@dataclass(frozen=True, slots=True)
class LoopPart:
    """A loop: nodes for each row, and nodes for when there is none."""

    name: str
    rows: Rows
    body: tuple[Node, ...]
    otherwise: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Has:
    """Test: a fact has a value; for a flag, the flag is set."""

    fact: FactPart


@dataclass(frozen=True, slots=True)
class Compared:
    """Test: a fact compared with a constant."""

    fact: FactPart
    operator: str
    constant: str | int | float


@dataclass(frozen=True, slots=True)
class Same:
    """Test: two paths lead to the same row, or, if not `same`, to different ones."""

    first: RowPath
    second: RowPath
    same: bool


@dataclass(frozen=True, slots=True)
class Edge:
    """Test: a loop is at its `first` or `last` row."""

    edge: str


@dataclass(frozen=True, slots=True)
class HasRows:
    """Test: a loop would have rows."""

    rows: Rows


@dataclass(frozen=True, slots=True)
class Corrected:
    """Test: the site has a fact wrong elsewhere, and this page corrects it."""

    fact: FactPart


@dataclass(frozen=True, slots=True)
class Counted:
    """Test: the number of rows of a loop, compared with a constant."""

    rows: Rows
    operator: str
    constant: int


@dataclass(frozen=True, slots=True)
class Speaks:
    """Test: the page is written in the site's voice of this index."""

    voice: int


@dataclass(frozen=True, slots=True)
class Not:
    """Test: another test does not hold."""

    test: Test


@dataclass(frozen=True, slots=True)
class Both:
    """Two tests joined by `and` or `or`."""

    first: Test
    word: str
    second: Test


@dataclass(frozen=True, slots=True)
class Branch:
    """A condition: nodes if the test holds, and others if not."""

    test: Test
    body: tuple[Node, ...]
    otherwise: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class WordsPart:
    """Prose with several phrases, one of which is drawn for each page: one list for all pages, or one per voice of the site.

    A voice's phrases have a `name`: a page repeats none of them before all were used. `each` is how often each phrase is in the list,
    with different words after it.
    """

    lists: tuple[tuple[str, ...], ...]
    name: str = ""
    each: int = 1


@dataclass(frozen=True, slots=True)
class Choice:
    """Several alternatives that state facts; one is drawn for each page."""

    options: tuple[tuple[Node, ...], ...]


@dataclass(frozen=True, slots=True)
class Comments:
    """Readers' comments at the end of a `share` of pages: up to `most`, each under a reader's name."""

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
    """Yield all tests, including those inside others."""
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
    """Return the children of a node: both sides of a loop or a branch, or the options of a choice."""
    if isinstance(node, LoopPart | Branch):
        return node.body, node.otherwise
    return node.options if isinstance(node, Choice | Comments) else ()
