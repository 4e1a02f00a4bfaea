"""The interface of the generated function that writes the pages of a kind: its arguments and the tables it reads."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from simtrain.worlds.search.facts.attributes import Value
from simtrain.worlds.search.pages.design import PageDesign
from simtrain.worlds.search.pages.mentions import Mention
from simtrain.worlds.search.pages.tree import Rows
from simtrain.worlds.search.spec.schema import Attribute, Type

Job: TypeAlias = tuple[int, str, int, str | None, int | None, int | None, int | None, Sequence[int], Value]
"""A page to write: id, url, row, date, number, last number, total of members, members on it, and the group of its list."""
PageRow: TypeAlias = tuple[object, ...]
Render: TypeAlias = Callable[
    [Sequence[Job], Callable[[], float], list[PageRow], list[Mention], list[tuple[int, str]]], None
]


@dataclass(slots=True)
class Needs:
    """The inputs of a generated function, by the names used in its code."""

    columns: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    reverse: dict[str, tuple[Type, Attribute]] = field(default_factory=dict[str, tuple[Type, Attribute]])
    pages: dict[str, PageDesign] = field(default_factory=dict[str, PageDesign])
    urls: dict[str, PageDesign] = field(default_factory=dict[str, PageDesign])
    aliases: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    sizes: dict[str, Rows] = field(default_factory=dict[str, Rows])
    claims: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    wrong: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    """Attributes that the site has wrong, on pages of corrections."""
    functions: dict[str, object] = field(default_factory=dict[str, object])
