"""The facts of a world file, read by the check straight from the tables: attributes, values, names and claims."""

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from simtrain.values.types import JsonValue, encode

Thing = tuple[str, int]
"""A row of the world: type and id."""

_PSEUDO = {"_page": "_pages", "_site": "_sites"}


@dataclass(frozen=True, slots=True)
class FileAttribute:
    """An attribute as described in the file."""

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
    """A deliberate falsehood: the fact, the false value, and the site that states it."""

    attribute: int
    entity: int
    value: JsonValue
    site: int


class FactTables:
    """The content of the tables. `load` reads the facts of some pages at once and forgets those of earlier pages."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        rows = connection.execute("select id, type, name, kind, unit, target, label from _attributes order by id")
        self.attributes = {row[0]: FileAttribute(*row) for row in rows}
        self._name_of = {one.type: one for one in self.attributes.values() if one.name == "name"}
        self._values: dict[int, dict[int, JsonValue]] = {}
        self._names: dict[str, dict[int, tuple[str, ...]]] = {}
        self._claims: dict[int, Claim] = {}

    def load(self, stated: Iterable[tuple[int, int]], claims: Iterable[int]) -> None:
        """Read some facts (attribute, entity), the names of rows they refer to, and some claims."""
        self._values, self._names, self._claims = {}, {}, self._recorded(claims)
        wanted: dict[int, set[int]] = {}
        for attribute, entity in stated:
            wanted.setdefault(attribute, set()).add(entity)
        named: dict[str, set[int]] = {}
        for number, entities in wanted.items():
            attribute = self.attributes.get(number)
            if attribute is None:
                continue
            values = self._values[number] = self._column(attribute, entities)
            if attribute.kind == "name":
                named.setdefault(attribute.type, set()).update(entities)
            elif attribute.kind == "ref" and attribute.target:
                targets = {value for value in values.values() if isinstance(value, int)}
                named.setdefault(attribute.target, set()).update(targets)
        for kind, entities in named.items():
            self._names[kind] = self._all_names(kind, entities)

    def value(self, attribute: FileAttribute, entity: int) -> JsonValue:
        """Return the true value. Raises KeyError for a missing row or column."""
        known = self._values.get(attribute.id)
        if known is not None and entity in known:
            return known[entity]
        return self._column(attribute, (entity,))[entity]

    def _column(self, attribute: FileAttribute, entities: Iterable[int]) -> dict[int, JsonValue]:
        table = _PSEUDO.get(attribute.type, attribute.type)
        # Ids as one JSON array: SQLite limits the number of parameters.
        sql = f"select id, {_quoted(attribute.name)} from {_quoted(table)} where id in (select value from json_each(?))"
        try:
            return dict(self._connection.execute(sql, (encode(list(entities)),)).fetchall())
        # A damaged file may lack the column. The caller then meets a KeyError, which becomes a finding.
        except sqlite3.OperationalError:
            return {}

    def claim(self, number: int) -> Claim | None:
        """Return a claim by id; None if there is none."""
        if number not in self._claims:
            self._claims |= self._recorded((number,))
        return self._claims.get(number)

    def _recorded(self, numbers: Iterable[int]) -> dict[int, Claim]:
        sql = "select id, attribute, entity, value, site from _claims where id in (select value from json_each(?))"
        return {row[0]: Claim(*row[1:]) for row in self._connection.execute(sql, (encode(list(numbers)),))}

    @cached_property
    def entities(self) -> list[str]:
        """The entity types."""
        rows = self._connection.execute("select name from _types where kind = 'entity' order by position")
        return [row[0] for row in rows]

    def names(self) -> Iterator[tuple[str, str]]:
        """Yield (type, name) of every entity, then of every alias."""
        for kind in self.entities:
            for (name,) in self._connection.execute(f"select name from {_quoted(kind)} order by id"):
                yield kind, name
        yield from self._connection.execute("select type, alias from _aliases order by rowid")

    def names_of(self, kind: str, entity: int) -> tuple[str, ...]:
        """Return all names of a row; none if its type has no names. Raises KeyError for a missing row."""
        known = self._names.setdefault(kind, {})
        if entity not in known:
            known |= self._all_names(kind, (entity,))
        return known[entity]

    def all_names(self, kind: str) -> dict[int, tuple[str, ...]]:
        """Return all names of all entities of a type."""
        rows = self._connection.execute(f"select id from {_quoted(kind)}")
        return self._all_names(kind, [row[0] for row in rows])

    def _all_names(self, kind: str, entities: Iterable[int]) -> dict[int, tuple[str, ...]]:
        wanted = list(entities)
        own = self._name_of.get(kind)
        found: dict[int, tuple[str, ...]] = (
            dict.fromkeys(wanted, ())
            if own is None
            else {entity: (str(name),) for entity, name in self._column(own, wanted).items()}
        )
        sql = "select entity, alias from _aliases where type = ? and entity in (select value from json_each(?)) order by rowid"
        for entity, alias in self._connection.execute(sql, (kind, encode(wanted))):
            if entity in found:
                found[entity] = (*found[entity], alias)
        return found

    def texts_of(self, kind: str, entity: int) -> list[str]:
        """Return the texts by which a title may identify an entity: names, texts and categories. Raises KeyError for a missing row."""
        own = [one for one in self.attributes.values() if one.type == kind and one.kind in ("text", "category")]
        values = [self._column(one, (entity,))[entity] for one in own]
        return [*self.names_of(kind, entity), *(str(value) for value in values if value is not None)]


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
