"""Commands that a world file defines: a template, a SELECT, or a registered handler."""

import sqlite3
from collections.abc import Mapping

import orjson

from simtrain.contracts.handler import Reply, ToolError
from simtrain.contracts.registry import resolve
from simtrain.files.templates import Text
from simtrain.values.clock import stamp
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.machine.invocation import Command, Invocation, Result
from simtrain.worlds.machine.jobs import NoProcessLeft, TooEarly
from simtrain.worlds.machine.spec import CommandSource

MOST_ARGUMENTS = 20


def own_command(source: CommandSource) -> Command:
    """Return the command of a world file. Raises InputError for a template that does not parse and an unknown handler."""
    if source.handler is not None:
        return _handled(source)
    template = Text(source.template) if source.template is not None else None

    def run(call: Invocation) -> Result:
        rows: list[JsonObject] = []
        if source.sql is not None:
            try:
                rows = call.read(source.sql, _parameters(call))
            except sqlite3.Error as error:
                return call.fail(str(error))
        if template is None:
            return Result("".join(_line(row) for row in rows), exit_code=source.exit_code)
        try:
            text = template.render(
                {
                    "arguments": list(call.arguments),
                    "stdin": call.stdin or "",
                    "user": call.user.name,
                    "host": call.machine.name,
                    "now": stamp(call.now),
                    "rows": rows,
                }
            )
        except InputError as error:
            return call.fail(error.problem)
        return Result(text if not text or text.endswith("\n") else f"{text}\n", exit_code=source.exit_code)

    return run


def _parameters(call: Invocation) -> dict[str, JsonValue]:
    given = {f"a{number}": None for number in range(1, MOST_ARGUMENTS + 1)}
    given |= {f"a{number}": text for number, text in enumerate(call.arguments[:MOST_ARGUMENTS], start=1)}
    return {**given, "user": call.user.name, "host": call.machine.name, "now": stamp(call.now)}


def _line(row: Mapping[str, JsonValue]) -> str:
    return "\t".join("" if cell is None else str(cell) for cell in row.values()) + "\n"


def _handled(source: CommandSource) -> Command:
    name = source.handler or ""
    handler = resolve("handlers", name)

    def run(call: Invocation) -> Result:
        try:
            with call.machine.records.together():
                reply = handler(HandledCommand(call))
        except (ToolError, sqlite3.IntegrityError) as error:
            return call.fail(str(error))
        except (NoProcessLeft, TooEarly):
            raise
        except Exception as error:
            raise SimulatorFault(f"the handler {name!r} failed: {type(error).__name__}: {error}") from error
        if isinstance(reply, Reply):
            return Result(reply.text, exit_code=1 if reply.is_error else source.exit_code)
        return Result(orjson.dumps(reply).decode() + "\n", exit_code=source.exit_code)

    return run


class HandledCommand:
    """An invocation as a handler sees it: `arguments` are `argv`, `stdin`, `directory` and `environment`."""

    def __init__(self, call: Invocation) -> None:
        self._call = call

    @property
    def arguments(self) -> JsonObject:
        """Return the arguments."""
        call = self._call
        return {
            "argv": list(call.arguments), "stdin": call.stdin, "directory": call.directory,
            "environment": dict(call.environment),
        }  # fmt: skip

    @property
    def now(self) -> str:
        """Return virtual time."""
        return stamp(self._call.now)

    def read(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> list[JsonObject]:
        """Return the rows of a SELECT."""
        return self._call.read(sql, parameters)

    def write(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> int:
        """Run a writing statement and return its row count."""
        return self._call.write(sql, parameters)

    def new_id(self, pattern: str) -> str:
        """Raise ToolError: numbers of a command's own are counted in a table of the world."""
        raise ToolError(f"a command makes no id such as {pattern}")
