"""A tool of a service world, compiled: checks, preconditions, statements and reply, run as one transaction."""

import re
import sqlite3
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import cast

import orjson

from simtrain.contracts.handler import Reply as HandlerReply
from simtrain.contracts.handler import ToolError
from simtrain.contracts.registry import resolve
from simtrain.files.templates import Text, TooMuch
from simtrain.values.errors import InputError, SimulatorFault, nearest
from simtrain.values.seeding import derive
from simtrain.values.types import JsonObject, JsonValue, Observation, Provenance, ToolSpec, encode
from simtrain.worlds.service.database import SEQUENCE, Database, Mode, explain, is_interruption
from simtrain.worlds.service.error_texts import ErrorTexts
from simtrain.worlds.service.queries import ReplyQueries, check_parameters, read_cursor
from simtrain.worlds.service.spec import ToolSource

EMBEDDED = Provenance("embedded")

UNSUPPORTED = "{tool} is not supported by this simulated server."
"""The error text of an unbound tool."""

_SEQ = re.compile(r"\{seq(?::0(\d{1,2}))?\}")
_HEX = re.compile(r"\{hex:(\d{1,2})\}")
_CONSTRAINT = re.compile(r"(UNIQUE|CHECK|NOT NULL|FOREIGN KEY) constraint failed(?:: (.*))?")
_WORD = re.compile(r"[A-Za-z_]\w*")
_DONE: JsonObject = {"ok": True}
_NESTED = (list, dict)

MUCH = 20_000
"""Characters. If the arguments, as JSON, are longer than this, a value that overflows is the agent's fault."""

MOST_REPLY = 16_000_000
"""Longest reply, in characters."""


class PreconditionFailed(ToolError):
    """A precondition failed. `rule` is its name, `shown_as` the channel: error, result, or the code of a JSON-RPC error."""

    def __init__(self, text: str, rule: str, shown_as: str | int) -> None:
        super().__init__(text)
        self.rule = rule
        self.shown_as = shown_as


