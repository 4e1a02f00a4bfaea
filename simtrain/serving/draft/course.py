"""One recording gone through, call by call: which rows came, were seen, and went."""

from __future__ import annotations

import re
from collections.abc import Iterable

from simtrain.serving.draft.finding import EACH, Found, is_reference, reference_to
from simtrain.serving.draft.forms import plain
from simtrain.serving.draft.history import History, named_ids
from simtrain.serving.draft.lives import Life, Table
from simtrain.serving.draft.observed import Call
from simtrain.types import JsonObject, JsonValue

_TOKEN = re.compile(r"[\w-]+")


class CourseOfCalls:
    """Goes through the calls of one recording and keeps the rows that stand."""

    def __init__(self, history: History, course: int) -> None:
        self.history = history
        self.course = course
        self.calls = [call for call in history.observed.calls if call.course == course]
        self.sentences: list[tuple[Call, Table]] = []

    def play(self) -> None:
        """Fill the tables with the lives of this recording."""
        seen = {
            (record.kind, str(record.id)): record.id
            for call in self.calls
            for record in self.history.records.get(call.number, [])
        }
        for call in self.calls:
            subject = self.history.subjects.get(call.tool)
            intent = self.history.intent(call.tool)
            creates = subject is not None and intent == "create" and call.channel == "result"
            for record in self.history.records.get(call.number, []):
                self._see(
                    record, call, made=creates and (self.history.table_of(record) is subject or record.path != ())
                )
            if subject is not None and creates:
                self._hear(call, subject, seen)
            if subject is not None and intent == "delete" and call.channel == "result":
                self._end(call, subject)
        self._settle_deaths()
        self._explain_unborn()

    def _standing(self, table: Table, identity: JsonValue) -> Life | None:
        return next(
            (
                life
                for life in table.lives
                if life.course == self.course and life.died is None and str(life.id) == str(identity)
            ),
            None,
        )

    def _see(self, record: Found, call: Call, *, made: bool) -> None:
        table = self.history.table_of(record)
        life = self._standing(table, record.id)
        if life is None:
            life = Life(record.id, self.course, call.number if made else None)
            table.lives.append(life)
        fields = dict(record.fields)
        if record.id_field != table.id:
            fields[table.id] = fields.pop(record.id_field, record.id)
        if record.parent is not None and record.path[-1] == EACH:
            if table.parent is None and record.parent.kind != record.kind:
                table.parent = self.history.table_of(record.parent)
            fields |= self._parent_reference(table, record.parent, fields)
        life.sightings.append((call.number, fields))

    def _parent_reference(self, table: Table, parent: Found, fields: JsonObject) -> JsonObject:
        """The reference to the record in which a record stands, where it does not say it itself."""
        if parent.kind == table.kind or any(is_reference(name, parent.kind, parent.id_field) for name in fields):
            return {}
        return {reference_to(parent.kind, parent.id_field): parent.id}

    def _hear(self, call: Call, subject: Table, seen: dict[tuple[str, str], str | int]) -> None:
        """A creation that only says in words which id it gave."""
        if self.history.records.get(call.number):
            return
        given = {str(value) for value in call.arguments.values()}
        for token in _TOKEN.findall(call.text or ""):
            identity = seen.get((subject.kind, token))
            if identity is not None and token not in given and self._standing(subject, token) is None:
                subject.lives.append(Life(identity, self.course, call.number))
                return
        self.sentences.append((call, subject))

    def _end(self, call: Call, subject: Table) -> None:
        for identity in named_ids(call, self.history.id_argument(call.tool, subject)):
            life = self._standing(subject, identity)
            if life is not None:
                life.died = call.number
                self._end_children(call, subject, life)

    def _end_children(self, call: Call, table: Table, gone: Life) -> None:
        for child in self.history.tables.values():
            reference = next((name for name in _names_seen(child) if is_reference(name, table.kind, table.id)), None)
            if reference is None or child is table:
                continue
            for life in child.lives:
                if (
                    life.course == self.course
                    and life.died is None
                    and str(life.value(reference, after=call.number)) == str(gone.id)
                ):
                    life.died = call.number

    def _settle_deaths(self) -> None:
        """What was seen after its end was refused its end, in words."""
        for table in self.history.tables.values():
            for life in table.lives:
                if life.course == self.course and life.died and any(number > life.died for number, _ in life.sightings):
                    life.died = None

    def _explain_unborn(self) -> None:
        """Rows that were first seen after a creation that told no id, and that hold what it was given, are its work."""
        for call, subject in self.sentences:
            unborn = [
                life
                for life in subject.lives
                if life.course == self.course
                and life.born is None
                and life.sightings
                and life.sightings[0][0] > call.number
            ]
            fitting = [life for life in unborn if _holds(life, subject, call)]
            if fitting:
                fitting[0].born = call.number


def _names_seen(table: Table) -> Iterable[str]:
    return dict.fromkeys(name for life in table.lives for _, fields in life.sightings for name in fields)


def _holds(life: Life, table: Table, call: Call) -> bool:
    columns = {plain(name): name for _, fields in life.sightings for name in fields}
    pairs = [
        (value, life.first(columns[plain(name)])) for name, value in call.arguments.items() if plain(name) in columns
    ]
    return bool(pairs) and all(one == other for one, other in pairs)
