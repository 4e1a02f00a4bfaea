"""The ledger of a language world model: what its replies have established, kept in SQLite and held against its next replies."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

import orjson

from simtrain.contracts.request import Request
from simtrain.values.entities import PAGE, Entity, entities_in
from simtrain.values.tool_words import tool_words
from simtrain.values.types import JsonObject, JsonValue, Observation, canonical, is_list

SHOWN = 24
"""Entities that are given back to the model with one call."""

VOLATILE = (
    "*cursor*", "*token*", "etag", "*request_id*", "now", "*elapsed*", "*duration*", "*score*", "*rank*", "retrieved*",
    "generated*", "fetched*", "page", "total*", "has_more", "count",
)  # fmt: skip
"""Fields that may differ from reply to reply."""

_GONE = re.compile(r"not found|no such|does ?n[o']t exist|unknown|404|could not find", re.IGNORECASE)
_BACK = re.compile(r"restore|undelete|recover|trash|deleted|history|log|audit", re.IGNORECASE)
_CUT = re.compile(r"(…|\.\.\.)$")

_SCHEMA = """
create table entities (kind text, id text, seen integer, touched integer, deleted integer, primary key (kind, id));
create table facts (kind text, id text, field text, value text, step integer, primary key (kind, id, field));
create table readings (call blob primary key, ids text, step integer);
create index facts_by_value on facts (value);
"""


class Contradiction(ValueError):
    """A reply that cannot be true beside what earlier replies said."""


class Ledger:
    """What the replies of one episode have established. Close it with the episode."""

    def __init__(self, *, ignore: Iterable[str] = ()) -> None:
        """`ignore` are globs of further fields that may differ from reply to reply."""
        self._database = sqlite3.connect(":memory:", isolation_level=None)
        self._database.executescript(_SCHEMA)
        self._ignored = (*VOLATILE, *ignore)
        self._step = 0
        self._last_write = 0

    def close(self) -> None:
        """Forget everything."""
        self._database.close()

    def known(self, request: Request) -> str:
        """Return what is established about the things that a call is about, a line each, for the model to keep to."""
        lines = [self._line(kind, identity) for kind, identity in self._about(request)]
        return "\n".join(lines)

    def check(self, request: Request, observation: Observation) -> None:
        """Raise Contradiction for a reply that earlier ones rule out."""
        if observation.is_error:
            self._check_absence(request, observation.text)
            return
        reply = _content(observation)
        found = entities_in(reply, tool=request.tool.name)
        mentioned = _values(request.arguments)
        for entity in found:
            self._check_entity(request, entity, named=entity.id in mentioned)
        if not request.tool.writes:
            self._check_reading(request, found)

    def note(self, request: Request, observation: Observation) -> None:
        """Write down what an accepted reply establishes, and what its call changed."""
        self._step += 1
        if observation.is_error:
            return
        found = entities_in(_content(observation), tool=request.tool.name)
        if request.tool.writes:
            self._last_write = self._step
            for identity in {*_values(request.arguments), *(entity.id for entity in found)}:
                self._touch(identity)
        for entity in found:
            self._establish(entity)
        if request.tool.writes and tool_words(request.tool.name).intent == "delete":
            self._delete(request)
        if not request.tool.writes:
            ids = orjson.dumps(sorted({f"{entity.kind} {entity.id}" for entity in found}))
            self._run("insert or replace into readings values (?, ?, ?)", _call(request), ids.decode(), self._step)

    # What is asked of the tables

    def _run(self, sql: str, *values: object) -> list[tuple[JsonValue, ...]]:
        return self._database.execute(sql, values).fetchall()

    def _entity(self, kind: str, identity: str) -> tuple[int, int, int | None] | None:
        """Return the steps at which an entity was last shown, last touched by a write, and deleted."""
        rows = self._run("select seen, touched, deleted from entities where kind = ? and id = ?", kind, identity)
        return rows[0] if rows else None

    def _about(self, request: Request) -> Iterator[tuple[str, str]]:
        """Yield the entities that the arguments name; where they name none, those of the tool's noun."""
        values = sorted(_values(request.arguments))
        marks = ",".join("?" * len(values))
        rows = self._run(
            f"select kind, id from entities where id in ({marks}) order by kind, rowid limit {SHOWN}", *values
        )
        if not rows:
            words = tool_words(request.tool.name)
            kinds = (words.noun, PAGE if words.intent == "search" else words.noun)
            rows = self._run(f"select kind, id from entities where kind in (?, ?) order by rowid limit {SHOWN}", *kinds)
        yield from rows

    def _line(self, kind: str, identity: str) -> str:
        found = self._entity(kind, identity)
        if found is not None and found[2] is not None:
            return f"- {kind} {identity}: deleted"
        facts = self._run("select field, value from facts where kind = ? and id = ? order by rowid", kind, identity)
        said = ", ".join(f"{field}={value}" for field, value in facts)
        return f"- {kind} {identity}: {said}" if said else f"- {kind} {identity}"

    # What contradicts

    def _check_entity(self, request: Request, entity: Entity, *, named: bool) -> None:
        before = self._entity(entity.kind, entity.id)
        if before is None:
            return
        _, touched, deleted = before
        words = tool_words(request.tool.name)
        if deleted is not None and words.intent != "delete" and not _BACK.search(request.tool.name):
            raise Contradiction(
                f"{entity.kind} {entity.id} was deleted, and the reply speaks of it as if it were there"
            )
        if request.tool.writes:
            if words.intent == "create" and entity.kind == words.noun and not named:
                raise Contradiction(f"the id {entity.id} of the new {entity.kind} is already taken")
            return
        for field, value in entity.fields.items():
            if self._may_differ(field):
                continue
            rows = self._run(
                "select value from facts where kind = ? and id = ? and field = ? and step >= ?",
                entity.kind, entity.id, field, touched,
            )  # fmt: skip
            if rows and not _agree(rows[0][0], value):
                raise Contradiction(
                    f"{field} of {entity.kind} {entity.id} is {rows[0][0]} since an earlier reply, and nothing has changed it"
                )

    def _check_absence(self, request: Request, text: str) -> None:
        if not _GONE.search(text) or request.tool.writes:
            return
        noun = tool_words(request.tool.name).noun
        for identity in _values(request.arguments):
            found = self._entity(noun, identity)
            if found is not None and found[2] is None and found[0] >= found[1]:
                raise Contradiction(f"{noun} {identity} exists since an earlier reply, and nothing has deleted it")

    def _check_reading(self, request: Request, found: list[Entity]) -> None:
        rows = self._run("select ids, step from readings where call = ?", _call(request))
        if not rows or rows[0][1] < self._last_write:
            return
        before, now = (
            set(orjson.loads(rows[0][0])),
            {f"{item.kind} {item.id}" for item in found},
        )
        if before != now:
            odd = sorted(before ^ now)[0]
            raise Contradiction(
                f"the same call was answered before with other entries ({odd}), and nothing has changed since"
            )

    def _may_differ(self, field: str) -> bool:
        return any(fnmatchcase(field.lower(), glob) for glob in self._ignored)

    # What is written down

    def _establish(self, entity: Entity) -> None:
        self._run(
            "insert into entities values (?, ?, ?, 0, null) on conflict do update set seen = excluded.seen, deleted = null",
            entity.kind, entity.id, self._step,
        )  # fmt: skip
        for field, value in entity.fields.items():
            self._run(
                "insert or replace into facts values (?, ?, ?, ?, ?)",
                entity.kind, entity.id, field, orjson.dumps(value).decode(), self._step,
            )  # fmt: skip

    def _touch(self, identity: str) -> None:
        """A write changed this entity, and may have changed those that it names and that name it."""
        written = (orjson.dumps(identity).decode(), identity)
        self._run(
            "update entities set touched = ? where id = ? or (kind, id) in (select kind, id from facts where value in (?, ?)) "
            "or id in (select trim(value, '\"') from facts where id = ?)",
            self._step, identity, *written, identity,
        )  # fmt: skip

    def _delete(self, request: Request) -> None:
        noun = tool_words(request.tool.name).noun
        for identity in _values(request.arguments):
            self._run("update entities set deleted = ? where kind = ? and id = ?", self._step, noun, identity)


def _content(observation: Observation) -> JsonValue:
    """Return the structured content of a reply, or the JSON that its text is; None for plain words."""
    if observation.content is not None:
        return observation.content
    try:
        return orjson.loads(observation.text)
    except orjson.JSONDecodeError:
        return None


def _values(arguments: JsonObject) -> set[str]:
    """Return the plain values among arguments that may be ids."""
    found: set[str] = set()
    for value in arguments.values():
        items = value if is_list(value) else [value]
        found.update(str(item) for item in items if isinstance(item, str | int) and not isinstance(item, bool))
    return found


def _agree(written: str, value: JsonValue) -> bool:
    """True if a value is the one that was written down; a text may be shown cut off."""
    before = orjson.loads(written)
    if isinstance(before, str) and isinstance(value, str):
        return before == value or _is_cut(before, value) or _is_cut(value, before)
    if isinstance(before, int | float) and isinstance(value, int | float):
        return before == value
    return canonical(before) == canonical(value)


def _is_cut(text: str, whole: str) -> bool:
    """True if a text is the beginning of another one, and says so."""
    beginning = _CUT.sub("", text)
    return beginning != text and whole.startswith(beginning)


def _call(request: Request) -> bytes:
    return canonical([request.tool.name, request.arguments])
