"""Preconditions of screens and forms, and how a refusal is shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simtrain.files.templates import Text
from simtrain.files.yaml_files import Document, Place
from simtrain.values.errors import InputError, nearest
from simtrain.values.types import JsonValue
from simtrain.worlds.app.spec import RefusalRule, Shown
from simtrain.worlds.service.database import Database, Mode
from simtrain.worlds.service.tool import prepare_sql

TOLD = frozenset({"look"})
"""What texts of an app may name beside what SQL may: how the pages look."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A screen or form that was refused. `field` is where an inline text stands; `rule` names what refused it."""

    shown: Shown
    text: str
    rule: str
    field: str | None = None


def checked_text(document: Document, place: Place, source: str, known: set[str]) -> Text:
    """Return a text template that may name `known`. Raises InputError at the place."""
    with document.locating(place):
        text = Text(source)
        for name in sorted(text.names - known):
            raise InputError(f"the text names {name!r}, which nothing binds", remedy=nearest(name, known))
    return text


def checked_sql(
    document: Document, place: Place, database: Database, sql: str, known: set[str], mode: Mode = Mode.READ
) -> str:
    """Return SQL that compiles and names only parameters in `known`. Raises InputError at the place."""
    with document.locating(place):
        prepare_sql(database, sql, known, mode, ".".join(str(part) for part in place[2:]))
    return sql


def _shown(rule: RefusalRule) -> Shown:
    if rule.shown is not None:
        return rule.shown
    return "inline" if rule.field else "flash"


class Rules:
    """The preconditions of one screen or form."""

    def __init__(
        self,
        rules: Sequence[RefusalRule],
        document: Document,
        place: Place,
        database: Database,
        known: set[str],
        owner: str,
    ) -> None:
        """Raises InputError with the place in the file."""
        self._rules: list[tuple[str, bool, Text, Shown, str | None, str]] = [
            (
                checked_sql(document, (*place, index), database, rule.holds or rule.unless or "", known),
                rule.holds is not None,
                checked_text(document, (*place, index, "error"), rule.error, {*known, *TOLD}),
                _shown(rule),
                rule.field,
                rule.label or f"{owner}[{index}]",
            )
            for index, rule in enumerate(rules)
        ]

    def refusal(self, database: Database, values: Mapping[str, JsonValue]) -> Refused | None:
        """Return the first refusal; None if all preconditions hold."""
        for sql, when, text, shown, field, label in self._rules:
            row = database.first(sql, values)
            if (row is not None and bool(row[0])) is when:
                return Refused(shown, text.render(values), label, field)
        return None
