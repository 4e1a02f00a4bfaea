"""Reads SQL written by an author: the distance of its tables in joins, and the query without each of its conditions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from simtrain.questions.schema import WorldSchema

_TOKEN: Final = re.compile(
    r"""\s+|--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*"|[:@$]?\w+|<>|[<>=!]=|==|.""", re.DOTALL
)
_BEFORE_TABLE: Final = frozenset({"from", "join"})
_AFTER_TABLES: Final = frozenset(
    {"where", "group", "order", "limit", "having", "window", "union", "except", "intersect"}
)
_AFTER_WHERE: Final = _AFTER_TABLES - {"where"}
_NO_ALIAS: Final = _AFTER_TABLES.union(
    ("on", "using", "join", "left", "right", "full", "inner", "outer", "cross", "natural")
)


@dataclass(frozen=True, slots=True)
class Token:
    """A word or sign, its position, and the number of open brackets (or CASEs) around it."""

    text: str
    start: int
    depth: int

    @property
    def word(self) -> str:
        """The text, unquoted and in lower case, as SQL compares names."""
        return self.text.strip('"').lower()


@dataclass(eq=False, slots=True)
class _Scope:
    """One SELECT: its tables by alias, and the enclosing SELECT."""

    outer: _Scope | None
    depth: int
    tables: dict[str, int] = field(default_factory=dict[str, int])

    def find(self, name: str) -> int | None:
        """Return the table of a name, here or in an enclosing SELECT."""
        if name in self.tables:
            return self.tables[name]
        return None if self.outer is None else self.outer.find(name)


@dataclass(frozen=True, slots=True)
class Joins:
    """The tables of a query, one per mention, and the pairs that are joined."""

    tables: list[str]
    edges: set[tuple[int, int]]

    def hops(self, subject: str) -> int:
        """Return the number of joins from the subject (or the first table, if the query does not name it) to the farthest table."""
        if not self.tables:
            return 0
        begin = self.tables.index(subject) if subject in self.tables else 0
        reached, frontier, steps = {begin}, {begin}, 0
        while True:
            frontier = {b for a, b in self._both_ways() if a in frontier} - reached
            if not frontier:
                return steps
            reached |= frontier
            steps += 1

    def _both_ways(self) -> Iterator[tuple[int, int]]:
        for one, other in self.edges:
            yield one, other
            yield other, one


def tokens(sql: str) -> list[Token]:
    """Return the words and signs of a query, without white space and comments."""
    found: list[Token] = []
    depth = 0
    for match in _TOKEN.finditer(sql):
        text = match[0]
        if text.isspace() or text.startswith(("--", "/*")):
            continue
        if text == ")" or text.lower() == "end":
            depth -= 1
        found.append(Token(text, match.start(), depth))
        if text == "(" or text.lower() == "case":
            depth += 1
    return found


def joins(sql: str, schema: WorldSchema) -> Joins:
    """Return the tables of a query and its joins, by equal columns or by `in` and `=` with a SELECT."""
    found = tokens(sql)
    tables, scopes = _scopes(found, schema)
    edges: set[tuple[int, int]] = set()
    for place, token in enumerate(found):
        if token.word not in ("=", "==", "in"):
            continue
        left = _column(found, place - 1, scopes, tables, schema, before=True)
        right = _column(found, place + 1, scopes, tables, schema, before=False)
        if left is not None and right is not None and left != right:
            edges.add((left, right))
    return Joins(tables, edges)


def _scopes(found: list[Token], schema: WorldSchema) -> tuple[list[str], dict[int, _Scope]]:
    """Return the tables in the order of mention, and the SELECT that each token belongs to."""
    tables: list[str] = []
    scopes: dict[int, _Scope] = {}
    current = _Scope(None, 0)
    naming = False
    for place, token in enumerate(found):
        while current.outer is not None and token.depth < current.depth:
            current = current.outer
        if token.word == "select" and token.depth > current.depth:
            current = _Scope(current, token.depth)
        scopes[place] = current
        if token.depth != current.depth:
            continue
        if token.word in _AFTER_TABLES:
            naming = False
        elif token.word in _BEFORE_TABLE or (token.text == "," and naming):
            naming = True
            name = found[place + 1].word if place + 1 < len(found) else ""
            if name in schema.tables:
                current.tables[_alias(found, place + 2) or name] = len(tables)
                tables.append(name)
    return tables, scopes


def _alias(found: list[Token], place: int) -> str | None:
    if place < len(found) and found[place].word == "as":
        place += 1
    if place >= len(found) or not found[place].word.isidentifier() or found[place].word in _NO_ALIAS:
        return None
    return found[place].word


def _column(
    found: list[Token],
    place: int,
    scopes: Mapping[int, _Scope],
    tables: list[str],
    schema: WorldSchema,
    *,
    before: bool,
) -> int | None:
    """Return the table of the column at an index, or the first table of a SELECT that begins there; else None."""
    if not 0 <= place < len(found):
        return None
    if not before and found[place].text == "(" and place + 1 < len(found) and found[place + 1].word == "select":
        return min(scopes[place + 1].tables.values(), default=None)
    name = place - 2 if before else place
    dot = name + 1
    if name >= 0 and dot < len(found) and found[dot].text == ".":
        return scopes[place].find(found[name].word)
    return _bare(found[place].word, scopes[place], tables, schema)


def _bare(column: str, scope: _Scope | None, tables: list[str], schema: WorldSchema) -> int | None:
    """Return the table with a column of that name, from the nearest SELECT that has one; None if there is none."""
    while scope is not None:
        for table in scope.tables.values():
            if column in schema.tables[tables[table]].attributes:
                return table
        scope = scope.outer
    return None


def loosened(sql: str, schema: WorldSchema) -> Iterator[str]:
    """Yield the query without its limit and without one condition, for each condition of the outermost WHERE that is no mere join."""
    found = [token for token in tokens(sql) if token.depth == 0]
    where = next((place for place, token in enumerate(found) if token.word == "where"), None)
    if where is None:
        return
    last = next((place for place in range(where, len(found)) if found[place].word in _AFTER_WHERE), len(found))
    limit = next((token.start for token in found[where:] if token.word == "limit"), len(sql))
    end = found[last].start if last < len(found) else len(sql)
    cuts = [found[where].start + len("where"), *_ands(found[where:last]), end]
    texts = [re.sub(r"(?is)^\s*and\b", "", sql[begin:stop]).strip() for begin, stop in pairwise(cuts)]
    before, after = sql[: found[where].start], sql[end:limit]
    joined = joins(before, schema).edges
    for place, text in enumerate(texts):
        if "select" in text.lower() or joins(f"{before} where {text}", schema).edges == joined:
            kept = " and ".join([*texts[:place], *texts[place + 1 :]])
            yield f"{before}{f'where {kept} ' if kept else ''}{after}"


def _ands(found: list[Token]) -> Iterator[int]:
    """Yield the positions of the conditions after the first; with an `or` among them they count as one."""
    # `and` binds closer than `or`, so that cutting at an `and` would change the meaning.
    if any(token.word == "or" for token in found):
        return
    between = False
    for token in found:
        if token.word == "between":
            between = True
        elif token.word == "and" and between:
            between = False
        elif token.word == "and":
            yield token.start
