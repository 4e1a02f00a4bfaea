"""A form of an app: what it takes, what it refuses and what it writes, apart from how anything shows it."""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import orjson

from simtrain.files.templates import Text
from simtrain.files.yaml_files import Document, Place
from simtrain.values.errors import nearest
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.app.fields import FormField, Upload
from simtrain.worlds.app.routes import parameters_of
from simtrain.worlds.app.rules import TOLD, Refused, Rules, checked_sql, checked_text
from simtrain.worlds.app.screens import VISIT
from simtrain.worlds.app.site_texts import SiteTexts
from simtrain.worlds.app.spec import FormSource
from simtrain.worlds.service.database import Database, Mode
from simtrain.worlds.service.tool import new_id

Sent: TypeAlias = Mapping[str, Sequence[str | Upload]]
"""What a form was sent with: the values of each field, in order."""

_CONSTRAINT = re.compile(r"(UNIQUE|CHECK|NOT NULL|FOREIGN KEY) constraint failed(?:: (.*))?")


@dataclass(frozen=True, slots=True)
class Flawed:
    """A form whose fields have flaws, by field."""

    flaws: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Done:
    """A form that was carried out: the toast, where it leads, and who is signed in from now on (if `signs`)."""

    toast: str | None
    then: str
    statements: int
    signs: bool = False
    user: JsonValue = None


class CompiledForm:
    """A compiled form that posts to the address `pattern`."""

    def __init__(
        self, pattern: str, source: FormSource, document: Document, database: Database, texts: SiteTexts
    ) -> None:
        """Raises InputError with the place in the file."""
        place: Place = ("forms", pattern)
        self.pattern = pattern
        self.source = source
        self.roles = source.roles
        self._texts = texts
        self.fields = [FormField(name, one, document, (*place, "input", name)) for name, one in source.input.items()]
        known = {*VISIT, *parameters_of(pattern), *(name for one in self.fields for name in one.bound)}
        self._lets: list[tuple[str, str]] = []
        for name, sql in source.let.items():
            self._lets.append((name, checked_sql(document, (*place, "let", name), database, sql, known)))
            known.add(name)
        self._rules = Rules(source.refuse, document, (*place, "refuse"), database, known, pattern)
        for index, rule in enumerate(source.refuse):
            if rule.field is not None and rule.field not in source.input:
                raise document.error(
                    (*place, "refuse", index, "field"),
                    f"the form has no field {rule.field!r}",
                    nearest(rule.field, source.input),
                )
        self._errors = dict[str, str](source.errors.items())
        known |= set(source.ids)
        if source.each is not None:
            listed = source.input.get(source.each)
            if listed is None or listed.type != "list":
                raise document.error((*place, "each"), "`each` names a field of type list")
        within = {*known, "item"} if source.each else known
        self._writes = [
            checked_sql(document, (*place, "write", index), database, sql, within, Mode.WRITE)
            for index, sql in enumerate(source.write)
        ]
        self._sign_in = (
            checked_sql(document, (*place, "sign_in"), database, source.sign_in, known) if source.sign_in else None
        )
        told = {*known, *TOLD, "referrer"}
        self._done: Text | None = checked_text(document, (*place, "done"), source.done, told) if source.done else None
        self._then = checked_text(document, (*place, "then"), source.then, told)

    def prepare(
        self, database: Database, visit: Mapping[str, JsonValue], parameters: Mapping[str, str], sent: Sent
    ) -> JsonObject | Flawed | Refused:
        """Return the values of SQL, or why the form is refused."""
        values: JsonObject = {**visit, **parameters}
        flaws: dict[str, str] = {}
        for one in self.fields:
            read, flaw = one.read(sent.get(one.name, ()))
            values.update(read)
            if flaw is not None:
                flaws[one.name] = one.worded(flaw, self._texts, visit["look"])
        if flaws:
            return Flawed(flaws)
        for name, sql in self._lets:
            row = database.first(sql, values)
            values[name] = None if row is None else row[0]
        return self._rules.refusal(database, values) or values

    def carry_out(
        self, database: Database, values: JsonObject, *, referrer: str, statements: int | None = None
    ) -> Done | Refused:
        """Write, and return where the form leads; a failed constraint is a refusal. The caller holds the transaction.

        `statements` carries out only the first so many.
        """
        for name, pattern in self.source.ids.items():
            values[name] = new_id(database, pattern)
        try:
            items = orjson.loads(values[self.source.each]) if self.source.each else [None]
            wanted = [(sql, item) for item in items for sql in self._writes][:statements]
            for sql, item in wanted:
                database.run(sql, {**values, "item": item} if self.source.each else values, mode=Mode.WRITE)
        except sqlite3.IntegrityError as error:
            return Refused("flash", self._constraint(str(error), values["look"]), f"{self.pattern}.constraint")
        user: JsonValue = None
        if self._sign_in is not None:
            row = database.first(self._sign_in, values)
            user = None if row is None else row[0]
        told = {**values, "referrer": referrer}
        return Done(
            self._done.render(told) if self._done else None,
            self._then.render(told),
            len(wanted),
            self._sign_in is not None or self.source.sign_out,
            user,
        )

    def _constraint(self, message: str, look: JsonValue) -> str:
        found = _CONSTRAINT.match(message)
        if found is None:
            return message
        detail = found[2] or ""
        what = " and ".join(part.strip().rpartition(".")[2] for part in detail.split(",")) or "the record"
        what, name = what.replace("_", " "), found[1].lower().replace(" ", "_")
        own = self._errors.get(name)
        return self._texts.say(name, look, {"what": what}) if own is None else own.format(what=what)
