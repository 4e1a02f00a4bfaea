"""What a served address says of itself: greeting, capabilities and lists; captured ones verbatim, others made from the world."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import cast

from simtrain.contracts.world import Offer
from simtrain.mcp.serve.wire_tools import WireTools
from simtrain.mcp_wire.eras import HANDSHAKE_VERSIONS
from simtrain.mcp_wire.handler import INVALID_PARAMS, WireError, WireRequest, result_of
from simtrain.mcp_wire.manifest import LISTED, NO_VERSION, ServerManifest
from simtrain.mcp_wire.manifest import Surface as Captured
from simtrain.values.types import JsonObject, JsonValue, ToolSpec
from simtrain.values.version import VERSION
from simtrain.worlds.recorded.recorded_sessions import HANDSHAKE, MODERN

SERVER_INFO = "io.modelcontextprotocol/serverInfo"
_MODERN_KEYS = ("resultType", "ttlMs", "cacheScope")


class ServedSurface(ABC):
    """What a client can learn before it calls anything."""

    @abstractmethod
    def greeting(self, asked: WireRequest) -> JsonObject:
        """Return the result of initialize or server/discover."""

    @abstractmethod
    def capabilities(self, asked: WireRequest) -> JsonObject:
        """Return what the server says that it can do."""

    @abstractmethod
    def items(self, asked: WireRequest) -> list[JsonObject]:
        """Return all items of a list."""

    def shows(self, asked: WireRequest) -> bool:
        """True if there is an answer to a list method; a captured server may have refused one."""
        return True

    def names(self, method: str, key: str, name: str, asked: WireRequest) -> bool:
        """True if a list names something, though it may not be answered here."""
        return False

    def page(self, asked: WireRequest) -> JsonObject:
        """Return one page of a list. Raises WireError for a cursor that is none."""
        if asked.params.get("cursor") is not None:
            raise WireError(INVALID_PARAMS, "Invalid cursor")
        return {LISTED[asked.method]: self.items(asked)}


def _negotiated(asked: WireRequest) -> str:
    """Return the revision of the handshake era that a client and a server which speaks them all agree on."""
    wanted = asked.params.get("protocolVersion")
    return wanted if wanted in HANDSHAKE_VERSIONS else HANDSHAKE


class MadeSurface(ServedSurface):
    """The surface of a world that nobody captured: its tools, resources and prompts."""

    def __init__(self, name: str, tools: WireTools, *, resources: Sequence[Offer], prompts: Sequence[Offer]) -> None:
        self._info: JsonObject = {"name": name, "version": VERSION}
        self._items: dict[str, list[JsonObject]] = {
            "tools/list": list(tools.own.values()),
            "resources/list": [offer.descriptor for offer in resources if "uri" in offer.descriptor],
            "resources/templates/list": [offer.descriptor for offer in resources if "uriTemplate" in offer.descriptor],
            "prompts/list": [offer.descriptor for offer in prompts],
        }
        self._capabilities: JsonObject = {"tools": {}}
        if resources:
            self._capabilities["resources"] = {"subscribe": True}
        if prompts:
            self._capabilities["prompts"] = {}

    def capabilities(self, asked: WireRequest) -> JsonObject:
        return self._capabilities

    def greeting(self, asked: WireRequest) -> JsonObject:
        if asked.modern:
            return {
                "supportedVersions": [MODERN],
                "capabilities": self.capabilities(asked),
                "_meta": {SERVER_INFO: self._info},
            }
        return {
            "protocolVersion": _negotiated(asked),
            "capabilities": self.capabilities(asked),
            "serverInfo": self._info,
        }

    def items(self, asked: WireRequest) -> list[JsonObject]:
        return self._items[asked.method]


class CapturedSurface(ServedSurface):
    """A captured surface, verbatim: the one that fits the client's era and capabilities best."""

    def __init__(self, manifest: ServerManifest, tools: WireTools, captured_tools: Sequence[ToolSpec]) -> None:
        """`tools` are offered in this episode; where one was bent, or is missing, its captured descriptor is not served."""
        self._manifest = manifest
        self._tools = tools
        untouched = {tool.name: tool for tool in captured_tools}
        self._bent = {name for name, tool in tools.native.items() if untouched.get(tool.name) != tool}

    def _surface(self, asked: WireRequest) -> Captured:
        return self._manifest.surface(MODERN if asked.modern else HANDSHAKE, asked.capabilities)

    def capabilities(self, asked: WireRequest) -> JsonObject:
        return self._surface(asked).greeting.get("capabilities") or {}

    def greeting(self, asked: WireRequest) -> JsonObject:
        surface = self._surface(asked)
        captured = surface.greeting
        if asked.modern and surface.era == MODERN:
            return captured
        if not asked.modern and surface.era != MODERN:
            return {**captured, "protocolVersion": self._version(asked, captured.get("protocolVersion"))}
        instructions = {"instructions": captured["instructions"]} if "instructions" in captured else {}
        if asked.modern:
            return {
                "supportedVersions": [MODERN],
                "capabilities": captured.get("capabilities") or {},
                **instructions,
                "_meta": {SERVER_INFO: captured.get("serverInfo") or {"name": self._manifest.name, "version": ""}},
            }
        meta = cast(JsonObject, captured.get("_meta") or {})
        return {
            "protocolVersion": _negotiated(asked),
            "capabilities": captured.get("capabilities") or {},
            "serverInfo": meta.get(SERVER_INFO) or {"name": self._manifest.name, "version": ""},
            **instructions,
        }

    def _version(self, asked: WireRequest, own: JsonValue) -> JsonValue:
        """Return the revision that the captured server answers with; by the rule of the specification where it was not asked for
        this one.
        """
        wanted, versions = asked.params.get("protocolVersion"), self._manifest.versions
        if wanted is None:
            return own
        known = wanted if wanted in HANDSHAKE_VERSIONS else NO_VERSION
        if known in versions:
            return versions[known]
        # Revisions are dates: a server speaks none that is younger than its own.
        return min(_negotiated(asked), own) if isinstance(own, str) else _negotiated(asked)

    def shows(self, asked: WireRequest) -> bool:
        return asked.method in self._surface(asked).lists

    def names(self, method: str, key: str, name: str, asked: WireRequest) -> bool:
        return any(item.get(key) == name for item in self._surface(asked).items(method))

    def _pages(self, asked: WireRequest) -> Sequence[JsonObject]:
        return self._surface(asked).lists.get(asked.method) or ({LISTED[asked.method]: []},)

    def items(self, asked: WireRequest) -> list[JsonObject]:
        key = LISTED[asked.method]
        found = [item for page in self._pages(asked) for item in cast(list[JsonObject], page.get(key) or [])]
        return self._offered(found, last=True) if key == "tools" else found

    def page(self, asked: WireRequest) -> JsonObject:
        pages = self._pages(asked)
        cursor = asked.params.get("cursor")
        number = 0
        if cursor is not None:
            cursors = [page.get("nextCursor") for page in pages[:-1]]
            if cursor in cursors:
                number = cursors.index(cursor) + 1
            else:
                self._refuse_cursor()
        page = pages[number]
        if not asked.modern and self._surface(asked).era == MODERN:
            page = {key: value for key, value in page.items() if key not in _MODERN_KEYS}
        if asked.method != "tools/list":
            return page
        captured = cast(list[JsonObject], page.get("tools") or [])
        offered = self._offered(captured, last=number == len(pages) - 1)
        return page if offered == captured else {**page, "tools": offered}

    def _refuse_cursor(self) -> None:
        """Raise WireError for a cursor that is none, as the captured server does; nothing where it takes any for none."""
        wrong = {"error": {"code": INVALID_PARAMS, "message": "Invalid cursor"}}
        result_of(self._manifest.profile.get("bad_cursor") or wrong)

    def _offered(self, captured: list[JsonObject], *, last: bool) -> list[JsonObject]:
        """Return the captured descriptors of the tools that are offered; bent ones as they are now, tools of other names at the end."""
        found: list[JsonObject] = []
        for descriptor in captured:
            name = descriptor.get("name")
            if name in self._tools.native:
                found.append({**descriptor, **self._tools.own[name]} if name in self._bent else descriptor)
        if last:
            known = {tool.get("name") for tool in self._manifest.tools}
            found.extend(own for name, own in self._tools.own.items() if name not in known)
        return found
