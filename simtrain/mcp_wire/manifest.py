"""Manifests: the surfaces of real MCP servers and their recorded replies, verbatim, in one JSON file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from simtrain.files.file_bytes import file_bytes, unreadable_json
from simtrain.files.jsonl import write_whole
from simtrain.mcp_wire.annotations import flaw_of
from simtrain.mcp_wire.frames import objects
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue, as_object, is_list, is_object

FORMAT = "simtrain-manifest/1"

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
    """Read a manifest. Raises InputError for a file that is no manifest, of another version, or damaged."""
    document = _read_json(path)
    form = document.get("format")
    if form != FORMAT:
        problem = f"the format is {form!r}, not {FORMAT!r}" if isinstance(form, str) else "this is not a manifest"
        raise InputError(problem, remedy="capture the servers again with `simtrain capture`", file=path)
    servers = _Reader(path, "", document).object("servers")
    return Manifest({name: _read_server(name, servers.object(name)) for name in servers.fields})


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


class _Reader:
    """An object in a file. Members are checked when they are taken. Raises InputError with file and place."""

    def __init__(self, path: Path, place: str, fields: JsonObject) -> None:
        self.fields = fields
        self._path = path
        self._place = place

    def object(self, key: str, default: JsonObject | None = None) -> _Reader:
        """Return a member that is an object."""
        value = self._take(key, default)
        if not is_object(value):
            raise self.error("this is not an object", key)
        return _Reader(self._path, self._at(key), value)

    def objects(self, key: str, default: list[JsonValue] | None = None) -> tuple[_Reader, ...]:
        """Return a member that is a list of objects."""
        value = self._take(key, default)
        if not is_list(value):
            raise self.error("this is not a list", key)
        items = enumerate(value)
        return tuple(_Reader(self._path, self._at(key), {f"[{n}]": item}).object(f"[{n}]") for n, item in items)

    def text(self, key: str) -> str:
        """Return a member that is text."""
        value = self._take(key, None)
        if not isinstance(value, str):
            raise self.error("this is not a text", key)
        return value

    def error(self, problem: str, key: str = "", remedy: str = "capture the servers again") -> InputError:
        """Return an error at this object, or at one of its members."""
        return InputError(problem, remedy=remedy, file=self._path, place=self._at(key) or None)

    def _take(self, key: str, default: JsonValue) -> JsonValue:
        if key not in self.fields and default is None:
            raise self.error(f"{key!r} is missing")
        return self.fields.get(key, default)

    def _at(self, key: str) -> str:
        return f"{self._place}.{key}".strip(".").replace(".[", "[")


def _read_exchange(entry: _Reader) -> Exchange:
    response = entry.object("response").fields
    if "result" not in response and "error" not in response:
        raise entry.error("there is neither a result nor an error", "response")
    seconds: JsonValue = entry.fields.get("seconds")
    return Exchange(
        method=entry.text("method"),
        params=entry.object("params").fields,
        response=response,
        era=entry.text("era"),
        capabilities=entry.object("capabilities", {}).fields,
        notifications=tuple(item.fields for item in entry.objects("notifications", [])),
        asks=tuple(item.fields for item in entry.objects("asks", [])),
        rounds=tuple(item.fields for item in entry.objects("rounds", [])),
        resumed=entry.fields.get("resumed") is True,
        seconds=float(seconds) if isinstance(seconds, int | float) else None,
    )


def _read_server(name: str, entry: _Reader) -> ServerManifest:
    surfaces = tuple(_read_surface(item) for item in entry.objects("surfaces"))
    if not surfaces:
        raise entry.error("the server shows nothing", "surfaces")
    return ServerManifest(
        name=name,
        source=entry.object("source", {}).fields,
        surfaces=surfaces,
        exchanges=tuple(_read_exchange(item) for item in entry.objects("exchanges", [])),
        profile=entry.object("profile", {}).fields,
        latency=entry.object("latency", {}).fields,
        versions=entry.object("versions", {}).fields,
    )


def _read_surface(entry: _Reader) -> Surface:
    lists = entry.object("lists")
    surface = Surface(
        era=entry.text("era"),
        capabilities=entry.object("capabilities").fields,
        greeting=entry.object("greeting").fields,
        lists={method: tuple(page.fields for page in lists.objects(method)) for method in lists.fields},
    )
    for tool in surface.items("tools/list"):
        flaw = flaw_of(tool)
        if flaw is not None:
            remedy = "clients list no tool of a server that says so: correct it in the file"
            raise lists.error(f"{flaw} (tool {str(tool.get('name'))!r})", "tools/list", remedy)
    return surface


def _read_json(path: Path) -> JsonObject:
    try:
        document: JsonValue = json.loads(file_bytes(path, most=MAX_BYTES))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    except json.JSONDecodeError as error:
        remedy = "capture the servers again"
        raise InputError(f"this is not JSON: {error.msg}", remedy=remedy, file=path, line=error.lineno) from None
    except (ValueError, RecursionError) as error:
        raise InputError(unreadable_json(error), remedy="capture the servers again", file=path) from None
    if not is_object(document):
        raise InputError("this is not a manifest", remedy="capture the servers with `simtrain capture`", file=path)
    return document
