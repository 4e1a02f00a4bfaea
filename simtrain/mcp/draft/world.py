"""The YAML of a drafted world: surface and errors come from the capture, everything else from a proposal, or stays open."""

import re
from os.path import relpath
from pathlib import Path
from typing import cast

from simtrain.files.json_schemas import is_schema
from simtrain.mcp.draft.observed import Observed
from simtrain.mcp.draft.page import block, comment
from simtrain.mcp.draft.proposal import Proposal
from simtrain.scenarios.ad_hoc import native_name, native_server
from simtrain.values.clock import DEFAULT_START
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.recorded.error_profile import error_texts

SKELETON = "a skeleton: no model was asked"

_REFUSED = re.compile(r"[^A-Za-z0-9_]+")


def world_name(name: str) -> str:
    """Return a valid world name."""
    plain = _REFUSED.sub("_", name).strip("_").lower()
    return plain if plain[:1].isalpha() else f"w_{plain}"


def relative(manifest: Path, out: Path) -> str:
    """Return the path of the manifest relative to the world file."""
    return Path(relpath(manifest.resolve(), out.resolve().parent)).as_posix()


def skeleton(observed: Observed) -> Proposal:
    """Return the proposal without a model: no tables, every tool left open."""
    return Proposal("", {}, {}, dict.fromkeys(observed.tools, "nobody has written it yet"))


def world_text(observed: Observed, proposal: Proposal, *, name: str, manifest: str, state: str) -> str:
    """Return the YAML of a world; `manifest` is the path of the captured manifest as the file names it, `state` says how finished it is."""
    server, tools = observed.manifest.name, observed.tools
    schemas = {tool: _input(raw.get("inputSchema")) for tool, raw in tools.items()}
    lines = comment([f"A draft of the server {server}: {state}. Read it, correct it, go on with it."])
    lines += comment(
        [
            f"{len(proposal.bound)} of {len(tools)} tools are bound to SQL; the others are open, and say that they are not supported."
        ]
    )
    lines += [
        "",
        *block("kind", "service"),
        *block("name", name),
        *block("description", f"A draft of the server {server}."),
    ]
    lines += ["# What clients are shown of the server comes from here, word for word.", *block("manifest", manifest)]
    lines += block("clock", {"start": DEFAULT_START, "per_step": "20s"})
    lines += block("server_errors", {native_server(server): error_texts(observed.manifest, schemas)})
    lines += ["", *block("schema", proposal.schema.rstrip("\n"))]
    lines += ["", *block("rows", proposal.rows)] if proposal.rows else []
    lines += ["", "tools:"]
    for tool in tools:
        lines += [*_tool(observed, proposal, tool), ""]
    return "\n".join(lines[:-1]) + "\n"


def _tool(observed: Observed, proposal: Proposal, tool: str) -> list[str]:
    raw = observed.tools[tool]
    native = native_name(observed.manifest.name, tool)
    lines = [f"  - name: {native}"]
    lines += block("description", " ".join(str(raw.get("description") or tool).split()), 4)
    # The world's name for it differs, but clients must see the server's own.
    if native.rpartition(".")[2] != tool:
        lines += block("descriptor", {"name": tool}, 4)
    lines += block("input", _input(raw.get("inputSchema")), 4)
    if is_schema(raw.get("outputSchema")):
        lines += block("output", raw["outputSchema"], 4)
    if tool not in proposal.bound:
        # By the specification a tool without this hint may write.
        reads = cast(JsonObject, raw.get("annotations") or {}).get("readOnlyHint") is True
        open_lines = comment([f"Open: {proposal.open[tool]}"], 4)
        return [*lines, *open_lines, "    unbound: true", f"    writes: {'false' if reads else 'true'}"]
    return [*lines, *(line for key, value in proposal.bound[tool].items() for line in block(key, value, 4))]


def _input(schema: JsonValue) -> JsonObject:
    return {"type": "object", "properties": {}, **(schema if is_schema(schema) else {})}
