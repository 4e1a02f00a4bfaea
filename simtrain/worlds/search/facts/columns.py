"""The facts of a built world as lists, read from its tables by row id."""

import re
import sqlite3
import unicodedata
from functools import cache
from itertools import chain
from typing import cast

from simtrain.worlds.search.facts.attributes import Value
from simtrain.worlds.search.spec.schema import Attribute, Type

_NOT_SLUG = re.compile(r"[^a-z0-9]+")


class Columns:
    """The facts of a world file as lists, read when first asked for; row 0 means no row and has no facts."""

    def __init__(self, connection: sqlite3.Connection, types: dict[str, Type]) -> None:
        self.connection = connection
        self.types = types
        self.column = cache(self._column)
        """The values of an attribute by row id."""
        self.slugs = cache(self._slugs)
        """The names of a type as written in addresses, by row id; all different."""

    def size(self, kind: str) -> int:
        """Return how many rows a type has."""
        return cast(int, self.connection.execute(f'select count(*) from "{kind}"').fetchone()[0])

    def _column(self, attribute: Attribute) -> list[Value]:
        # A ref that is missing is row 0, so that a path goes on to no fact.
        value = f'coalesce("{attribute.name}", 0)' if attribute.kind == "ref" else f'"{attribute.name}"'
        rows = self.connection.execute(f'select {value} from "{attribute.type}" order by id')
        values: list[Value] = [0 if attribute.kind == "ref" else None, *chain.from_iterable(rows)]
        # Equal values are kept once: dates, categories and small numbers come again and again.
        same = cast(dict[Value, Value], {}).setdefault
        return list(map(same, values, values))

    def path(self, kind: Type, path: str) -> list[Value]:
        """Return the values at the end of a path of refs, by row id."""
        column: list[Value] | None = None
        for step in path.split("."):
            attribute = kind.attribute(step)
            values = self.column(attribute)
            column = values if column is None else [values[cast(int, row)] for row in column]
            kind = self.types.get(attribute.target or "", kind)
        return column or []

    def _slugs(self, kind: str) -> list[str]:
        taken: set[str] = set()
        found = [""]
        for name in cast(list[str], self.column(self.types[kind].attributes["name"])[1:]):
            slug = base = slug_of(name)
            number = 1
            while slug in taken:
                number += 1
                # Row order decides who gets the plain slug, so the same world always has the same URLs.
                slug = f"{base}-{number}"
            taken.add(slug)
            found.append(slug)
        return found


def slug_of(text: str) -> str:
    """Return a text as written in an address: small letters, digits and hyphens."""
    plain = text if text.isascii() else unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _NOT_SLUG.sub("-", plain.lower()).strip("-") or "x"
