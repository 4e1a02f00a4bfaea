"""The facts of a world file as the check reads them: attributes, values, names and claims, straight from the tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from simtrain.types import JsonValue


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute as the file describes it."""

    id: int
    type: str
    name: str
    kind: str
    unit: str | None
    target: str | None
    label: str

    @property
    def path(self) -> str:
        """`type.name`."""
        return f"{self.type}.{self.name}"


@dataclass(frozen=True, slots=True)
class Claim:
    """A deliberate falsehood: which site says what of which fact instead."""

    attribute: int
    entity: int
    value: JsonValue
    site: int


class Facts:
    """What the tables hold. Values of an attribute are read as a whole on first use."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        rows = connection.execute("select id, type, name, kind, unit, target, label from _attributes order by id")
        self.attributes = {row[0]: Attribute(*row) for row in rows}
        self._values: dict[int, dict[int, JsonValue]] = {}

    def value(self, attribute: Attribute, entity: int) -> JsonValue:
        """The true value. Raises KeyError where there is no such row or column."""
        if attribute.id not in self._values:
            self._values[attribute.id] = self._column(attribute)
        return self._values[attribute.id][entity]

    def _column(self, attribute: Attribute) -> dict[int, JsonValue]:
        table = {"_page": "_pages", "_site": "_sites"}.get(attribute.type, attribute.type)
        quoted = [name.replace('"', '""') for name in (attribute.name, table)]
        try:
            return dict(self._connection.execute(f'select id, "{quoted[0]}" from "{quoted[1]}"').fetchall())
        except sqlite3.Error:
            raise KeyError(attribute.path) from None

    @cached_property
    def claims(self) -> dict[int, Claim]:
        """The claims by id."""
        rows = self._connection.execute("select id, attribute, entity, value, site from _claims")
        return {row[0]: Claim(*row[1:]) for row in rows}

    @cached_property
    def aliases(self) -> dict[tuple[str, int], tuple[str, ...]]:
        """(type, entity) -> its other names."""
        found: dict[tuple[str, int], tuple[str, ...]] = {}
        for kind, entity, alias in self._connection.execute("select type, entity, alias from _aliases order by rowid"):
            found[kind, entity] = (*found.get((kind, entity), ()), alias)
        return found

    @cached_property
    def entities(self) -> list[str]:
        """The entity types."""
        return [
            row[0]
            for row in self._connection.execute("select name from _types where kind = 'entity' order by position")
        ]

    def names(self) -> Iterator[tuple[str, str]]:
        """(type, name) of every entity, then of every alias."""
        for kind in self.entities:
            quoted = kind.replace('"', '""')
            for (name,) in self._connection.execute(f'select name from "{quoted}" order by id'):
                yield kind, name
        yield from self._connection.execute("select type, alias from _aliases order by rowid")

    def names_of(self, kind: str, entity: int) -> tuple[str, ...]:
        """All names of an entity; none for a row of a type that has no names. Raises KeyError for a row that is not there."""
        own = next((one for one in self.attributes.values() if one.type == kind and one.name == "name"), None)
        name = () if own is None else (str(self.value(own, entity)),)
        return (*name, *self.aliases.get((kind, entity), ()))

    def texts_of(self, kind: str, entity: int) -> list[str]:
        """What may stand for an entity in a title: its names, and its own words and codes. Raises KeyError where there is none."""
        own = [one for one in self.attributes.values() if one.type == kind and one.kind in ("text", "category")]
        values = [self.value(one, entity) for one in own]
        return [*self.names_of(kind, entity), *(str(value) for value in values if value is not None)]
