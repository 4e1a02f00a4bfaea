"""The tools shown to each client of a relay: those that it listed, as changed by perturbations."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from simtrain.contracts.perturbation import Armed
from simtrain.mcp.serve.wire_tools import descriptor_of
from simtrain.mcp_wire.eras import VERSION_KEY
from simtrain.mcp_wire.frames import encode_frame
from simtrain.values.seeding import Stream, derive
from simtrain.values.types import JsonObject, ToolSpec, as_object

MOST = 1024
"""Most clients whose tools are remembered; the one that listed them longest ago is forgotten first."""

_KIND = ("io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/clientCapabilities")


def client_of(frame: JsonObject, session: str | None) -> str | None:
    """Return the sender of a request: its session or, in the era without sessions, the client's description of itself; else None."""
    meta = as_object(as_object(frame.get("params")).get("_meta"))
    if VERSION_KEY not in meta:
        return session
    return encode_frame({key: meta.get(key) for key in _KIND}).decode()


@dataclass
class OfferedTools:
    """The tools of one client. Perturbations are named by index.

    `owners` maps a tool to the perturbation that added or renamed it, `given` a perturbation to the tools it was given. `changing`
    holds those that changed anything in the last list of the server.
    """

    tools: dict[str, ToolSpec] = field(default_factory=dict[str, ToolSpec])
    owners: dict[str, int] = field(default_factory=dict[str, int])
    given: dict[int, tuple[ToolSpec, ...]] = field(default_factory=dict[int, tuple[ToolSpec, ...]])
    changing: set[int] = field(default_factory=set[int])


class Audience:
    """All clients of one relay."""

    def __init__(self, armed: Sequence[Armed], *, seed: int) -> None:
        self._armed = tuple(armed)
        self._seed = seed
        self._shown: OrderedDict[str | None, OfferedTools] = OrderedDict()
        self._last = OfferedTools()

    def to(self, client: str | None) -> OfferedTools:
        """Return what a client was shown; if it did not list the tools itself, what any client was shown last."""
        # Clients of the modern era may call without listing, relying on a list that they cached.
        return self._shown.get(client, self._last)

    def list(self, client: str | None, tools: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
        """Return the tools to show to a client for the server's list."""
        shown = self._shown.setdefault(client, OfferedTools())
        self._shown.move_to_end(client)
        if len(self._shown) > MOST:
            self._shown.popitem(last=False)
        self._last = shown
        shown.given.clear()
        shown.changing.clear()
        offered = self._offer(shown, tools)
        shown.tools |= {tool.name: tool for tool in offered}
        return offered

    def tool(self, shown: OfferedTools, name: str) -> ToolSpec | None:
        """Return the tool as a client knows it; None if perturbations hide or have renamed it."""
        if name in shown.tools:
            return shown.tools[name]
        # A call before any list: whether the name is offered is found out with a bare tool, taken to write, the cautious guess.
        bare = ToolSpec(name, "", {}, writes=True)
        return next((tool for tool in self._offer(shown, (bare,)) if tool.name == name), None)

    def _offer(self, shown: OfferedTools, tools: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
        for place, armed in enumerate(self._armed):
            known = {tool.name for tool in tools}
            shown.given.setdefault(place, tools)
            offered = armed.perturbation.offer(tools, Stream(derive(self._seed, "relay", armed.label, "offer")))
            shown.owners |= {tool.name: place for tool in offered if tool.name not in known}
            if offered != tools:
                shown.changing.add(place)
            tools = offered
        return tools


def repeatable(descriptors: Sequence[JsonObject]) -> set[str]:
    """Return the names of the tools that say that they only read, or that a second call changes nothing."""
    hints = ((str(tool.get("name")), as_object(tool.get("annotations"))) for tool in descriptors)
    return {
        name
        for name, annotations in hints
        if annotations.get("readOnlyHint") is True or annotations.get("idempotentHint") is True
    }


def rewritten(
    descriptors: Sequence[JsonObject], tools: Sequence[ToolSpec], offered: Sequence[ToolSpec]
) -> list[JsonObject]:
    """Return the raw descriptors for the offered tools. `tools` holds those of `descriptors`, in the same order."""
    # By identity: a tool that no perturbation replaced keeps its descriptor with all unknown fields.
    raw = {id(tool): descriptor for tool, descriptor in zip(tools, descriptors, strict=True)}
    by_name = {tool.name: tool for tool in tools}
    return [raw[id(tool)] if id(tool) in raw else _changed(raw, by_name.get(tool.name), tool) for tool in offered]


def _changed(raw: dict[int, JsonObject], before: ToolSpec | None, tool: ToolSpec) -> JsonObject:
    changed = descriptor_of(tool)
    if before is None:
        return changed
    old = {"description": before.description, "inputSchema": before.input_schema, "outputSchema": before.output_schema}
    return raw[id(before)] | {key: value for key, value in changed.items() if key in old and value != old[key]}
