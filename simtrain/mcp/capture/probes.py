"""Probes: requests that show how a server answers. Built-in ones only make mistakes; a YAML file lists real calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from simtrain.files.yaml_files import read_document
from simtrain.mcp.capture.misuses import misuses, sure_misuses
from simtrain.mcp_wire.answers import Canned
from simtrain.mcp_wire.manifest import (
    LISTED,
    NO_ARGUMENT,
    NO_CURSOR,
    NO_METHOD,
    NO_PROMPT,
    NO_RESOURCE,
    NO_TOOL,
    Exchange,
    Surface,
)
from simtrain.mcp_wire.request_flaws import MADE, flaw
from simtrain.values.errors import InputError, nearest
from simtrain.values.types import JsonObject, as_object
from simtrain.worlds.recorded.error_profile import unknown_tool
from simtrain.worlds.recorded.refusal_wording import checks_first


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Probe(_Strict):
    """One request to make: `call` a tool, `read` a resource, get a `prompt`, or any `method`."""

    server: str = Field("*", description="Which servers, a glob; a tool is called on the servers that have it.")
    call: str | None = Field(None, description="A tool to call.")
    read: str | None = Field(None, description="The URI of a resource to read.")
    prompt: str | None = Field(None, description="A prompt to get.")
    method: str | None = Field(None, description="A method to ask for, with `params`.")
    arguments: JsonObject = Field(default_factory=dict, alias="with", description="Arguments of the tool or prompt.")
    params: JsonObject = Field(default_factory=dict, description="Params of the method.")
    capabilities: list[Literal["roots", "sampling", "elicitation"]] | None = Field(
        None, description="What the client can do, on a connection of its own; all of it without this."
    )
    times: int = Field(1, ge=1, le=1000, description="How often; several give better latency figures.")
    timeout: float | None = Field(None, gt=0, le=3600, description="Seconds to wait for an answer.")

    @model_validator(mode="after")
    def _one_thing(self) -> Probe:
        wanted = [name for name in ("call", "read", "prompt", "method") if getattr(self, name) is not None]
        if len(wanted) != 1:
            raise ValueError("a probe has one of call, read, prompt and method")
        if self.params and self.method is None:
            raise ValueError("params go with method; arguments of a tool or prompt belong under `with`")
        if self.arguments and self.call is None and self.prompt is None:
            raise ValueError("`with` goes with call and prompt")
        return self

    def request(self) -> tuple[str, JsonObject]:
        """Return the JSON-RPC method and params."""
        if self.call is not None:
            return "tools/call", {"name": self.call, "arguments": self.arguments}
        if self.read is not None:
            return "resources/read", {"uri": self.read}
        if self.prompt is not None:
            return "prompts/get", {"name": self.prompt, "arguments": self.arguments}
        return self.method or "", self.params

    def fits(self, server: str, surfaces: Sequence[Surface]) -> bool:
        """True if the probe applies to this server."""
        if not fnmatchcase(server, self.server):
            return False
        return self.call is None or self.call in _tool_names(surfaces)


class ProbeFile(_Strict):
    """A file of probes, played in order on one connection per server and era."""

    probes: tuple[Probe, ...] = Field(min_length=1, description="The requests to make.")
    eras: Literal["first", "each"] = Field(
        "first", description="Play them in the first era that a server speaks, or in each."
    )
    answers: Canned = Field(default_factory=Canned, description="What the client says when a server asks it something.")

    def of(self, server: str, surfaces: Sequence[Surface]) -> list[Probe]:
        """Return the probes for one server."""
        return [probe for probe in self.probes if probe.fits(server, surfaces)]

    def check_servers(self, names: Iterable[str]) -> None:
        """Raise InputError for a probe of a server that is not being captured."""
        known = list(names)
        for number, probe in enumerate(self.probes):
            if not any(fnmatchcase(name, probe.server) for name in known):
                problem = f"no server {probe.server!r} is captured"
                raise InputError(problem, remedy=nearest(probe.server, known), place=f"probes[{number}].server")

    def check_tools(self, surfaces: dict[str, Sequence[Surface]]) -> None:
        """Raise InputError for a call to a tool that none of the captured servers has."""
        for number, probe in enumerate(self.probes):
            fitting = [shown for name, shown in surfaces.items() if fnmatchcase(name, probe.server)]
            tools = [tool for shown in fitting for tool in _tool_names(shown)]
            if fitting and probe.call is not None and probe.call not in tools:
                problem = f"no captured server has the tool {probe.call!r}"
                raise InputError(problem, remedy=nearest(probe.call, tools), place=f"probes[{number}].call")


def read_probes(path: Path) -> ProbeFile:
    """Return a file of probes. Raises InputError with file, line and place."""
    return read_document(path).parse(ProbeFile)


@dataclass(frozen=True)
class WrongRequest:
    """A request that is wrong on purpose; `kind` is its key in the profile.

    Once a `protocol` mistake gets no answer, the others of that kind are skipped: each would cost the same timeout.
    """

    kind: str
    method: str
    params: JsonObject | None
    protocol: bool = False


def mistakes(surface: Surface, *, writes: bool = False) -> list[WrongRequest]:
    """Return requests that show a server's error style. Read-only tools are called with bad arguments, with
    `writes` all tools.
    """
    capabilities = as_object(surface.greeting.get("capabilities"))
    found = [WrongRequest("unknown_method", NO_METHOD, {})]
    if "tools" in capabilities:
        # With and without arguments: some servers first check whether there are any.
        found.append(WrongRequest("unknown_tool", "tools/call", {"name": NO_TOOL, "arguments": {NO_ARGUMENT: 1}}))
        found.append(WrongRequest("unknown_tool_empty", "tools/call", {"name": NO_TOOL, "arguments": {}}))
        found += _calls(misuses(surface.items("tools/list"), writes=writes))
    if "resources" in capabilities:
        found.append(WrongRequest("missing_resource", "resources/read", {"uri": NO_RESOURCE}))
    if "prompts" in capabilities:
        found.append(WrongRequest("missing_prompt", "prompts/get", {"name": NO_PROMPT}))
    return found


def sure_mistakes(surface: Surface, profile: JsonObject) -> list[WrongRequest]:
    """Return calls with bad arguments that the server's library refuses before any tool runs."""
    tools = surface.items("tools/list")
    schemas = {str(tool.get("name")): as_object(tool.get("inputSchema")) for tool in tools}
    return _calls(sure_misuses(tools)) if checks_first(unknown_tool(profile), schemas) else []