class CompiledTool:
    """A compiled tool. `writes` is true if it may change the world; `rules` are the names of its preconditions."""

    def __init__(self, source: ToolSource, *, input_schema: JsonObject, errors: ErrorTexts) -> None:
        """Raises InputError for a source that does not compile. SQL is checked later, by `check`."""
        self.name = source.name
        self.source = source
        if source.handler and (source.write or source.read):
            raise InputError("a tool needs either a handler or write and read, not both", remedy="remove one")
        bound = bool(source.handler or source.write or source.read)
        if bound is source.unbound:
            raise (
                InputError("an unbound tool has no statement", remedy="remove `unbound`, or read, write and handler")
                if bound
                else InputError(
                    "the tool has no statement", remedy="add read, write or handler, or say `unbound: true`"
                )
            )
        self.writes = bool(source.write) if source.writes is None else source.writes
        if source.write and not self.writes:
            raise InputError("the tool has `write` but says `writes: false`")
        with _at("handler"):
            self._handler = resolve("handlers", source.handler) if source.handler else None
        self.takes_time: bool = getattr(self._handler, "takes_time", False)
        with _at("read"):
            self._reply = ReplyQueries(source.read, page=source.page) if source.read else None
        self.paged = source.page is not None
        self._lets = list(source.let.items())
        self._ids = list(source.ids.items())
        self._refusals = [
            (
                item.label or f"{source.name}[{index}]",
                item.holds or item.unless or "",
                item.holds is not None,
                _text(item.error, f"refuse[{index}].error"),
                item.error_as,
            )
            for index, item in enumerate(source.refuse)
        ]
        self.rules = tuple(label for label, *_ in self._refusals)
        self._writes = source.write
        self._text = _text(source.text, "text") if source.text else None
        self._each = source.each
        self._texts = {**errors.model_dump(), **source.errors}
        properties = input_schema.get("properties", {})
        self._defaults: JsonObject = {name: schema.get("default") for name, schema in properties.items()}
        self.spec = ToolSpec(source.name, " ".join(source.description.split()), input_schema, None, self.writes)

    def check(self, database: Database) -> None:
        """Prepare every statement. Raises InputError for SQL that does not compile, is not allowed, or names an unknown parameter."""
        known = {*self._defaults, "now", "today"}
        for name, sql in self._lets:
            prepare_sql(database, sql, known, Mode.READ, f"let.{name}")
            known.add(name)
        for index, (_, sql, _, text, _) in enumerate(self._refusals):
            prepare_sql(database, sql, known, Mode.READ, f"refuse[{index}]")
            _check_names(text, known, f"refuse[{index}].error")
        # Ids exist only once all preconditions held, so `let` and `refuse` cannot name them.
        known |= {name for name, _ in self._ids}
        for index, sql in enumerate(self._writes):
            prepare_sql(database, sql, known, Mode.WRITE, f"write[{index}]")
        if self._reply is not None:
            nothing: dict[str, JsonValue] = dict.fromkeys(known)
            for name, query in self._reply.parts.items():
                paging = {"_limit", "_offset"} if query.page else set[str]()
                prepare_sql(database, query.sql, known | paging, Mode.READ, f"read.{name}")
                if query.missing:
                    _check_names(query.missing, known, f"read.{name}.missing")
                with _at(f"read.{name}"):
                    query.learn(database, {**nothing, "_limit": 0, "_offset": 0})
        if self._text is not None and self._reply is not None and self._reply.whole is None:
            _check_names(self._text, known | set(self._reply.parts) | {"next_cursor", "reply", "item"}, "text")
        if self._each is not None and (
            self._text is None or self._reply is None or self._each not in self._reply.parts
        ):
            raise InputError("`each` needs `text`, and a list of `read`", place="each")

    def output_schema(self) -> JsonObject | None:
        """Return the JSON Schema of the structured reply; None if there is no structured reply or its schema is unknown."""
        if not self.source.structured:
            return None
        if self.source.output is not None:
            return self.source.output
        if any(rule.error_as == "result" for rule in self.source.refuse):
            # Such a refusal is a success without structured content; clients reject that if a schema was announced.
            return None
        if self._reply is not None:
            return self._reply.schema()
        if self._handler is not None or self.source.unbound:
            return None
        return {"type": "object", "properties": {"ok": {"const": True}}, "required": ["ok"]}

    def prepare(self, database: Database, arguments: JsonObject) -> dict[str, JsonValue]:
        """Check every precondition and return the parameters for SQL. Raises ToolError."""
        given: dict[str, JsonValue] = {**self._defaults, **arguments}
        values: dict[str, JsonValue] = {**given, "now": database.moment, "today": database.moment[:10]}
        for name, value in given.items():
            if isinstance(value, _NESTED):
                values[name] = encode(cast(object, value))
        if self.paged:
            values["_offset"] = read_cursor(values.get("cursor"))
            # One row more than a page: its presence says that a further page follows.
            values["_limit"] = cast(int, self.source.page) + 1
        for name, sql in self._lets:
            row = database.first(sql, values)
            values[name] = None if row is None else row[0]
        for rule, sql, refuse_when, text, shown_as in self._refusals:
            row = database.first(sql, values)
            if (row is not None and bool(row[0])) is refuse_when:
                raise PreconditionFailed(text.render({**values, **arguments}), rule, shown_as)
        return values

    def write(self, database: Database, values: dict[str, JsonValue], *, statements: int | None = None) -> None:
        """Run the writing statements, or the first `statements` of them. The caller holds the transaction."""
        for name, pattern in self._ids:
            values[name] = new_id(database, pattern)
        for sql in self._writes[:statements]:
            database.run(sql, values, mode=Mode.WRITE)

    def reply(self, database: Database, values: dict[str, JsonValue], arguments: JsonObject) -> Observation:
        """Return the reply of a successful call. Raises ToolError."""
        if self.source.unbound:
            raise ToolError(UNSUPPORTED.format(tool=self.name.rpartition(".")[2]))
        if self._handler is not None:
            reply = self._handler(HandlerCall(database, {**self._defaults, **arguments}, writes=self.writes))
            if isinstance(reply, HandlerReply):
                return _observed(reply)
            structured = reply
        else:
            structured = self._reply.fetch(database, values) if self._reply else _DONE
        if self._text is None:
            text = encode(structured)
            if len(text) > MOST_REPLY:
                raise TooMuch(f"a reply has at most {MOST_REPLY:,} characters")
            return Observation(text, json=self.source.structured, provenance=EMBEDDED)
        # Later keys win: what the reply holds hides an argument of the same name, and that hides a parameter of SQL.
        names = {"reply": structured, **values, **arguments, **structured}
        if self._each is not None:
            items = structured[self._each]
            texts: list[str] = []
            left = MOST_REPLY
            for item in items:
                texts.append(self._text.render({**names, "item": item}))
                left -= len(texts[-1])
                if left < 0:
                    raise TooMuch(f"a reply has at most {MOST_REPLY:,} characters")
            return _in_blocks(texts, structured if self.source.structured else None)
        text = self._text.render(names)
        return Observation(text, structured if self.source.structured else None, provenance=EMBEDDED)

    def failed(self, failure: Exception, arguments: JsonObject) -> Observation:
        """Return the error reply for a failure that an agent can cause by its arguments.

        Raises SimulatorFault for other failures of SQL and handlers, and the failure itself if it is neither.
        """
        # Raised again so that except clauses can sort it. A subclass must come before its base.
        try:
            raise failure
        except PreconditionFailed as error:
            return _refusal(error)
        except ToolError as error:
            return _error(str(error))
        except sqlite3.IntegrityError as error:
            return _error(self._constraint(str(error)))
        except (OverflowError, UnicodeEncodeError, sqlite3.DataError, TooMuch) as error:
            return self._overflow(error, arguments)
        except (orjson.JSONDecodeError, orjson.JSONEncodeError):
            return self._bad("a value is out of range")
        except sqlite3.OperationalError as error:
            if is_interruption(error):
                raise SimulatorFault(f"the SQL of {self.name}: {explain(error)}") from None
            if "too big" in str(error) or "too complex" in str(error):
                return self._overflow(error, arguments)
            if arguments and ("malformed JSON" in str(error) or "user-defined function" in str(error)):
                return self._bad("a value has the wrong form")
            raise SimulatorFault(f"the SQL of {self.name} fails: {error}") from None
        except InputError as error:
            raise SimulatorFault(f"{self.name}: {error}") from None

    def _overflow(self, error: Exception, arguments: JsonObject) -> Observation:
        """Return the reply to arguments that are too large. Raises SimulatorFault if the arguments are small and the world is at fault."""
        if _is_large(arguments):
            return self._bad("a value is too long" if isinstance(error, TooMuch) else "a value is out of range")
        raise SimulatorFault(f"{self.name} makes a value that is too large: {error}") from None

    def _bad(self, detail: str) -> Observation:
        return _error(self._texts["bad_arguments"].format(tool=self.name, detail=detail))

    def _constraint(self, message: str) -> str:
        found = _CONSTRAINT.match(message)
        if found is None:
            # RAISE(ABORT, 'text') in a trigger: the author's own words. "cannot store" is SQLite's text for STRICT tables.
            return self._texts["check"].format(what="an argument") if message.startswith("cannot store") else message
        kind, detail = found[1], found[2] or ""
        if kind in ("UNIQUE", "NOT NULL"):
            what = " and ".join(part.strip().rpartition(".")[2] for part in detail.split(","))
        else:
            word = _WORD.search(detail)
            what = word[0] if word else "an argument"
        return self._texts[kind.lower().replace(" ", "_")].format(what=what.replace("_", " "))


