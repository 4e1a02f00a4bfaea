"""Manifests: the surfaces of real MCP servers and their recorded replies, verbatim, in one JSON file."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from pydantic import BaseModel, TypeAdapter, ValidationError

from simtrain.files.file_bytes import file_bytes, parsed_json
from simtrain.files.jsonl import write_whole
from simtrain.files.yaml_files import describe, name_place
from simtrain.mcp_wire.annotations import flaw_of
from simtrain.mcp_wire.frames import objects
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue, as_object, is_object

FORMAT = "simtrain-manifest/1"

AGAIN = "capture the servers again"

MAX_BYTES = 512 * 1024 * 1024

NO_TOOL = "simtrain_no_such_tool"
NO_PROMPT = "simtrain_no_such_prompt"
NO_RESOURCE = "simtrain://no-such-resource"
NO_METHOD = "simtrain/no_such_method"
NO_ARGUMENT = "simtrain_no_such_argument"
NO_CURSOR = "simtrain_no_such_cursor"
NO_VERSION = "1999-01-01"
"""Names to ask for, to capture how a server words that something does not exist."""


@dataclass(frozen=True)
class Exchange:
    """A request with everything that followed, verbatim.

    `response` is `{"result": ...}` or `{"error": ...}`. `params` are the caller's, without the envelope of the modern era;
    `capabilities` are the client's. `asks` holds the server's requests before the response, each `{"method", "params", "answer"}`; in
    the modern era these are `rounds`, each `{"result": the result that asked for input, "answers": the inputResponses}`.
    `resumed`: the server closed the stream before it answered, and the client reconnected. `seconds`: the duration.
    """

    method: str
    params: JsonObject
    response: JsonObject
    era: str
    capabilities: JsonObject = field(default_factory=dict[str, JsonValue])
    notifications: tuple[JsonObject, ...] = ()
    asks: tuple[JsonObject, ...] = ()
    rounds: tuple[JsonObject, ...] = ()
    resumed: bool = False
    seconds: float | None = None

    @property
    def result(self) -> JsonObject | None:
        """The result; None if the answer is an error."""
        result: JsonValue = self.response.get("result")
        return result if is_object(result) else None


@dataclass(frozen=True)
class Surface:
    """What a server shows to clients of an era with these capabilities.

    `greeting` is the raw result of `initialize` or `server/discover`. `lists` holds the raw results of each answered list method, one
    per page.
    """

    era: str
    capabilities: JsonObject
    greeting: JsonObject
    lists: Mapping[str, tuple[JsonObject, ...]]

    def items(self, method: str) -> list[JsonObject]:
        """Return the raw entries of all pages of `tools/list`, `resources/list`, `resources/templates/list` or `prompts/list`."""
        return [item for page in self.lists.get(method, ()) for item in objects(page.get(LISTED[method]))]


LISTED = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
"""List method -> the member of its results that holds the entries."""


@dataclass(frozen=True)
class ServerManifest:
    """One server: its surfaces, recorded exchanges, error texts and latencies.

    `source` is where it was captured, without secrets: `{"command": [...], "env": [names]}` or `{"url": ..., "headers": [names]}`.
    `profile` maps a mistake to the raw response: unknown_tool, bad_arguments, missing_resource, unknown_method, and others by method
    and flaw (`simtrain.mcp_wire.request_flaws`). `latency` maps a tool to `{"count", "p50", "p95"}` in seconds. `versions` maps a
    revision requested in `initialize` to the one that the server answers with; NO_VERSION stands for any unknown one.
    """

    name: str
    source: JsonObject
    surfaces: tuple[Surface, ...]
    exchanges: tuple[Exchange, ...] = ()
    profile: JsonObject = field(default_factory=dict[str, JsonValue])
    latency: JsonObject = field(default_factory=dict[str, JsonValue])
    versions: JsonObject = field(default_factory=dict[str, JsonValue])

    def surface(self, era: str, capabilities: JsonObject) -> Surface:
        """Return the surface that fits a client best: the same era if possible, then the least difference in capabilities."""
        wanted = abilities(capabilities)

        def misfit(surface: Surface) -> tuple[bool, int, int]:
            declared = abilities(surface.capabilities)
            # What a client lacks weighs more: a surface made for it would ask for what the client cannot do.
            return surface.era != era, len(declared - wanted), len(wanted - declared)

        return min(self.surfaces, key=misfit)

    @property
    def tools(self) -> list[JsonObject]:
        """The raw tool descriptors of the surface with the most tools."""
        return max((surface.items("tools/list") for surface in self.surfaces), key=len)


def abilities(capabilities: JsonObject) -> frozenset[str]:
    """Return a client's capabilities and their parts, by name. Elicitation without parts means `elicitation.form`."""
    found: set[str] = set()
    for name, value in capabilities.items():
        parts = as_object(value)
        form = {"form"} if name == "elicitation" and not parts else set[str]()
        found |= {name, *(f"{name}.{part}" for part in [*parts, *form])}
    return frozenset(found)