def _calls(calls: Iterable[tuple[str, JsonObject]]) -> list[WrongRequest]:
    return [WrongRequest("bad_arguments", "tools/call", {"name": tool, "arguments": given}) for tool, given in calls]


def protocol_mistakes(surface: Surface) -> list[WrongRequest]:
    """Return requests that show how a server words protocol errors: an invalid request of each method, and requests
    for unknown names.
    """
    prompt: JsonObject = {"type": "ref/prompt", "name": NO_PROMPT}
    template: JsonObject = {"type": "ref/resource", "uri": NO_RESOURCE}
    argument: JsonObject = {"name": "simtrain", "value": "s"}
    found = [
        WrongRequest("subscribe", "resources/subscribe", {"uri": NO_RESOURCE}),
        WrongRequest("unsubscribe", "resources/unsubscribe", {"uri": NO_RESOURCE}),
        WrongRequest("completion_prompt", "completion/complete", {"ref": prompt, "argument": argument}),
        WrongRequest("completion_resource", "completion/complete", {"ref": template, "argument": argument}),
        WrongRequest("tasks", "tasks/list", {}),
        *(WrongRequest(flaw(method, params) or method, method, params) for method, params in MADE),
    ]
    listed = next((method for method in LISTED if method in surface.lists), None)
    if listed:
        found.append(WrongRequest("bad_cursor", listed, {"cursor": NO_CURSOR}))
    return [replace(mistake, protocol=True) for mistake in found]


def latency(exchanges: Iterable[Exchange]) -> JsonObject:
    """Return the latency of each tool: `{"count", "p50", "p95"}`, in seconds."""
    seconds: dict[str, list[float]] = {}
    for exchange in exchanges:
        if exchange.method == "tools/call" and exchange.seconds is not None:
            seconds.setdefault(str(exchange.params.get("name")), []).append(exchange.seconds)
    return {
        tool: {"count": len(taken), "p50": _quantile(taken, 0.5), "p95": _quantile(taken, 0.95)}
        for tool, taken in seconds.items()
    }


def _tool_names(surfaces: Sequence[Surface]) -> list[str]:
    return list(dict.fromkeys(str(tool.get("name")) for surface in surfaces for tool in surface.items("tools/list")))


def _quantile(values: list[float], share: float) -> float:
    """Return the smallest value that `share` of all values do not exceed."""
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 6)
