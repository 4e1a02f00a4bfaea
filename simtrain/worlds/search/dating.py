"""When the newest thing happened that a page tells of: pages without a date of their own are dated no earlier."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias, cast

from simtrain.worlds.search.attributes import Value
from simtrain.worlds.search.design import PageDesign
from simtrain.worlds.search.schema import Attribute, Type
from simtrain.worlds.search.tree import Branch, Fact, Loop, Node, Path, Rows


class Columns(Protocol):
    """The facts of a world, by row id."""

    def size(self, kind: str) -> int:
        """How many rows a type has."""
        ...

    def column(self, attribute: Attribute) -> list[Value]:
        """The values of an attribute."""
        ...

    def path(self, kind: Type, path: str) -> list[Value]:
        """The values at the end of a path of refs."""
        ...


Climb: TypeAlias = tuple[Rows, Type]
"""From the rows of a loop to what they are looped over from: the loop, and the type that its path begins at."""


@dataclass(frozen=True, slots=True)
class Told:
    """A date that a page tells: the path to it from a row of a type, and the loops around it, the inner one first."""

    kind: Type
    path: str
    loops: tuple[Climb, ...] = ()


def newest(page: PageDesign, columns: Columns, *, until: str) -> list[str]:
    """For each row id the latest date that its page tells, up to a day: an empty text where it tells none; nothing where none can."""
    found: list[str] = []
    for told in dict.fromkeys(_told(page, cast(Type, page.kind))):
        dates = [day if isinstance(day, str) and day <= until else "" for day in columns.path(told.kind, told.path)]
        for climb in told.loops:
            dates = _climbed(dates, climb, columns)
        found = list(map(max, found, dates)) if found else dates
    return found


def _climbed(dates: list[str], climb: Climb, columns: Columns) -> list[str]:
    """From the dates of looped rows to the latest ones of those that they are looped over from."""
    rows, kind = climb
    via, path = cast(Attribute, rows.via), cast(Path, rows.path)
    latest: dict[Value, str] = {}
    for owner, day in zip(columns.column(via), dates, strict=True):
        if day > latest.get(owner, ""):
            latest[owner] = day
    # What refers to nothing stands under row 0, which is none.
    latest[0] = ""
    if not path.refs:
        return [latest.get(row, "") for row in range(columns.size(kind.name) + 1)]
    return [latest.get(row, "") for row in columns.path(kind, ".".join(ref.name for ref in path.refs))]


def _told(page: PageDesign, kind: Type) -> Iterator[Told]:
    known: dict[str, tuple[Type, tuple[Climb, ...]]] = {kind.name: (kind, ())}
    wordings = [*page.titles, *(wording for part in page.parts for wording in part)]
    for node in _nodes(node for wording in wordings for node in wording):
        if isinstance(node, Fact):
            if node.path.root in known:
                path = ".".join((*(ref.name for ref in node.path.refs), node.attribute.name))
                begins, loops = known[node.path.root]
                yield Told(begins, path, loops)
        elif node.rows.via is not None and node.rows.path is not None and node.rows.path.root in known:
            begins, loops = known[node.rows.path.root]
            known[node.name] = (node.rows.kind, ((node.rows, begins), *loops))


def _nodes(nodes: Iterable[Node]) -> Iterator[Loop | Fact]:
    """Loops, each before what stands in it, and dates."""
    for node in nodes:
        if isinstance(node, Loop):
            yield node
        if isinstance(node, Loop | Branch):
            yield from _nodes((*node.body, *node.otherwise))
        elif isinstance(node, Fact) and node.attribute.kind == "date" and node.alias is None:
            yield node
