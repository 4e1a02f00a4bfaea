"""Compare the surfaces of two servers: greeting, descriptors and lists, not their behaviour."""

from dataclasses import dataclass, field

from simtrain.mcp.verify.pairing import Pairing
from simtrain.mcp_wire.manifest import LISTED, Surface
from simtrain.values.types import JsonObject, JsonValue, as_object, canonical, writable

INFO = "io.modelcontextprotocol/serverInfo"
ENVELOPE = ("resultType", "ttlMs", "cacheScope", "_meta")
"""Members that revision 2026-07-28 adds around a greeting."""

ASPECTS = ("title", "description", "inputSchema", "outputSchema", "annotations")
"""Parts of a tool's descriptor that are counted separately; the rest counts as one."""

_ABSENT = "(absent)"


@dataclass(slots=True)
class Count:
    """The number of items, and of those that are equal on both sides."""

    equal: int = 0
    of: int = 0


@dataclass(frozen=True)
class ShownAlike:
    """The comparison of two surfaces of one era. `parts` counts by part; each of the `differences` has a place and both sides.

    Greeting, tools, resources, templates and prompts count towards the total; a tool is equal if its whole descriptor is.
    """

    era: str
    parts: dict[str, Count] = field(default_factory=dict[str, Count])
    differences: list[JsonObject] = field(default_factory=list[JsonObject])

    @property
    def total(self) -> Count:
        """Return the count over all parts, without the separate parts of tool descriptors."""
        whole = [count for part, count in self.parts.items() if ": " not in part]
        return Count(sum(count.equal for count in whole), sum(count.of for count in whole))

    def facts(self) -> JsonObject:
        """Return everything, as JSON."""
        parts: JsonObject = {part: {"equal": count.equal, "of": count.of} for part, count in self.parts.items()}
        return {"era": self.era, "parts": parts, "differences": list(self.differences)}

    def note(self, part: str, place: str, real: JsonValue, own: JsonValue, *, listed: bool = True) -> bool:
        """Compare two values, count them, and note a difference; return True if they are equal."""
        count = self.parts.setdefault(part, Count())
        same = _plain(real) == _plain(own)
        count.of += 1
        count.equal += same
        if not same and listed:
            self.differences.append({"place": place, "real": writable(real), "stand_in": writable(own)})
        return same


def alike(real: Surface, own: Surface, pairing: Pairing) -> ShownAlike:
    """Compare the surface of a real server with a stand-in's. The real server's roots are translated first."""
    found = ShownAlike(real.era)
    theirs, ours = _greeting(real), _greeting(own)
    for part in dict.fromkeys([*theirs, *ours]):
        found.note(part, part, pairing.unpaired(theirs.get(part, _ABSENT)), ours.get(part, _ABSENT))
    for method in LISTED:
        name = method.removesuffix("/list").replace("resources/templates", "templates")
        theirs, ours = _by_name(real, method), _by_name(own, method)
        for key in dict.fromkeys([*theirs, *ours]):
            one = pairing.unpaired(theirs[key]) if key in theirs else None
            other = ours.get(key)
            # A tool's differences are listed part by part, not once more for the whole descriptor.
            whole = name == "tools" and one is not None and other is not None
            found.note(name, f"{name}.{key}", one or _ABSENT, other or _ABSENT, listed=not whole)
            if whole and one is not None and other is not None:
                _note_aspects(found, key, one, other)
        # Order is compared over what both have; a missing entry is counted once already.
        common = [[key for key in side if key in theirs and key in ours] for side in (theirs, ours)]
        if common[0]:
            found.note(f"{name}: order", f"{name}: order", *common)
    return found


def _note_aspects(found: ShownAlike, name: str, real: JsonObject, own: JsonObject) -> None:
    for aspect in ASPECTS:
        if aspect in real or aspect in own:
            place = f"tools.{name}.{aspect}"
            found.note(f"tools: {aspect}", place, real.get(aspect, _ABSENT), own.get(aspect, _ABSENT))
    rest = [{key: value for key, value in side.items() if key not in ASPECTS} for side in (real, own)]
    found.note("tools: the rest", f"tools.{name}", *rest)


def _greeting(surface: Surface) -> JsonObject:
    """Return the members of a greeting, those that both eras have under one common name."""
    greeting = surface.greeting
    rest = {key: value for key, value in greeting.items() if key not in ENVELOPE}
    info = rest.pop("serverInfo", None) or as_object(greeting.get("_meta")).get(INFO)
    return {"serverInfo": info or _ABSENT, "capabilities": rest.pop("capabilities", _ABSENT), **rest}


def _by_name(surface: Surface, method: str) -> dict[str, JsonObject]:
    """Return the entries of a list by name or URI; repeated names are numbered."""
    found: dict[str, JsonObject] = {}
    for item in surface.items(method):
        name = str(item.get("uri") or item.get("uriTemplate") or item.get("name"))
        number = sum(1 for known in found if known == name or known.startswith(f"{name} ("))
        found[f"{name} ({number + 1})" if name in found else name] = item
    return found


def _plain(value: JsonValue) -> bytes | str:
    """Return a value for comparison: 1 and true differ, the order of members does not count."""
    try:
        return canonical(value)
    except TypeError:
        # orjson refuses integers beyond 64 bits, which a server may send.
        return repr(value)
