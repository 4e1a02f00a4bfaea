"""The facts of a world as plain rows, dumped from its file."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Attribute:
    """What the author says of an attribute."""

    name: str
    kind: str
    unit: str | None
    target: str | None
    label: str


class Facts:
    """The rows of every type, by id, with the author's words and what sites claim falsely."""

    def __init__(self, path: Path) -> None:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            dump = {
                name: [dict(row) for row in connection.execute(f"select * from {name}")]
                for name in ("_types", "_attributes", "_words", "_claims", "_sites")
            }
            self.rows: dict[str, dict[int, Row]] = {
                kind["name"]: {row["id"]: dict(row) for row in connection.execute(f"select * from {kind['name']}")}
                for kind in dump["_types"]
            }
        self.plurals = {row["name"]: row["plural"] for row in dump["_types"]}
        self.relations = {row["name"] for row in dump["_types"] if row["kind"] == "relation"}
        self.attributes: dict[str, dict[str, Attribute]] = {name: {} for name in self.rows}
        numbered = {}
        for row in dump["_attributes"]:
            numbered[row["id"]] = row["type"], row["name"]
            if row["type"] in self.rows:
                self.attributes[row["type"]][row["name"]] = Attribute(
                    row["name"], row["kind"], row["unit"], row["target"], row["label"]
                )
        self.sites = {row["title"]: row["id"] for row in dump["_sites"]}
        self.words = {(row["language"], row["kind"], row["subject"]): row["word"] for row in dump["_words"]}
        self.claims: dict[tuple[str, str, int, int], list[Any]] = {}
        """(type, attribute, row, site) -> the values that the site gives instead of the true one."""
        self._pointing: dict[tuple[str, str], dict[int, list[Row]]] = {}
        for row in dump["_claims"]:
            told = (*numbered[row["attribute"]], row["entity"], row["site"])
            self.claims.setdefault(told, []).append(row["value"])

    @cached_property
    def named(self) -> dict[str, dict[str, list[int]]]:
        """Type -> name -> the rows of that name."""
        found: dict[str, dict[str, list[int]]] = {}
        for kind, rows in self.rows.items():
            names = found.setdefault(kind, {})
            for number, row in rows.items():
                if "name" in row:
                    names.setdefault(row["name"], []).append(number)
        return found

    def pointing(self, kind: str, reference: str) -> dict[int, list[Row]]:
        """The rows of a type by what a reference of theirs points to."""
        if (kind, reference) not in self._pointing:
            found = self._pointing[kind, reference] = {}
            for row in self.rows[kind].values():
                found.setdefault(row[reference], []).append(row)
        return self._pointing[kind, reference]

    def refers(self, kind: str, name: str) -> str | None:
        """The type that an attribute refers to; None for one that holds a value."""
        attribute = self.attributes[kind].get(name)
        return attribute.target if attribute else None
