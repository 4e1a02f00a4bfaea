"""The facts of a built world as lists, read from its tables by row id."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from itertools import chain
from typing import cast

from simtrain.worlds.search.facts.attributes import Value
from simtrain.worlds.search.spec.schema import Attribute, Type

_NOT_SLUG = re.compile(r"[^a-z0-9]+")


class Columns:
    """The facts of a world file as lists, read when first asked for; row 0 stands for no row and has no facts."""

    def __init__(self, connection: sqlite3.Connection, types: dict[str, Type]) -> None:
        self.connection = connection
        self.types = types
        self._found: dict[int, list[Value]] = {}
        self._slugs: dict[str, list[str]] = {}

    def size(self, kind: str) -> int:
        """Return how many rows a type has."""
        return cast(int, self.connection.execute(f'select count(*) from "{kind}"').fetchone()[0])

    def column(self, attribute: Attribute) -> list[Value]:
        """Return the values of an attribute by row id."""
        if attribute.id not in self._found:
            # A ref that is missing is row 0, so that a path goes on to no fact.
            value = f'coalesce("{attribute.name}", 0)' if attribute.kind == "ref" else f'"{attribute.name}"'
            rows = self.connection.execute(f'select {value} from "{attribute.type}" order by id')
            values: list[Value] = [0 if attribute.kind == "ref" else None, *chain.from_iterable(rows)]
            # Equal values are kept once: dates, categories and small numbers come again and again.
            same = cast(dict[Value, Value], {}).setdefault
            self._found[attribute.id] = list(map(same, values, values))
        return self._found[attribute.id]

    def path(self, kind: Type, path: str) -> list[Value]:
        """Return the values at the end of a path of refs, by row id."""
        column: list[Value] | None = None
        for step in path.split("."):
            attribute = kind.attribute(step)
            values = self.column(attribute)
            column = values if column is None else [values[cast(int, row)] for row in column]
            kind = self.types.get(attribute.target or "", kind)
        return column or []

    def slugs(self, kind: str) -> list[str]:
        """Return the names of a type as they stand in addresses, by row id; all different."""
        if kind not in self._slugs:
            taken: set[str] = set()
            found = [""]
            for name in cast(list[str], self.column(self.types[kind].attributes["name"])[1:]):
                slug = base = slug_of(name)
                number = 1
                while slug in taken:
                    number += 1
                    slug = f"{base}-{number}"
                taken.add(slug)
                found.append(slug)
            self._slugs[kind] = found
        return self._slugs[kind]


def slug_of(text: str) -> str:
    """Return a text as it stands in an address: small letters, digits and hyphens."""
    plain = text if text.isascii() else unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _NOT_SLUG.sub("-", plain.lower()).strip("-") or "x"
