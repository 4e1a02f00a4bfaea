"""A built service world, and its state in one episode, which answers calls."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from copy import copy
from typing import Self

from simtrain.contracts.registry import resolve
from simtrain.contracts.request import Request
from simtrain.contracts.world import ErrorStyle, Variant, World
from simtrain.files.json_schemas import check_schema
from simtrain.files.yaml_files import Document, Place
from simtrain.values.clock import Clock, instant, seconds
from simtrain.values.errors import InputError
from simtrain.values.types import Changes, JsonObject, JsonValue, Observation, ToolSpec
from simtrain.worlds.service.change_log import forget
from simtrain.worlds.service.database import Database, Mode, explain
from simtrain.worlds.service.error_texts import ErrorTexts
from simtrain.worlds.service.filling import columns_of, fill, tables_of
from simtrain.worlds.service.forking import ForkedState, restored
from simtrain.worlds.service.offers import Prompt, Resource
from simtrain.worlds.service.spec import ServiceSpec
from simtrain.worlds.service.tool import CompiledTool

SHOWN_ROWS = 12


class ServiceWorld(World):
    """A service world: the base database, its bytes for forking, and the compiled tools."""

    kind = "service"

    def __init__(
        self, spec: ServiceSpec, document: Document, digest: str, variant: Variant, *, base: Database | None = None
    ) -> None:
        """Build the world, over `base` if it is given. Raises InputError with the place in the file."""
        self.name = spec.name
        self.digest = digest
        self.seed = spec.seed if variant.seed is None else variant.seed
        self.start = instant(spec.clock.start)
        self.per_step = seconds(spec.clock.per_step)
        self.errors = _error_style(spec.errors, document, ("errors",))
        self.server_errors = {
            server: _error_style(texts, document, ("server_errors", server))
            for server, texts in spec.server_errors.items()
        }
        self.descriptors = {tool.name: tool.descriptor for tool in spec.tools if tool.descriptor}
        self.description = spec.description
        self.scans_backwards = False
        self.base = base or fill(spec, document, seed=self.seed, counts=dict(variant.rows))
        self.content = self.base.serialize()
        self.compiled: dict[str, CompiledTool] = {}
        specs: list[ToolSpec] = []
        for index, tool_source in enumerate(spec.tools):
            with document.at(("tools", index)):
                input_schema = tool_source.input_schema()
                check_schema(input_schema, place="input")
                check_schema(tool_source.output or {}, place="output")
                _check_style(self.errors_of(tool_source.name).arguments, tool_source.name, input_schema)
                tool = CompiledTool(tool_source, input_schema=input_schema, errors=spec.errors_of(tool_source.name))
                tool.check(self.base)
            self.compiled[tool.name] = tool
            found = tool.spec
            specs.append(
                ToolSpec(found.name, found.description, found.input_schema, tool.output_schema(), found.writes)
            )
        self.tools = tuple(specs)
        self.manifest = document.path.parent / spec.manifest if spec.manifest else None
        self.compiled_resources: list[Resource] = []
        for index, item in enumerate(spec.resources):
            with document.at(("resources", index)):
                self.compiled_resources.append(Resource(item))
                self.compiled_resources[-1].check(self.base)
        self.compiled_prompts: list[Prompt] = []
        for index, item in enumerate(spec.prompts):
            with document.at(("prompts", index)):
                self.compiled_prompts.append(Prompt(item))
        self.resources = tuple(resource.offer for resource in self.compiled_resources)
        self.prompts = tuple(prompt.offer for prompt in self.compiled_prompts)
        self.rules = tuple(rule for tool in self.compiled.values() for rule in tool.rules)

    def open(self, changes: Changes | None = None) -> ServiceState:
        return ServiceState(self, None if changes is None else restored(self.name, self.content, changes))

    def query(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> list[JsonObject]:
        return self.base.objects(sql, parameters)

    def columns_read(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> frozenset[tuple[str, str]]:
        return self.base.columns_read(sql, parameters or {})

    def columns(self) -> Mapping[str, tuple[str, ...]]:
        return {table: tuple(columns_of(self.base, table)) for table in tables_of(self.base)}

    def altered(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> ServiceWorld:
        base = Database(self.content, moment=self.base.moment)
        for pragma in ("foreign_keys=off", "ignore_check_constraints=on"):
            base.run(f"pragma {pragma}", mode=Mode.OWN)
        try:
            base.run(sql, parameters or {}, mode=Mode.WRITE)
        except sqlite3.Error as error:
            base.close()
            raise InputError(f"the SQL fails: {explain(error)}") from None
        forget(base)
        return self._over(base)

    def backwards(self) -> ServiceWorld:
        other = self._over(Database(self.content, moment=self.base.moment, backwards=True))
        other.scans_backwards = True
        return other

    def _over(self, base: Database) -> Self:
        other = copy(self)
        other.base = base
        other.content = base.serialize()
        return other

    def describe(self) -> str:
        return _describe(self, self.base)


def _error_style(texts: ErrorTexts, document: Document, place: Place) -> ErrorStyle:
    with document.at((*place, "arguments")):
        resolve("argument_styles", texts.arguments)
    return texts.style()


def _check_style(style: str, tool: str, schema: JsonObject) -> None:
    try:
        resolve("argument_styles", style)(tool, schema)
    except ValueError as error:
        raise InputError(str(error), place="input") from None


class ServiceState(ForkedState):
    """A service world open for one episode. Any thread may call it; calls run one after the other."""

    __slots__ = ("world",)

    def __init__(self, world: ServiceWorld, own: Database | None = None) -> None:
        clock = Clock(start=world.start, per_step=world.per_step)
        super().__init__(world.base, world.content, clock=clock, backwards=world.scans_backwards, own=own)
        self.world = world

    def answer(self, request: Request) -> Observation:
        tool = self.world.compiled[request.tool.name]
        with self._lock:
            try:
                return self._run(tool, request.arguments)
            except Exception as error:
                return tool.failed(error, request.arguments)

    def takes_time(self, request: Request) -> bool:
        return not self._trials and self.world.compiled[request.tool.name].takes_time

    def _run(self, tool: CompiledTool, arguments: JsonObject) -> Observation:
        # Preconditions run before the fork: a call that is refused costs no copy of the database.
        database = self._present()
        values = tool.prepare(database, arguments)
        if not tool.writes:
            return tool.reply(database, values, arguments)
        database = self._forked()
        # The reply is made inside the savepoint: if it fails (a missing row, a text too long), the statements are undone too.
        with database.savepoint("call", keep=True):
            tool.write(database, values)
            return tool.reply(database, values, arguments)

    def partial(self, request: Request, statements: int) -> Observation:
        tool = self.world.compiled[request.tool.name]
        with self._lock:
            # The whole call first, undone again: a call that is refused must not leave half of it behind.
            with self.savepoint():
                whole = self.answer(request)
            if not whole.is_error:
                try:
                    self._run_some(tool, request.arguments, statements)
                except Exception as error:
                    tool.failed(error, request.arguments)
            return whole

    def _run_some(self, tool: CompiledTool, arguments: JsonObject, statements: int) -> None:
        values = tool.prepare(self._present(), arguments)
        database = self._forked()
        with database.savepoint("call", keep=True):
            tool.write(database, values, statements=statements)

    def statements(self, request: Request) -> int:
        """Return the number of writing statements of a request's tool."""
        return len(self.world.compiled[request.tool.name].source.write)

    def describe(self) -> str:
        with self._lock:
            return _describe(self.world, self._present())

    def read_resource(self, uri: str, *, server: str = "") -> JsonObject | None:
        for resource in self.world.compiled_resources:
            values = resource.match(uri) if resource.source.server in ("", server) or not server else None
            if values is not None:
                with self._lock:
                    return resource.read(self._present(), uri, values)
        return None

    def fill_prompt(self, name: str, arguments: JsonObject, *, server: str = "") -> JsonObject | None:
        for prompt in self.world.compiled_prompts:
            if prompt.source.name == name and (prompt.source.server in ("", server) or not server):
                with self._lock:
                    return prompt.fill(self._present(), arguments)
        return None


def _describe(world: ServiceWorld, database: Database) -> str:
    lines = [world.description.strip()] if world.description else []
    for table in tables_of(database):
        lines += database.described(table, columns_of(database, table), rows=SHOWN_ROWS)
    return "\n".join(lines)