@dataclass(frozen=True)
class Manifest:
    """Servers by name, in the order of their capture."""

    servers: Mapping[str, ServerManifest]

    def descriptors(self) -> dict[tuple[str, str], JsonObject]:
        """Return the raw tool descriptors by server and name; the only server needs no name."""
        found = {
            (server.name, tool["name"]): tool
            for server in self.servers.values()
            for tool in server.tools
            if isinstance(tool.get("name"), str)
        }
        only = {("", name): tool for (_, name), tool in found.items()} if len(self.servers) == 1 else {}
        return found | only


def write_manifest(manifest: Manifest, path: Path) -> None:
    """Write a manifest, whole or not at all; the servers' texts are kept verbatim. Raises InputError."""
    document = {
        "format": FORMAT,
        "servers": {name: _server_json(server) for name, server in manifest.servers.items()},
    }
    # Not orjson: it refuses integers beyond 64 bits and unpaired surrogates, both of which servers have sent.
    text = json.dumps(document, ensure_ascii=False, indent=1)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(document, indent=1)
    write_whole(path, text + "\n")


def read_manifest(path: Path) -> Manifest:
    """Read a manifest. Raises InputError for a file that is not a manifest, of another version, or damaged."""
    document = _read_json(path)
    form = document.get("format")
    if form != FORMAT:
        problem = f"the format is {form!r}, not {FORMAT!r}" if isinstance(form, str) else "this is not a manifest"
        raise InputError(problem, remedy="capture the servers again with `simtrain capture`", file=path)
    servers: JsonValue = document.get("servers")
    for name, fields in as_object(servers).items():
        if is_object(fields):
            servers[name] = {"source": {}, **fields, "name": name}
    try:
        manifest = Manifest(_servers().validate_python(servers))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        problem, _ = describe(first, BaseModel)
        raise InputError(problem, remedy=AGAIN, file=path, place=name_place(("servers", *first["loc"]))) from None
    for name, server in manifest.servers.items():
        for place, problem, remedy in _flaws(server):
            raise InputError(problem, remedy=remedy, file=path, place=f"servers.{name}.{place}")
    return manifest


@cache
def _servers() -> TypeAdapter[dict[str, ServerManifest]]:
    return TypeAdapter(dict[str, ServerManifest])


def _flaws(server: ServerManifest) -> Iterator[tuple[str, str, str]]:
    """Yield what no server can be: place, problem and remedy."""
    if not server.surfaces:
        yield "surfaces", "the server shows nothing", AGAIN
    for number, exchange in enumerate(server.exchanges):
        if not exchange.response.keys() & {"result", "error"}:
            yield f"exchanges[{number}].response", "there is neither a result nor an error", AGAIN
    remedy = "clients list no tool of a server that says so: correct it in the file"
    for number, surface in enumerate(server.surfaces):
        for tool in surface.items("tools/list"):
            if flaw := flaw_of(tool):
                place = f"surfaces[{number}].lists.tools/list"
                yield place, f"{flaw} (tool {str(tool.get('name'))!r})", remedy


def _server_json(server: ServerManifest) -> JsonObject:
    return {
        "source": server.source,
        "surfaces": [vars(surface) for surface in server.surfaces],
        "exchanges": [exchange_json(exchange) for exchange in server.exchanges],
        "profile": server.profile,
        "latency": server.latency,
        **({"versions": server.versions} if server.versions else {}),
    }


def exchange_json(exchange: Exchange) -> JsonObject:
    """Return an exchange in its file form; empty parts are left out."""
    optional = ("notifications", "asks", "rounds", "resumed")
    return {key: value for key, value in vars(exchange).items() if value or key not in optional}


def _read_json(path: Path) -> JsonObject:
    try:
        document = parsed_json(file_bytes(path, most=MAX_BYTES), path, remedy=AGAIN)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    if not is_object(document):
        raise InputError("this is not a manifest", remedy="capture the servers with `simtrain capture`", file=path)
    return document
