"""The result of `initialize`, the capabilities and the lists of an address: verbatim if captured, else made from the world."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import cast

from simtrain.contracts.world import Offer
from simtrain.mcp.serve.wire_tools import WireTools
from simtrain.mcp_wire.eras import HANDSHAKE_VERSIONS
from simtrain.mcp_wire.handler import INVALID_PARAMS, WireError, WireRequest, result_of
from simtrain.mcp_wire.manifest import LISTED, NO_VERSION, ServerManifest
from simtrain.mcp_wire.manifest import Surface as Captured
from simtrain.values.types import JsonObject, JsonValue, ToolSpec, as_object
from simtrain.values.version import VERSION
from simtrain.worlds.recorded.recorded_sessions import HANDSHAKE, MODERN

SERVER_INFO = "io.modelcontextprotocol/serverInfo"
_MODERN_KEYS = ("resultType", "ttlMs", "cacheScope")


class ServedSurface(ABC):
    """What a client learns about a server before it calls a tool."""

    @abstractmethod
    def initialize(self, request: WireRequest) -> JsonObject:
        """Return the result of initialize or server/discover."""

    @abstractmethod
    def capabilities(self, request: WireRequest) -> JsonObject:
        """Return the capabilities of the server."""

    @abstractmethod
    def items(self, request: WireRequest) -> list[JsonObject]:
        """Return all items of a list."""

    def shows(self, request: WireRequest) -> bool:
        """Return True if a list method has an answer; a captured server may have refused it."""
        return True

    def names(self, method: str, key: str, name: str, request: WireRequest) -> bool:
        """Return True if a list has an item of this name, even if nothing here can answer for it."""
        return False

    def page(self, request: WireRequest) -> JsonObject:
        """Return one page of a list. Raises WireError for an invalid cursor."""
        if request.params.get("cursor") is not None:
            raise WireError(INVALID_PARAMS, "Invalid cursor")
        return {LISTED[request.method]: self.items(request)}


def _negotiated(request: WireRequest) -> str:
    """Return the revision of the handshake era to use with a client, for a server that speaks all of them."""
    wanted = request.params.get("protocolVersion")
    return wanted if wanted in HANDSHAKE_VERSIONS else HANDSHAKE


def _greeting(
    request: WireRequest, capabilities: JsonObject, info: JsonValue, instructions: JsonObject | None = None
) -> JsonObject:
    """Return the result of server/discover in the modern era, or of initialize in the handshake era."""
    if request.modern:
        return {
            "supportedVersions": [MODERN],
            "capabilities": capabilities,
            **(instructions or {}),
            "_meta": {SERVER_INFO: info},
        }
    return {
        "protocolVersion": _negotiated(request),
        "capabilities": capabilities,
        "serverInfo": info,
        **(instructions or {}),
    }


class MadeSurface(ServedSurface):
    """The surface of a world without a capture: its tools, resources and prompts."""

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

    def capabilities(self, request: WireRequest) -> JsonObject:
        return self._capabilities

    def initialize(self, request: WireRequest) -> JsonObject:
        return _greeting(request, self.capabilities(request), self._info)

    def items(self, request: WireRequest) -> list[JsonObject]:
        return self._items[request.method]


class CapturedSurface(ServedSurface):
    """A captured surface, verbatim: the best match for the client's era and capabilities."""

    def __init__(self, manifest: ServerManifest, tools: WireTools, captured_tools: Sequence[ToolSpec]) -> None:
        """`tools` are those of this episode, `captured_tools` the original ones: a changed tool does not keep its captured descriptor."""
        self._manifest = manifest
        self._tools = tools
        untouched = {tool.name: tool for tool in captured_tools}
        self._changed = {name for name, tool in tools.native.items() if untouched.get(tool.name) != tool}

    def _surface(self, request: WireRequest) -> Captured:
        return self._manifest.surface(MODERN if request.modern else HANDSHAKE, request.capabilities)

    def capabilities(self, request: WireRequest) -> JsonObject:
        return self._surface(request).greeting.get("capabilities") or {}

    def initialize(self, request: WireRequest) -> JsonObject:
        surface = self._surface(request)
        captured = surface.greeting
        if request.modern and surface.era == MODERN:
            return captured
        if not request.modern and surface.era != MODERN:
            return {**captured, "protocolVersion": self._version(request, captured.get("protocolVersion"))}
        instructions = {"instructions": captured["instructions"]} if "instructions" in captured else {}
        info = captured.get("serverInfo") if request.modern else as_object(captured.get("_meta")).get(SERVER_INFO)
        info = info or {"name": self._manifest.name, "version": ""}
        return _greeting(request, captured.get("capabilities") or {}, info, instructions)

    def _version(self, request: WireRequest, own: JsonValue) -> JsonValue:
        """Return the revision that the captured server answers with; by the specification if the requested one was not captured."""
        wanted, versions = request.params.get("protocolVersion"), self._manifest.versions
        if wanted is None:
            return own
        known = wanted if wanted in HANDSHAKE_VERSIONS else NO_VERSION
        if known in versions:
            return versions[known]
        # Revisions are dates, so min() is the older: a server speaks none newer than its own.
        return min(_negotiated(request), own) if isinstance(own, str) else _negotiated(request)

    def shows(self, request: WireRequest) -> bool:
        return request.method in self._surface(request).lists

    def names(self, method: str, key: str, name: str, request: WireRequest) -> bool:
        return any(item.get(key) == name for item in self._surface(request).items(method))

    def _pages(self, request: WireRequest) -> Sequence[JsonObject]:
        return self._surface(request).lists.get(request.method) or ({LISTED[request.method]: []},)

    def items(self, request: WireRequest) -> list[JsonObject]:
        key = LISTED[request.method]
        found = [item for page in self._pages(request) for item in cast(list[JsonObject], page.get(key) or [])]
        return self._offered(found, last=True) if key == "tools" else found

    def page(self, request: WireRequest) -> JsonObject:
        pages = self._pages(request)
        cursor = request.params.get("cursor")
        number = 0
        if cursor is not None:
            cursors = [page.get("nextCursor") for page in pages[:-1]]
            if cursor in cursors:
                number = cursors.index(cursor) + 1
            else:
                # The captured server's error for an invalid cursor; some ignore one.
                wrong = {"error": {"code": INVALID_PARAMS, "message": "Invalid cursor"}}
                result_of(self._manifest.profile.get("bad_cursor") or wrong)
        page = pages[number]
        if not request.modern and self._surface(request).era == MODERN:
            page = {key: value for key, value in page.items() if key not in _MODERN_KEYS}
        if request.method != "tools/list":
            return page
        captured = cast(list[JsonObject], page.get("tools") or [])
        offered = self._offered(captured, last=number == len(pages) - 1)
        return page if offered == captured else {**page, "tools": offered}

    def _offered(self, captured: list[JsonObject], *, last: bool) -> list[JsonObject]:
        """Return the descriptors of the offered tools: captured ones, updated if perturbed, and new tools on the last page."""
        found: list[JsonObject] = []
        for descriptor in captured:
            name = descriptor.get("name")
            if name in self._tools.native:
                found.append({**descriptor, **self._tools.own[name]} if name in self._changed else descriptor)
        if last:
            known = {tool.get("name") for tool in self._manifest.tools}
            found.extend(own for name, own in self._tools.own.items() if name not in known)
        return found
