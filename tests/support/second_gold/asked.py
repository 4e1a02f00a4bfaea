"""What a text asks for, as the reader understood it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class Unreadable(Exception):
    """A text that makes no sense to the reader."""


class Undecided(Exception):
    """A question that the facts answer in more than one way."""


@dataclass(frozen=True)
class Place:
    """An attribute of what some references lead to; of a reference, the name of what it points to."""

    path: tuple[str, ...]
    attribute: str


@dataclass(frozen=True)
class Holds:
    """That a value compares so with others."""

    place: Place
    how: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Versus:
    """That a value is more, or less, than another one."""

    place: Place
    how: str
    other: Place


@dataclass(frozen=True)
class During:
    """That a row holds: now, no longer, or on a day."""

    when: str
    day: str


@dataclass(frozen=True)
class Tie:
    """That rows of a relation point at the thing, or that none does: all of them, or those of which a condition holds."""

    relation: str
    present: bool
    now: bool
    clause: Condition | None = None


@dataclass(frozen=True)
class Only:
    """That what some references lead to is the only one of its type of which all this holds."""

    path: tuple[str, ...]
    thing: str
    conditions: tuple[Condition, ...]


Condition = Holds | Versus | During | Tie | Only


@dataclass(frozen=True)
class Heading:
    """A column: a place; a figure (`count`, `sum`, `mean`) over the rows of a group; or what a site says of a place."""

    text: str
    place: Place | None
    figure: str = ""
    site: int | None = None


@dataclass(frozen=True)
class Asked:
    """A question understood. `kind`: rows, lookup, groups, top, best, dispute or single."""

    kind: str
    thing: str
    today: str
    conditions: tuple[Condition, ...] = ()
    headings: tuple[Heading, ...] = ()
    names: tuple[str, ...] = ()
    group: Place | None = None
    term: Place | None = None
    end: str = ""
    count: int = 0
    sites: tuple[int, int] | None = None
    ever: bool = False


@dataclass(frozen=True)
class Nobody:
    """A name in a text that no row of the type has."""

    thing: str
    name: str
