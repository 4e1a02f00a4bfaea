"""The newest event on a page: pages without a date of their own are dated no earlier."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, cast

from simtrain.worlds.search.facts.attributes import Value
from simtrain.worlds.search.facts.columns import Columns
from simtrain.worlds.search.pages.design import PageDesign
from simtrain.worlds.search.pages.tree import FactPart, LoopPart, Node, RowPath, Rows, parts_of
from simtrain.worlds.search.spec.rules import life
from simtrain.worlds.search.spec.schema import Attribute, Schema, Type

Climb: TypeAlias = tuple[Rows, Type]
"""A step from the rows of a loop to the row it starts from: the loop, and the type at the beginning of its path."""


@dataclass(frozen=True, slots=True)
class PageDate:
    """A date on a page: the path to it from a row of a type, and the loops around it, the inner one first."""

    kind: Type
    path: str
    loops: tuple[Climb, ...] = ()


def newest(page: PageDesign, columns: Columns, *, until: str) -> list[str]:
    """Return, by row id, the latest date on its page up to a day, or an empty text; an empty list if no page can have a date."""
    found: list[str] = []
    for one in dict.fromkeys(_dates_on(page, cast(Type, page.kind))):
        dates = [day if isinstance(day, str) and day <= until else "" for day in columns.path(one.kind, one.path)]
        for climb in one.loops:
            dates = _climbed(dates, climb, columns)
        # As text: dates in ISO form are in order, and an empty text is before all.
        found = list(map(max, found, dates)) if found else dates
    return found


def tells_dates(page: PageDesign) -> bool:
    """Return True if a page kind can state a date at all."""
    return any(True for _ in _dates_on(page, cast(Type, page.kind)))


def _climbed(dates: list[str], climb: Climb, columns: Columns) -> list[str]:
    """Return, from the dates of looped rows, the latest date for each row that the loop starts from."""
    rows, kind = climb
    via, path = cast(Attribute, rows.via), cast(RowPath, rows.path)
    latest: dict[Value, str] = {}
    for owner, day in zip(columns.column(via), dates, strict=True):
        if day > latest.get(owner, ""):
            latest[owner] = day
    # Rows that refer to nothing were collected under 0, which is no row.
    latest[0] = ""
    if not path.refs:
        return [latest.get(row, "") for row in range(columns.size(kind.name) + 1)]
    return [latest.get(row, "") for row in columns.path(kind, ".".join(ref.name for ref in path.refs))]


def _dates_on(page: PageDesign, kind: Type) -> Iterator[PageDate]:
    known: dict[str, tuple[Type, tuple[Climb, ...]]] = {kind.name: (kind, ())}
    wordings = [*page.titles, *(wording for part in page.parts for wording in part)]
    for node in _nodes(node for wording in wordings for node in wording):
        if isinstance(node, FactPart):
            path = _day_path(page.scope.schema, node)
            if node.path.root in known and path is not None:
                begins, loops = known[node.path.root]
                yield PageDate(begins, path, loops)
        elif node.rows.via is not None and node.rows.path is not None and node.rows.path.root in known:
            begins, loops = known[node.rows.path.root]
            known[node.name] = (node.rows.kind, ((node.rows, begins), *loops))
            begun = life(page.scope.schema, node.rows.kind)[0]
            if begun is not None:
                yield PageDate(node.rows.kind, begun.name, known[node.name][1])


def _day_path(schema: Schema, fact: FactPart) -> str | None:
    """Return the path to the date that a fact implies; a name implies the date on which the named thing began."""
    steps = [ref.name for ref in fact.path.refs]
    attribute = fact.attribute
    if attribute.kind == "date":
        return ".".join((*steps, attribute.name)) if fact.alias is None else None
    if attribute.kind == "ref":
        steps.append(attribute.name)
    begun = life(
        schema, schema.types[attribute.target if attribute.kind == "ref" and attribute.target else attribute.type]
    )[0]
    return None if begun is None or begun.derived is not None else ".".join((*steps, begun.name))


def _nodes(nodes: Iterable[Node]) -> Iterator[LoopPart | FactPart]:
    """Yield loops, each before its contents, and the facts that give a date or a name."""
    for node in nodes:
        if isinstance(node, LoopPart):
            yield node
        for part in parts_of(node):
            yield from _nodes(part)
        if isinstance(node, FactPart) and node.attribute.kind in ("date", "name", "ref"):
            yield node
