"""What the function that writes a kind of page takes, gives and reads."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from simtrain.worlds.search.facts.attributes import Value
from simtrain.worlds.search.pages.design import PageDesign
from simtrain.worlds.search.pages.mentions import Mention
from simtrain.worlds.search.pages.tree import Rows
from simtrain.worlds.search.spec.schema import Attribute, Type

Job: TypeAlias = tuple[int, str, int, str | None, int | None, int | None, int | None, Sequence[int], Value]
"""A page to write: its id, url, row, date, number, last number, members in all, members on it, and what its list is grouped by."""
PageRow: TypeAlias = tuple[object, ...]
Render: TypeAlias = Callable[
    [Sequence[Job], Callable[[], float], list[PageRow], list[Mention], list[tuple[int, str]]], None
]


@dataclass(slots=True)
class Needs:
    """The inputs of a rendering function, under the names it uses for them."""

    columns: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    reverse: dict[str, tuple[Type, Attribute]] = field(default_factory=dict[str, tuple[Type, Attribute]])
    pages: dict[str, PageDesign] = field(default_factory=dict[str, PageDesign])
    urls: dict[str, PageDesign] = field(default_factory=dict[str, PageDesign])
    aliases: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    sizes: dict[str, Rows] = field(default_factory=dict[str, Rows])
    claims: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    wrong: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    """What the site has wrong, on pages that put it right."""
    functions: dict[str, object] = field(default_factory=dict[str, object])