def _is_large(arguments: JsonObject) -> bool:
    """Return True if the arguments of a call are larger than a tool must accept: long texts, integers of more than 64 bits."""
    if any(isinstance(value, int) and not -(2**63) <= value < 2**63 for value in arguments.values()):
        return True
    try:
        return len(encode(arguments)) > MUCH
    except TypeError:
        return True


def _observed(reply: HandlerReply) -> Observation:
    """Return a handler's reply as an observation; content blocks and notifications travel as the raw MCP reply."""
    # An observation has text for the model and JSON for graders and perturbations. It has the MCP reply itself (wire) only if these
    # two cannot express it: a client must get an image or a notification as the server sent it.
    wire: JsonObject | None = None
    if reply.blocks or reply.updated:
        blocks = list(reply.blocks) or [{"type": "text", "text": reply.text}]
        result: JsonObject = {"content": blocks}
        if reply.structured is not None:
            result["structuredContent"] = reply.structured
        wire = {"result": {**result, "isError": True} if reply.is_error else result}
        if reply.updated:
            method = "notifications/resources/updated"
            wire["notifications"] = [{"method": method, "params": {"uri": uri}} for uri in reply.updated]
    return Observation(reply.text, reply.structured, reply.is_error, provenance=EMBEDDED, wire=wire)


