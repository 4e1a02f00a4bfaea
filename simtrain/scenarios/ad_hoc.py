"""Scenarios without a task: a world, or a captured manifest, opened for any client; nothing is graded."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from simtrain.contracts.registry import resolve
from simtrain.contracts.scenario import Rubric, Scenario, ScenarioSpec
from simtrain.contracts.world import WorldSource
from simtrain.files.json_schemas import is_schema
from simtrain.files.yaml_files import Document
from simtrain.mcp_wire.manifest import Manifest, ServerManifest
from simtrain.scenarios.find import find
from simtrain.scenarios.load import assemble, load_world
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue, as_object, writable
from simtrain.worlds.recorded.error_profile import error_texts
from simtrain.worlds.recorded.served_servers import read_servers

PROMPT = "You are connected to a simulated environment. There is no task: look around."
# A client without a task decides itself when it is done, and every episode must have limits.
LIMITS: JsonObject = {"turns": 1_000_000, "calls": 1_000_000}

_REFUSED = re.compile(r"[^A-Za-z0-9_-]+")


def free_world(name: str, *, world_models: Sequence[JsonObject] = (), packs: Sequence[str] = ()) -> Scenario:
    """Return a world by name or file, without a task. Raises InputError."""
    path = find("worlds", name)
    return _free(load_world(path), path, world_models=world_models, packs=packs)


def free_servers(path: Path, *, world_models: Sequence[JsonObject] = (), packs: Sequence[str] = ()) -> Scenario:
    """Return the servers of a manifest or a recording: recorded calls are replayed, other calls go to the next world model.

    A recording is replayed in its order: a read after a write does not get a reply from before it. `world_models` come after
    it; tools that none of them answers say that they are not supported. Raises InputError.
    """
    source = manifest_world(read_servers(path), path)
    match = "normalised" if path.suffix == ".json" else "sequence"
    # A manifest has no order of calls to keep to; a recording has one.
    recorded: JsonObject = {"use": "replay", "with": {"recording": str(path.resolve()), "match": match, "miss": "next"}}
    return _free(source, path, world_models=[recorded, *world_models, {"use": "embedded"}], packs=packs)


def _free(source: WorldSource, path: Path, *, world_models: Sequence[JsonObject], packs: Sequence[str]) -> Scenario:
    # Names of scenarios begin with a letter, those of files and servers need not.
    name = _REFUSED.sub("_", source.name).replace("-", "_").lower()
    data: JsonObject = {
        "name": name if name[:1].isalpha() else f"w_{name}",
        "world": str(path),
        "prompt": PROMPT,
        "limits": LIMITS,
        "perturbations": list(packs),
        # A rubric must not be empty in a file; here it is emptied below, so that nothing is graded.
        "rubric": [{"use": "tool_use"}],
    }
    if world_models:
        data["world_models"] = list(world_models)
    document = Document(path, data, {})
    spec = document.parse(ScenarioSpec).model_copy(update={"rubric": Rubric.model_construct(graders=[])})
    return assemble(document, spec, spec.name, source=source)


def manifest_world(manifest: Manifest, path: Path) -> WorldSource:
    """Return a world that has the tools of a manifest and answers none of them itself. Raises InputError."""
    by_server = {name: _tools(server) for name, server in manifest.servers.items()}
    tools = [tool for offered in by_server.values() for tool in offered]
    if not tools:
        raise InputError("the manifest has no tools", file=path)
    name = _REFUSED.sub("_", path.name.partition(".")[0]).replace("-", "_").lower()
    data: JsonObject = {
        "kind": "service",
        "name": name if name[:1].isalpha() else f"m_{name}",
        "schema": "",
        "manifest": str(path.resolve()),
        "tools": tools,
        "server_errors": {
            native_server(name): error_texts(
                manifest.servers[name], {tool["descriptor"]["name"]: tool["input"] for tool in offered}
            )
            for name, offered in by_server.items()
        },
    }
    return cast("type[WorldSource]", resolve("worlds", "service")).load(Document(path, data, {}))


def native_name(server: str, tool: str) -> str:
    """Return the name in a world of a captured tool: `server.tool`, with characters that a world refuses replaced."""
    return f"{native_server(server)}.{_plain(tool)}"


def native_server(server: str) -> str:
    """Return the name in a world of a captured server."""
    return _plain(server)


def _plain(name: str) -> str:
    plain = _REFUSED.sub("_", name)
    return plain if plain[:1].isalpha() else f"t_{plain}"


def _tools(server: ServerManifest) -> list[JsonObject]:
    found: dict[str, JsonObject] = {}
    for tool in writable(server.tools):
        name: JsonValue = tool.get("name")
        if not isinstance(name, str) or not name or native_name(server.name, name) in found:
            # The manifest keeps the tool as captured, but a client could not call it.
            continue
        native = native_name(server.name, name)
        found[native] = {
            "name": native,
            "description": _text(tool.get("description")) or name,
            "descriptor": {key: value for key, value in tool.items() if key not in _DESCRIBED},
            "input": _input(tool.get("inputSchema")),
            "unbound": True,
            # By the specification a tool without this hint may write.
            "writes": as_object(tool.get("annotations")).get("readOnlyHint") is not True,
            **({"output": tool["outputSchema"]} if is_schema(tool.get("outputSchema")) else {}),
        }
    return list(found.values())


_DESCRIBED = frozenset({"description", "inputSchema", "outputSchema"})


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _input(schema: JsonValue) -> JsonObject:
    """Return the input schema of a captured tool as an object schema; an invalid one becomes a schema that checks nothing."""
    empty: JsonObject = {"type": "object", "properties": {}}
    whole = {**empty, **(cast(JsonObject, schema) if is_schema(schema) else {})}
    return whole if whole["type"] == "object" else empty
