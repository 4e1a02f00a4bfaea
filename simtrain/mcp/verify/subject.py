"""The interface of subjects: how to bring a stand-in and its real server to the same state, and how to call them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeVar

from simtrain.contracts.world import World
from simtrain.mcp.verify.call_makers import CallMaker, Helper, Kind, read_makers
from simtrain.mcp.verify.draw import Past
from simtrain.values.types import JsonObject, JsonValue

_MARK = "__makes__"
_MakerT = TypeVar("_MakerT", bound=Callable[..., JsonObject])


@dataclass(frozen=True, slots=True)
class GeneratedCall:
    """A tool call in the stand-in's terms. `stateful`: it uses a value that an earlier call of its sequence established."""

    tool: str
    arguments: JsonObject
    kind: Kind
    stateful: bool = False


def makes(tool: str, kind: Kind = "valid", *, weight: float = 1.0) -> Callable[[_MakerT], _MakerT]:
    """Mark a method `(self, draw) -> arguments` of a subject as a maker; it may be given several times.

    `weight` is relative to the other makers of the same tool and kind.
    """

    def mark(method: _MakerT) -> _MakerT:
        marks: list[tuple[str, Kind, float]] = [*getattr(method, _MARK, ()), (tool, kind, weight)]
        setattr(method, _MARK, marks)
        return method

    return mark


class Subject:
    """What verification needs to know about one server. By default, calls are made from the schemas alone.

    The life of a sequence: `lay_out` writes the world's initial state where the real server will find it; the server runs
    with `environment` and with the `placeholders` filled into its command; a fresh episode of the world opens; then calls are
    made in the stand-in's terms, translated for the real server (roots and mapped tokens), and `learn` sees each reply of the
    real server, translated back.
    """

    weights: ClassVar[Mapping[str, float]] = {}
    """Relative frequency of calls to each tool; 1 for tools that are not named."""

    shares: ClassVar[Mapping[Kind, float]] = {"valid": 0.76, "edge": 0.14, "invalid": 0.10}
    """How often each kind of call is made. A tool without a maker of a kind gets one from its schema."""

    tokens: ClassVar[Mapping[str, re.Pattern[str]]] = {
        "uuid": re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
    }
    """Tokens that may be paired one to one: kind -> pattern of ids or times. Everything else must be identical.

    The stand-in's clock is set to the wall clock at each call, so current times already agree to the second:
    name a pattern of times only if the real server's initial state cannot have the world's times.
    """

    restart: ClassVar[bool] = False
    """Whether the real process must be restarted for each sequence because it keeps state in memory."""

    tables: ClassVar[tuple[str, ...]] = ()
    """Tables of the world that the subject lays out; a world that lacks one is a different world of the same name."""

    calls: ClassVar[Path | None] = None
    """A YAML file with makers (`read_makers`), in addition to the marked methods."""

    helpers: ClassVar[tuple[Helper, ...]] = ()
    """The functions that expressions in that file may call."""

    def suits(self, world: World) -> bool:
        """True if a world has the tables that the subject lays out and the tools that it makes calls for."""
        tools = {tool.name for tool in world.tools}
        return {*self.tables} <= {*world.columns()} and all(maker.tool in tools for maker in self.makers())

    def placeholders(self, root: Path) -> Mapping[str, str]:
        """Return the values for `{name}` in the command under test. Each must occur in it, so that no real files of
        the user are touched.
        """
        return {}

    def environment(self, root: Path) -> Mapping[str, str]:
        """Return environment variables of the real server, in addition to TZ=UTC and LC_ALL=C.UTF-8."""
        return {}

    def roots(self, root: Path) -> Mapping[str, str]:
        """Return the real path for each root of the stand-in, such as {"/workspace": str(root / "workspace")}."""
        return {}

    def lay_out(self, world: World, root: Path) -> None:
        """Write the world's initial state into the empty folder `root`; called before every sequence."""

    def initial(self, world: World) -> Mapping[str, Sequence[JsonValue]]:
        """Return the values of the initial state that makers may draw, by kind (see `Draw.existing`)."""
        return {}

    def learn(self, past: Past, call: GeneratedCall, reply: JsonObject) -> None:
        """Note in `past` the values that a successful call created, changed, deleted or reported. `reply` is the real CallToolResult."""

    def failed(self, response: JsonObject) -> bool:
        """True if a response, {"result": ...} or {"error": ...}, refuses the call."""
        return "error" in response or bool(response["result"].get("isError", False))

    def makers(self) -> tuple[CallMaker, ...]:
        """Return the makers: those in the file of calls, then the marked methods, in source order."""
        found = [] if self.calls is None else [*read_makers(self.calls, self.helpers)]
        # Base classes first, and in source order: draws depend on the order of makers.
        for name in dict.fromkeys(name for base in reversed(type(self).__mro__) for name in vars(base)):
            method = getattr(self, name)
            marks: list[tuple[str, Kind, float]] = getattr(method, _MARK, [])
            found.extend(CallMaker(tool, kind, weight, method) for tool, kind, weight in marks)
        return tuple(found)