def _in_blocks(texts: list[str], structured: JsonObject | None) -> Observation:
    """Return a reply of several text blocks."""
    result: JsonObject = {"content": [{"type": "text", "text": text} for text in texts]}
    if structured is not None:
        result["structuredContent"] = structured
    return Observation("\n".join(texts), structured, provenance=EMBEDDED, wire={"result": result})


def _refusal(refused: PreconditionFailed) -> Observation:
    text, shown_as = str(refused), refused.shown_as
    wire: JsonObject | None = {"error": {"code": shown_as, "message": text}} if isinstance(shown_as, int) else None
    provenance = Provenance("embedded", rule=refused.rule)
    return Observation(text, is_error=shown_as != "result", provenance=provenance, wire=wire)


def _error(text: str) -> Observation:
    return Observation(text, is_error=True, provenance=EMBEDDED)


def new_id(database: Database, pattern: str) -> str:
    """Return the next id of a pattern such as `RF{seq:05}` or `{hex:8}`. The counter is in the database: a rollback undoes it too."""
    sql = f"insert into {SEQUENCE} values (:format, 1) on conflict do update set value = value + 1 returning value"
    row = database.first(sql, {"format": pattern}, mode=Mode.OWN)
    number = cast(int, cast("tuple[object]", row)[0])
    text = _SEQ.sub(lambda found: str(number).zfill(int(found[1] or 0)), pattern)
    return _HEX.sub(lambda found: _digits(pattern, number, found), text)


def _digits(pattern: str, number: int, field: re.Match[str]) -> str:
    """Return the hexadecimal digits of one field of an id. They look random but depend only on pattern and number."""
    count = int(field[1])
    parts = (f"{derive(number, pattern, field.start(), part):016x}" for part in range(count // 16 + 1))
    return "".join(parts)[:count]


@contextmanager
def _at(place: str) -> Generator[None]:
    """Add this place of the tool to the InputErrors of the block."""
    try:
        yield
    except InputError as error:
        raise error.at(place=place) from None


def _text(source: str, place: str) -> Text:
    with _at(place):
        return Text(source)


def prepare_sql(database: Database, sql: str, known: set[str], mode: Mode, place: str) -> None:
    """Prepare one statement that may name the parameters in `known`. Raises InputError at `place`."""
    try:
        check_parameters(sql, known)
        # EXPLAIN prepares the statement, authorizer included, and runs nothing.
        database.run(f"explain {sql}", dict.fromkeys(known), mode=mode)
    except InputError as error:
        raise error.at(place=place) from None
    except (sqlite3.Error, sqlite3.Warning) as error:
        denied = "not authorized" in str(error) or "prohibited" in str(error)
        problem = "the SQL may not do this" if denied else f"the SQL does not compile: {error}"
        raise InputError(
            problem, remedy="writing belongs in `write`; see docs/worlds.md" if denied else None, place=place
        ) from None


def _check_names(text: Text, known: set[str], place: str) -> None:
    for name in sorted(text.names - known):
        raise InputError(f"the text names {name!r}, which nothing binds", remedy=nearest(name, known), place=place)


class HandlerCall:
    """The handler's view of a call (see HandlerContext)."""

    def __init__(self, database: Database, arguments: JsonObject, *, writes: bool) -> None:
        self._database = database
        self._mode = Mode.WRITE if writes else Mode.READ
        self.arguments = arguments
        self.now = database.moment
        self.new_id = partial(new_id, database)

    def read(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> list[JsonObject]:
        return self._database.rows(sql, parameters or {})

    def write(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> int:
        return self._database.run(sql, parameters or {}, mode=self._mode)
