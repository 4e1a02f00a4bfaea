"""Finds where pages state facts: statements are read as an agent would read them, and compared with the facts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from simtrain.contracts.question import cell_text
from simtrain.questions.schema import QuestionAttribute, WorldSchema
from simtrain.values.passages import Form, read_amount, read_day
from simtrain.values.types import JsonValue
from simtrain.worlds.search.spec.units import UNITS

TOLERANCE: Final = 0.02
"""Relative tolerance for numbers on pages, since pages round."""

_MOST_IDS: Final = 400


class Needed(NamedTuple):
    """A fact to be read: an attribute of an entity; with `site`, the `value` that this site states."""

    type: str
    name: str
    entity: int
    site: str | None = None
    value: str | None = None


@dataclass(frozen=True, slots=True)
class ReadStatement:
    """Words on a page that state a fact, and how to read them: form, and factor for a number (`times`)."""

    page: int
    start: int
    words: str
    form: Form
    times: float = 1.0
    error: float = 0.0


class Stating:
    """The statements of one world."""

    def __init__(self, schema: WorldSchema) -> None:
        self.schema = schema
        sql = "select a.id, a.type, a.name, t.position from _attributes a join _types t on t.name = a.type"
        self._of = {
            (str(row["type"]), str(row["name"])): f"s.type = {row['position']} and s.attribute = {row['id']}"
            for row in schema.world.query(sql)
        }
        """Attribute -> the SQL condition for its statements."""
        self._sites = {str(row["name"]): row["id"] for row in schema.world.query("select id, name from _sites")}

    def values(self, facts: Iterable[Needed]) -> dict[Needed, str]:
        """Return the facts with their values; for a reference, the name of its target. Facts without a value are left out."""
        found: dict[Needed, str] = {}
        for (kind, name), group in grouped(facts).items():
            attribute = self.schema.tables[kind].attributes[name]
            ids = sorted({fact.entity for fact in group})
            rows = self._rows(f"select id, {name} as v from {kind} where id in ({{}})", ids)
            held = {row["id"]: row["v"] for row in rows}
            for fact in group:
                value = held.get(fact.entity)
                if fact.value is not None:
                    found[fact] = fact.value
                elif value is not None:
                    target = attribute.target
                    found[fact] = self.schema.name_of(target, value) if target else cell_text(value)
        return found

    def statements(self, values: Mapping[Needed, str]) -> dict[Needed, list[ReadStatement]]:
        """Return the statements of each fact's value, the most exact first, at most one per page."""
        found: dict[Needed, list[ReadStatement]] = {fact: [] for fact in values}
        for (kind, name), group in grouped(values).items():
            attribute = self.schema.tables[kind].attributes[name]
            by_entity: dict[int, list[Needed]] = {}
            for fact in group:
                by_entity.setdefault(fact.entity, []).append(fact)
            sql = (
                "select s.entity, s.page, s.start, s.claim, p.site, substr(p.body, s.start + 1, s.length) as words"
                f" from _statements s join _pages p on p.id = s.page where {self._of[kind, name]}"
                " and s.entity in ({})"
            )
            for row in self._rows(sql, sorted(by_entity)):
                for fact in by_entity[row["entity"]]:
                    if (fact.site is None and row["claim"] is None) or (
                        fact.site and self._sites[fact.site] == row["site"]
                    ):
                        read = _read(str(row["words"]), values[fact], attribute)
                        if read is not None:
                            form, times, error = read
                            page, start = row["page"], row["start"]
                            found[fact].append(ReadStatement(page, start, str(row["words"]), form, times, error))
        return {fact: _once(statements) for fact, statements in found.items()}

    def disputed(self, facts: Iterable[Needed]) -> int:
        """Return the number of facts about which some page says something else."""
        count = 0
        for (kind, name), group in grouped(facts).items():
            sql = (
                f"select distinct s.entity from _statements s where {self._of[kind, name]}"
                " and s.claim is not null and s.entity in ({})"
            )
            count += len(self._rows(sql, sorted({fact.entity for fact in group})))
        return count

    def spoken(self, facts: Iterable[Needed]) -> bool:
        """Return True if some page states one of these facts, true or false."""
        return any(
            self._rows(f"select 1 from _statements s where {self._of[kind, name]} and s.entity in ({{}}) limit 1", ids)
            for (kind, name), group in grouped(facts).items()
            for ids in [sorted({fact.entity for fact in group})]
        )

    def _rows(self, sql: str, ids: Sequence[int]) -> list[dict[str, JsonValue]]:
        found: list[dict[str, JsonValue]] = []
        for begin in range(0, len(ids), _MOST_IDS):
            # The ids are integers from the file, and cannot carry SQL.
            found += self.schema.world.query(sql.replace("{}", ",".join(map(str, ids[begin : begin + _MOST_IDS]))))
        return found


def grouped(facts: Iterable[Needed]) -> dict[tuple[str, str], list[Needed]]:
    """Return the facts by attribute (type, name)."""
    found: dict[tuple[str, str], list[Needed]] = {}
    for fact in facts:
        found.setdefault((fact.type, fact.name), []).append(fact)
    return found


def _once(statements: list[ReadStatement]) -> list[ReadStatement]:
    """Return the best statement of each page, the most exact first."""
    best: dict[int, ReadStatement] = {}
    for statement in sorted(statements, key=lambda item: (item.error, item.page, item.start)):
        best.setdefault(statement.page, statement)
    return list(best.values())


def _read(words: str, value: str, attribute: QuestionAttribute) -> tuple[Form, float, float] | None:
    """Return form, factor and error with which the words read as the value; None if they do not state it."""
    if attribute.kind == "flag":
        return "text", 1.0, 0.0
    if attribute.kind == "date":
        return ("date", 1.0, 0.0) if read_day(words) == value else None
    if not attribute.numeric:
        return ("text", 1.0, 0.0) if words.strip().casefold() == value.casefold() else None
    number, wanted = read_amount(words), float(value)
    if number is None:
        return None
    times = _factor(words, attribute.unit)
    error = abs(number * times - wanted)
    return ("number", times, error) if error <= TOLERANCE * abs(wanted) else None


def _factor(words: str, unit: str | None) -> float:
    """Return the factor from the unit in these words to `unit`; 1 if they name no other unit."""
    if unit is None or unit not in UNITS or words.endswith(unit):
        return 1.0
    measured, size = UNITS[unit]
    others = [name for name, (what, _) in UNITS.items() if what == measured and words.endswith(f" {name}")]
    if not others:
        return 1.0
    # "5 nautical miles" ends with two units; the longest one is meant.
    return UNITS[max(others, key=len)][1] / size
