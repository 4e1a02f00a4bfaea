"""Putting a history together: kinds of things, the lives of rows in each recording, columns and references."""

from __future__ import annotations

import re
from collections import Counter

from simtrain.serving.draft.course import CourseOfCalls
from simtrain.serving.draft.finding import EACH, Finder, Found, is_reference
from simtrain.serving.draft.forms import plain
from simtrain.serving.draft.history import History, named_ids
from simtrain.serving.draft.lives import COUNTERS, Table, type_of
from simtrain.serving.draft.observed import Call, Observed
from simtrain.serving.draft.page import printable
from simtrain.tool_words import tool_words
from simtrain.types import JsonObject, JsonValue

_WEAK = ("name", "title", "key", "slug", "number", "path", "uri")


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
        CourseOfCalls(history, course).play()
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


def _add_columns(history: History) -> None:
    held = {
        (record.parent.kind, record.path[-2] if record.path[-1] == EACH else record.path[-1])
        for records in history.records.values()
        for record in records
        if record.parent is not None
    }
    for table in history.tables.values():
        _sort_initial(table)
        values: dict[str, list[JsonValue]] = {table.id: [life.id for life in table.lives]}
        for life in table.lives:
            life.sightings.sort(key=lambda sighting: sighting[0])
            for _, fields in life.sightings:
                for name, value in fields.items():
                    # A list of records that is empty for once, or an object that is null, is none of the row's own.
                    if (table.kind, name) not in held or value not in (None, [], {}):
                        values.setdefault(name, []).append(value)
        table.columns = {name: type_of(seen) for name, seen in values.items()}


def _sort_initial(table: Table) -> None:
    """Rows whose ids count up came in that order, whatever order a list shows them in."""
    initial = [life for life in table.lives if life.born is None]
    numbers = [re.search(r"\d+$", str(life.id)) for life in initial]
    if all(numbers):
        initial.sort(key=lambda life: int(re.findall(r"\d+$", str(life.id))[0]))
    table.lives = [*initial, *(life for life in table.lives if life.born is not None)]


def _link_parents(history: History) -> None:
    """Which column of a table refers to which other table."""
    for table in history.tables.values():
        for other in history.tables.values():
            if other is table:
                continue
            names = (name for name in table.columns if name != table.id and is_reference(name, other.kind, other.id))
            found = next(names, None)
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
