"""What the clients of a relay are shown: the server's tools as perturbations offer them, to each client those that it listed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from simtrain.contracts.perturbation import Armed
from simtrain.mcp_wire.eras import VERSION_KEY
from simtrain.mcp_wire.frames import encode_frame
from simtrain.values.seeding import Stream, derive
from simtrain.values.types import JsonObject, ToolSpec, as_object

MOST = 1024
"""Clients whose tools are remembered; the one that listed them longest ago is forgotten beyond."""

_KIND = ("io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/clientCapabilities")


def client_of(frame: JsonObject, session: str | None) -> str | None:
    """Return who sent a request: the session, or in the era without sessions the client's self-description; None for
    an anonymous one.
    """
    meta = as_object(as_object(frame.get("params")).get("_meta"))
    if VERSION_KEY not in meta:
        return session
    return encode_frame({key: meta.get(key) for key in _KIND}).decode()


@dataclass
class OfferedTools:
    """The tools of one client. `owners` says which perturbation added or renamed one, `given` what each was given to offer: by place.

    `changing` are the places of those that changed anything in the tools that the server listed last.
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
        """Return what a client was shown; what was shown last to any, where it did not list the tools itself."""
        return self._shown.get(client, self._last)

    def list(self, client: str | None, tools: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
        """Return what is offered of the tools that the server lists to a client."""
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
        """Return the tool as a client knows it; None for one that no perturbation offers."""
        if name in shown.tools:
            return shown.tools[name]
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
