"""Answering what was understood: a walk over the rows, one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .asked import Asked, Condition, During, Heading, Holds, Only, Place, Tie, Undecided, Versus
from .facts import Facts, Row

Table = list[dict[str, Any]]


class Mean(float):
    """A mean, which gold gives to two digits."""


class Walk:
    """Walks the facts of one world, on one day."""

    def __init__(self, facts: Facts, today: str) -> None:
        self.facts = facts
        self.today = today
        self._alone: dict[Only, int] = {}

    def table(self, asked: Asked) -> Table:
        """The rows that a question asks for. Raises Undecided where the facts leave them open."""
        rows = self.rows(asked)
        if asked.kind == "groups":
            return self._groups(asked, rows)
        if asked.kind == "top":
            rows = self._first(asked, rows, asked.count)
        elif asked.kind == "best":
            rows = [row for group in self._grouped(asked, rows).values() for row in self._first(asked, group, 1)]
        elif asked.kind == "dispute":
            rows = [row for row in rows if self._disputed(asked, row)]
        elif asked.kind == "single" and len(rows) != 1:
            raise Undecided(f"{len(rows)} things are so")
        return [{heading.text: self._cell(asked, heading, row) for heading in asked.headings} for row in rows]

    def rows(self, asked: Asked) -> list[Row]:
        """The rows that meet the conditions."""
        timed = any(isinstance(condition, During) for condition in asked.conditions)
        if "until" in self.facts.attributes[asked.thing] and not timed and not asked.ever:
            raise Undecided("it does not say of which time it speaks")
        if asked.kind == "lookup":
            named = self.facts.named[asked.thing]
            rows = [self.facts.rows[asked.thing][number] for name in asked.names for number in named.get(name, [])]
            if len(rows) != len(asked.names) and any(named.get(name) for name in asked.names):
                raise Undecided("a name is nobody's, or that of several")
            return rows
        return [
            row
            for row in self.facts.rows[asked.thing].values()
            if all(self.holds(condition, asked.thing, row) for condition in asked.conditions)
        ]

    def follow(self, kind: str, row: Row | None, path: Iterable[str]) -> tuple[str, Row | None]:
        """What references lead to; no row where one leads nowhere."""
        for step in path:
            kind = self.facts.refers(kind, step) or ""
            number = None if row is None else row[step]
            row = None if number is None else self.facts.rows[kind][number]
        return kind, row

    def value(self, kind: str, row: Row, place: Place) -> Any:
        """What stands at a place; the name of what a reference points to; None where there is nothing."""
        kind, end = self.follow(kind, row, place.path)
        if end is None:
            return None
        target = self.facts.refers(kind, place.attribute)
        held = end[place.attribute]
        return held if target is None or held is None else self.facts.rows[target][held]["name"]

    def holds(self, condition: Condition, kind: str, row: Row) -> bool:
        """True if a row meets a condition; of what does not exist, nothing is true."""
        match condition:
            case Holds():
                value = self.value(kind, row, condition.place)
                return value is not None and _so(condition.how, value, condition.values)
            case Versus():
                value, other = (self.value(kind, row, place) for place in (condition.place, condition.other))
                if value is None or other is None:
                    return False
                return value > other if condition.how == "more" else value < other
            case During():
                return self._during(condition, row)
            case Tie():
                return any(self._tied(condition, kind, row)) is condition.present
            case Only():
                _, end = self.follow(kind, row, condition.path)
                return end is not None and end["id"] == self._only(condition)

    def _during(self, condition: During, row: Row) -> bool:
        if condition.when == "on" and condition.day == row["until"]:
            raise Undecided("a row ends on the very day")
        over = row["until"] is not None and row["until"] <= condition.day
        if condition.when == "ended":
            return over
        return not over and row["since"] <= condition.day

    def _tied(self, condition: Tie, kind: str, row: Row) -> Iterable[bool]:
        """Whether each row of the relation that points at the thing counts."""
        ends = [item.name for item in self.facts.attributes[condition.relation].values() if item.target == kind]
        now = During("now", self.today)
        for end in ends:
            for other in self.facts.pointing(condition.relation, end).get(row["id"], ()):
                if not condition.now or self._during(now, other):
                    yield condition.clause is None or self.holds(condition.clause, condition.relation, other)

    def _only(self, condition: Only) -> int:
        if condition not in self._alone:
            self._alone[condition] = self._sole(condition)
        return self._alone[condition]

    def _sole(self, condition: Only) -> int:
        rows = self.facts.rows[condition.thing].values()
        found = [
            row["id"] for row in rows if all(self.holds(one, condition.thing, row) for one in condition.conditions)
        ]
        if len(found) != 1:
            raise Undecided(f"of {len(found)} things it is said that they are the only one")
        return found[0]

    def _first(self, asked: Asked, rows: list[Row], count: int) -> list[Row]:
        """The first rows by a term; rows without a value have no place."""
        assert asked.term is not None
        ranked = [(value, row) for row in rows if (value := self.value(asked.thing, row, asked.term)) is not None]
        ranked.sort(key=lambda pair: pair[0], reverse=asked.end == "high")
        if len(ranked) > count and ranked[count][0] == ranked[count - 1][0]:
            raise Undecided("a ranking ends in a tie")
        if asked.kind == "top" and 0 < len(ranked) <= count:
            raise Undecided("a ranking leaves nobody out")
        return [row for _, row in ranked[:count]]

    def _grouped(self, asked: Asked, rows: list[Row]) -> dict[int, list[Row]]:
        """The rows of each group; those that belong to none are left out."""
        assert asked.group is not None
        found: dict[int, list[Row]] = {}
        for row in rows:
            _, end = self.follow(asked.thing, row, (*asked.group.path, asked.group.attribute))
            if end is not None:
                found.setdefault(end["id"], []).append(row)
        return found

    def _groups(self, asked: Asked, rows: list[Row]) -> Table:
        return [
            {heading.text: self._figure(asked, heading, group) for heading in asked.headings}
            for group in self._grouped(asked, rows).values()
        ]

    def _figure(self, asked: Asked, heading: Heading, group: list[Row]) -> Any:
        if heading.figure == "count":
            return len(group)
        if not heading.figure:
            return self._cell(asked, heading, group[0])
        assert heading.place is not None
        values = [value for row in group if (value := self.value(asked.thing, row, heading.place)) is not None]
        return sum(values) if heading.figure == "sum" else Mean(sum(values) / len(values))

    def _cell(self, asked: Asked, heading: Heading, row: Row) -> Any:
        assert heading.place is not None
        if heading.site is not None:
            return self._says(asked, row, heading.site)
        return self.value(asked.thing, row, heading.place)

    def _says(self, asked: Asked, row: Row, site: int) -> Any:
        """What a site says: the truth, where it claims nothing else."""
        assert asked.term is not None
        claims = self.facts.claims.get((asked.thing, asked.term.attribute, row["id"], site), [])
        if len(claims) > 1:
            raise Undecided("a site says several things")
        return claims[0] if claims else row[asked.term.attribute]

    def _disputed(self, asked: Asked, row: Row) -> bool:
        first, second = (self._says(asked, row, site) for site in asked.sites or ())
        return first is not None and second is not None and first != second


def _so(how: str, value: Any, others: tuple[Any, ...]) -> bool:
    """True if a value compares so with others."""
    match how:
        case "has":
            return bool(value)
        case "lacks":
            return not value
        case "equals":
            return value == others[0]
        case "differs":
            return value != others[0]
        case "either":
            return value in others
        case "at_least":
            return value >= others[0]
        case "at_most":
            return value <= others[0]
        case "range":
            return others[0] <= value <= others[1]
    year = int(value[:4])
    match how:
        case "from_year":
            return year >= others[0]
        case "to_year":
            return year <= others[0]
        case "years":
            return others[0] <= year <= others[1]
        case "year":
            return year == others[0]
        case _:
            return others[0] <= year <= others[0] + 9
