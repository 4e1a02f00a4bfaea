"""Tables and the lives of their rows, put together from the calls of all recordings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import cast

from simtrain.serving.draft.finding import EACH, Finder, Found
from simtrain.serving.draft.forms import object_of, plain
from simtrain.serving.draft.lives import COUNTERS, Life, Table, type_of
from simtrain.serving.draft.observed import Call, Observed
from simtrain.serving.draft.page import printable
from simtrain.tool_words import Intent, tool_words
from simtrain.types import JsonObject, JsonValue

_TOKEN = re.compile(r"[\w-]+")
_WEAK = ("name", "title", "key", "slug", "number", "path", "uri")


@dataclass(eq=False)
class History:
    """The tables of a server, which tool is about which, and what records every call showed."""

    observed: Observed
    finder: Finder
    tables: dict[str, Table] = field(default_factory=dict[str, Table])
    records: dict[int, list[Found]] = field(default_factory=dict[int, list[Found]])
    subjects: dict[str, Table] = field(default_factory=dict[str, Table])

    def intent(self, tool: str) -> Intent | None:
        """What a tool does, as its name says: but one that only reads, or that is told the id of its own row, makes nothing."""
        words = tool_words(tool)
        hints = object_of(self.observed.tools[tool].get("annotations"))
        given = {plain(name) for name in self.observed.required(tool)}
        subject = self.subjects.get(tool)
        told = subject is not None and f"{plain(subject.kind)}id" in given
        return "get" if words.intent == "create" and (told or hints.get("readOnlyHint") is True) else words.intent

    def table_of(self, found: Found) -> Table:
        """The table that a record is a row of."""
        return self.tables[found.kind]

    def id_argument(self, tool: str, table: Table) -> str | None:
        """The argument that names rows of a table, one or several of them."""
        kind = plain(table.kind)
        forms = [plain(table.id), f"{kind}id", f"{kind}ids", "id", "ids", kind, f"{plain(table.id)}s"]
        if table is not self.subjects.get(tool):
            forms = [form for form in forms if form not in ("id", "ids", "name", "title", "key", "path", kind)]
        by_form = {plain(name): name for name in self.observed.properties(tool)}
        return next((by_form[form] for form in forms if form in by_form), None)

    def references(self, tool: str) -> list[tuple[str, Table]]:
        """The arguments that name rows, with their tables: those of other tables first."""
        subject = self.subjects.get(tool)
        others = [table for table in self.tables.values() if table is not subject]
        pairs = [(self.id_argument(tool, table), table) for table in (*others, *([subject] if subject else []))]
        return [(name, table) for name, table in pairs if name is not None]


def build_history(observed: Observed) -> History:
    """The history of a server."""
    asked = {name for tool in observed.tools for name in observed.required(tool) if tool_words(tool).intent != "create"}
    history = History(observed, Finder(frozenset(name for name in _WEAK if name in asked)))
    shown = [call for call in observed.calls if call.channel == "result" and call.body is not None]
    for call in shown:
        history.records[call.number] = history.finder.records(call.body, kind=tool_words(call.tool).noun)
    _settle_kinds(history)
    _find_subjects(history)
    for course in sorted({call.course for call in observed.calls}):
        _Course(history, course).play()
    _add_columns(history)
    _link_parents(history)
    _add_what_was_written(history)
    history.tables = {kind: table for kind, table in history.tables.items() if table.columns and table.lives}
    history.subjects = {tool: table for tool, table in history.subjects.items() if table in history.tables.values()}
    return history


def _settle_kinds(history: History) -> None:
    """One kind for one thing: `next_task` is a task where tasks are known, and so is what has the ids and fields of tasks."""
    found = [record for records in history.records.values() for record in records]
    ids: dict[str, set[str]] = {}
    fields: dict[str, Counter[str]] = {}
    for record in found:
        ids.setdefault(record.kind, set()).add(str(record.id))
        fields.setdefault(record.kind, Counter()).update(list(record.fields))
    by_size = sorted(ids, key=lambda kind: (-len(ids[kind]), len(kind), kind))
    names: dict[str, str] = {}
    for kind in by_size:
        names[kind] = next(
            (names[other] for other in by_size if other in names and _same(kind, other, ids, fields)), kind
        )
    for number, records in history.records.items():
        history.records[number] = [_renamed(record, names) for record in records]
    for kind in dict.fromkeys(names.values()):
        identities = Counter(record.id_field for record in found if names[record.kind] == kind)
        taken = {COUNTERS, *(table.name for table in history.tables.values())}
        name = _plural(kind)
        while name in taken:
            name = f"{name}_"
        history.tables[kind] = Table(kind, name, identities.most_common(1)[0][0])


def _same(kind: str, other: str, ids: dict[str, set[str]], fields: dict[str, Counter[str]]) -> bool:
    if kind.endswith(f"_{other}"):
        return True
    shared = ids[kind] & ids[other]
    if not shared or len(shared) * 2 < min(len(ids[kind]), len(ids[other])):
        return False
    small, large = sorted((set(fields[kind]), set(fields[other])), key=len)
    return len(small & large) * 2 > len(small) and len(small & large) >= 2


def _renamed(record: Found, names: dict[str, str]) -> Found:
    parent = _renamed(record.parent, names) if record.parent is not None else None
    return Found(names[record.kind], record.id_field, record.id, record.fields, record.path, parent)


def _plural(kind: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_]", "_", kind).lower() or "item"
    name = name if name[0].isalpha() and not name.startswith("sqlite_") else f"t_{name}"
    if name.endswith("y") and name[-2:-1] not in "aeiou":
        return f"{name[:-1]}ies"
    return name if name.endswith("s") else f"{name}s"


def _find_subjects(history: History) -> None:
    """The table that each tool is about: that of its noun, else that of what it shows first."""
    for tool in history.observed.tools:
        noun = tool_words(tool).noun
        named = [
            kind for kind in history.tables if kind == noun or noun.endswith(f"_{kind}") or noun.startswith(f"{kind}_")
        ]
        shown = Counter(
            record.kind
            for call in history.observed.calls_of(tool)
            for record in history.records.get(call.number, [])
            if record.parent is None
        )
        exact = [kind for kind in named if kind == noun]
        kind = next(iter([*exact, *(kind for kind, _ in shown.most_common(1)), *named]), None)
        if kind is None:
            kind = _kind_asked_for(history, tool)
        if kind is not None:
            history.subjects[tool] = history.tables[kind]


def _kind_asked_for(history: History, tool: str) -> str | None:
    """The kind whose id a tool asks for."""
    forms = {plain(name) for name in history.observed.required(tool)}
    return next((kind for kind in history.tables if f"{plain(kind)}id" in forms), None)


class _Course:
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
            fields[table.id] = fields.pop(record.id_field)
        if record.parent is not None and record.path[-1] == EACH:
            if table.parent is None and record.parent.kind != record.kind:
                table.parent = self.history.table_of(record.parent)
            fields |= self._parent_reference(table, record.parent, fields)
        life.sightings.append((call.number, fields))

    def _parent_reference(self, table: Table, parent: Found, fields: JsonObject) -> JsonObject:
        """The reference to the record in which a record stands, where it does not say it itself."""
        wanted = {f"{plain(parent.kind)}id", plain(parent.id_field) if plain(parent.id_field) != "id" else ""}
        if parent.kind == table.kind or any(plain(name) in wanted for name in fields):
            return {}
        return {f"{parent.kind}_id": parent.id}

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
            forms = (f"{plain(table.kind)}id", _own(table))
            reference = next((name for name in _names_seen(child) if plain(name) in forms), None)
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


def named_ids(call: Call, argument: str | None) -> list[JsonValue]:
    """The ids that an argument of a call holds."""
    value: JsonValue = call.arguments.get(argument) if argument is not None else None
    if isinstance(value, list):
        return cast("list[JsonValue]", value)
    return [] if value is None else [value]


def _own(table: Table) -> str:
    """The form of a reference that is called like the id of its table."""
    return (
        plain(table.id) if plain(table.id) not in ("id", "uuid", "name", "title", "key") else f"{plain(table.kind)}id"
    )


def _names_seen(table: Table) -> Iterable[str]:
    return dict.fromkeys(name for life in table.lives for _, fields in life.sightings for name in fields)


def _holds(life: Life, table: Table, call: Call) -> bool:
    columns = {plain(name): name for _, fields in life.sightings for name in fields}
    pairs = [
        (value, life.first(columns[plain(name)])) for name, value in call.arguments.items() if plain(name) in columns
    ]
    return bool(pairs) and all(one == other for one, other in pairs)


def _add_columns(history: History) -> None:
    for table in history.tables.values():
        values: dict[str, list[JsonValue]] = {table.id: [life.id for life in table.lives]}
        for life in table.lives:
            life.sightings.sort(key=lambda sighting: sighting[0])
            for _, fields in life.sightings:
                for name, value in fields.items():
                    values.setdefault(name, []).append(value)
        table.columns = {name: type_of(held) for name, held in values.items()}


def _link_parents(history: History) -> None:
    """Which column of a table refers to which other table."""
    for table in history.tables.values():
        for other in history.tables.values():
            if other is table:
                continue
            found = next(
                (
                    name
                    for name in table.columns
                    if name != table.id and plain(name) in (f"{plain(other.kind)}id", _own(other))
                ),
                None,
            )
            if found is not None and (table.parent is None or table.parent is other):
                table.parent, table.parent_column = other, found


def _add_what_was_written(history: History) -> None:
    """What creating and updating tools were given counts as seen; what no reply ever shows gets a column of its own."""
    for call in history.observed.calls:
        table = history.subjects.get(call.tool)
        intent = history.intent(call.tool)
        if table is None or call.channel != "result" or intent not in ("create", "update"):
            continue
        if intent == "create":
            _add_unseen_columns(history, call, table)
            touched = [life for life in table.lives if life.born == call.number]
        else:
            ids = [str(item) for item in named_ids(call, history.id_argument(call.tool, table))]
            standing = table.standing(call.course, call.number, after=False)
            touched = [life for life in standing if str(life.id) in ids]
        written = _written(history, call, table)
        for life in touched:
            shown = {name for number, fields in life.sightings if number == call.number for name in fields}
            kept = {name: value for name, value in written.items() if name not in shown}
            if kept:
                life.sightings.append((call.number, kept))
                life.sightings.sort(key=lambda sighting: sighting[0])


def _written(history: History, call: Call, table: Table) -> JsonObject:
    found: JsonObject = {}
    for name, value in call.arguments.items():
        column = table.column_like(name)
        if (
            column is not None
            and value is not None
            and column != table.id
            and name != history.id_argument(call.tool, table)
        ):
            found[column] = value
    return found


def _add_unseen_columns(history: History, call: Call, table: Table) -> None:
    known = {name for name, _ in history.references(call.tool)}
    for name, value in call.arguments.items():
        scalar = isinstance(value, str | int | float | bool)
        if scalar and name not in known and table.column_like(name) is None and re.fullmatch(r"[A-Za-z_]\w*", name):
            table.columns[name] = type_of([value])
            table.notes.append(f"{name} is given to {printable(call.tool)}, and no recorded reply shows it")
