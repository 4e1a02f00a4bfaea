"""The schema of a search world for questions: tables, attributes, references and values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from simtrain.contracts.question import Language
from simtrain.contracts.world import World
from simtrain.values.types import JsonObject, JsonValue

NUMERIC: Final = frozenset({"number", "quantity", "money"})
TEMPORAL: Final = ("since", "until")


@dataclass(frozen=True, slots=True)
class QuestionAttribute:
    """An attribute of a type; `target` is the type that a reference points to."""

    type: str
    name: str
    kind: str
    unit: str | None
    target: str | None
    label: str

    @property
    def numeric(self) -> bool:
        """True if the values can be summed and ordered as numbers."""
        return self.kind in NUMERIC


@dataclass(frozen=True, slots=True)
class QuestionTable:
    """An entity type or a relation: its attributes by name."""

    name: str
    kind: Literal["entity", "relation"]
    plural: str
    attributes: Mapping[str, QuestionAttribute]

    @property
    def refs(self) -> list[QuestionAttribute]:
        """The references to other tables; for a relation, its two ends."""
        return [attribute for attribute in self.attributes.values() if attribute.kind == "ref"]

    @property
    def lasting(self) -> bool:
        """True if the rows hold for a period: from `since` until `until`, or until now."""
        return all(name in self.attributes for name in TEMPORAL)


class WorldSchema:
    """The tables of a built world, in the author's order, with cached queries about their values."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.tables = _tables(world)
        self._values: dict[tuple[str, str], list[tuple[JsonValue, int]]] = {}
        self._sizes: dict[str, int] = {}

    def along(self, table: str, path: Sequence[str]) -> list[QuestionAttribute]:
        """Return the references of a path from a table."""
        found: list[QuestionAttribute] = []
        for ref in path:
            found.append(self.tables[table].attributes[ref])
            table = found[-1].target or ""
        return found

    def values(self, attribute: QuestionAttribute) -> Sequence[tuple[JsonValue, int]]:
        """Return the distinct values of an attribute in order, each with its number of rows; None first, if there are nulls."""
        place = (attribute.type, attribute.name)
        if place not in self._values:
            column = f"{attribute.type}.{attribute.name}"
            # Ascending order puts nulls first in SQLite; `has_nulls` and `present` rely on that.
            rows = self.world.query(f"select {column} as v, count(*) as n from {attribute.type} group by 1 order by 1")
            self._values[place] = [(row["v"], row["n"]) for row in rows]
        return self._values[place]

    def has_nulls(self, attribute: QuestionAttribute) -> bool:
        """Return True if some row has no value."""
        return any(value is None for value, _ in self.values(attribute)[:1])

    def present(self, attribute: QuestionAttribute) -> Sequence[tuple[JsonValue, int]]:
        """Return the values of an attribute, without None."""
        values = self.values(attribute)
        return values[1:] if self.has_nulls(attribute) else values

    def size(self, table: str) -> int:
        """Return the number of rows of a table."""
        if table not in self._sizes:
            rows = self.world.query(f"select count(*) as n from {table}")
            self._sizes[table] = rows[0]["n"]
        return self._sizes[table]

    def name_of(self, table: str, entity: JsonValue) -> str:
        """Return the name of an entity."""
        return self.names[table][entity]

    @cached_property
    def names(self) -> Mapping[str, Mapping[int, str]]:
        """Entity type -> id -> name."""
        return {
            name: {row["id"]: str(row["name"]) for row in self.world.query(f"select id, name from {name}")}
            for name, table in self.tables.items()
            if table.kind == "entity"
        }

    @cached_property
    def site_titles(self) -> Mapping[str, str]:
        """Site -> title."""
        return {str(row["name"]): str(row["title"]) for row in self.world.query("select name, title from _sites")}

    @cached_property
    def today(self) -> str:
        """Today's date in the world, in ISO form."""
        state = self.world.open()
        try:
            return state.clock.now[:10]
        finally:
            state.close()

    def words(self, language: Language) -> Mapping[tuple[str, str], str]:
        """Return the author's words in a language: (kind, subject) -> word. Kinds: type, plural, label, value, unit."""
        sql = "select kind, subject, word from _words where language = :language"
        rows = self.world.query(sql, {"language": language})
        return {(str(row["kind"]), str(row["subject"])): str(row["word"]) for row in rows}

    @property
    def languages(self) -> tuple[Language, ...]:
        """The languages for questions about this world: English, and those that the author gives words for."""
        rows = self.world.query("select distinct language from _words where language <> 'en' order by language")
        return ("en", *(row["language"] for row in rows))


def _tables(world: World) -> dict[str, QuestionTable]:
    attributes: dict[str, dict[str, QuestionAttribute]] = {}
    for row in world.query("select type, name, kind, unit, target, label from _attributes order by id"):
        found = QuestionAttribute(**row)
        attributes.setdefault(found.type, {})[found.name] = found
    return {
        str(row["name"]): QuestionTable(
            str(row["name"]),
            row["kind"],
            str(row["plural"]),
            _complete(world, row, attributes.get(str(row["name"]), {})),
        )
        for row in world.query("select name, kind, plural from _types order by position, name")
    }


def _complete(world: World, row: JsonObject, attributes: dict[str, QuestionAttribute]) -> dict[str, QuestionAttribute]:
    """Return the attributes of a type, including the name of an entity."""
    name = str(row["name"])
    if row["kind"] == "entity" and "name" not in attributes:
        return {"name": QuestionAttribute(name, "name", "name", None, None, "name"), **attributes}
    return attributes
