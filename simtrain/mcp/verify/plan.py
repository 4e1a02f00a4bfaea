"""The plan of a verification: the tools that each sequence calls, in exact shares, and the arguments of each call."""

from collections.abc import Mapping, Sequence

from simtrain.mcp.verify.call_makers import KINDS, CallMaker, Kind
from simtrain.mcp.verify.draw import Draw, NothingToDraw, Past, occurs
from simtrain.mcp.verify.schema_values import at_the_border, fitting, spoiled
from simtrain.mcp.verify.subject import GeneratedCall, Subject
from simtrain.values.seeding import Stream, derive
from simtrain.values.types import JsonObject

SEQUENCE = 20
LEAST_SHARE = 0.034
UNKNOWN_TOOL = "no_such_tool"
UNKNOWN_SHARE = 0.01


def deal(tools: Sequence[str], subject: Subject, *, calls: int, seed: int) -> list[list[str]]:
    """Return the tools of every call, sequence by sequence.

    Each tool gets its share by weight, but at least LEAST_SHARE of all calls if there are few enough tools for that.
    """
    deck = [UNKNOWN_TOOL] * round(calls * UNKNOWN_SHARE)
    for tool, count in _counts(tools, subject.weights, calls - len(deck)).items():
        deck += [tool] * count
    # Exact counts, then shuffled: drawn tool by tool, a rare tool might never come.
    shuffled = Stream(derive(seed, "deal")).shuffled(deck)
    return [shuffled[start : start + SEQUENCE] for start in range(0, len(shuffled), SEQUENCE)]


def _counts(tools: Sequence[str], weights: Mapping[str, float], calls: int) -> dict[str, int]:
    """Return the number of calls to each tool; the counts add up to `calls`."""
    weight = {tool: weights.get(tool, 1.0) for tool in tools}
    floor = min(LEAST_SHARE, 1 / len(tools))
    rest = 1 - floor * len(tools)
    shares = {tool: floor + rest * weight[tool] / sum(weight.values()) for tool in tools}
    counts = {tool: int(calls * share) for tool, share in shares.items()}
    # Largest remainders first (Hamilton's method), so that the counts add up.
    by_remainder = sorted(tools, key=lambda tool: counts[tool] - calls * shares[tool])
    for tool in by_remainder[: calls - sum(counts.values())]:
        counts[tool] += 1
    return counts


class Generator:
    """Makes the calls of one subject."""

    def __init__(self, subject: Subject, schemas: Mapping[str, JsonObject]) -> None:
        """`schemas` are the input schemas of all tools, by name."""
        self._subject = subject
        self._schemas = schemas
        self._makers: dict[tuple[str, Kind], list[CallMaker]] = {}
        for maker in subject.makers():
            self._makers.setdefault((maker.tool, maker.kind), []).append(maker)

    @property
    def unknown(self) -> list[str]:
        """Return the tools that the subject has makers for but neither side offers."""
        return sorted({tool for tool, _ in self._makers} - set(self._schemas))

    def call(self, tool: str, past: Past, stream: Stream) -> GeneratedCall:
        """Return a call to a tool: its kind by the subject's shares, its arguments from a maker that currently has values to draw."""
        if tool not in self._schemas:
            return GeneratedCall(tool, {"name": stream.choose(("a", "b"))}, "invalid")
        shares = self._subject.shares
        kind = stream.choose(KINDS, [shares[kind] for kind in KINDS])
        kinds: list[Kind] = [kind, *(other for other in KINDS if other != kind)]
        # Another kind rather than another tool: the shares of tools are exact.
        for wanted in kinds:
            for maker in self._order(tool, wanted, stream):
                draw = Draw(stream, past)
                try:
                    arguments = maker.arguments(draw)
                except NothingToDraw:
                    continue
                return _made(tool, arguments, wanted, draw)
        draw = Draw(stream, past)
        return _made(tool, fitting(self._schemas[tool], draw), "valid", draw)

    def _order(self, tool: str, kind: Kind, stream: Stream) -> list[CallMaker]:
        """Return the makers of a kind in the order in which they are tried, random by weight."""
        left = [*self._makers.get((tool, kind), ()), *self._from_schema(tool, kind)]
        ordered: list[CallMaker] = []
        while left:
            chosen = stream.choose(left, [maker.weight for maker in left])
            left.remove(chosen)
            ordered.append(chosen)
        return ordered

    def _from_schema(self, tool: str, kind: Kind) -> list[CallMaker]:
        """Return makers from the schema alone: mistakes always, other kinds only for a tool without a maker in the subject."""
        schema = self._schemas[tool]
        if kind == "invalid":
            # A valid call with one mistake: with several, the server's order of checks would be all that is compared.
            return [CallMaker(tool, kind, 1.0, lambda draw: spoiled(schema, self._sound(tool, draw), draw))]
        if (tool, "valid") in self._makers:
            return []
        return [CallMaker(tool, kind, 1.0, lambda draw: (fitting if kind == "valid" else at_the_border)(schema, draw))]

    def _sound(self, tool: str, draw: Draw) -> JsonObject:
        for maker in self._makers.get((tool, "valid"), ()):
            try:
                return maker.arguments(draw)
            except NothingToDraw:
                continue
        return fitting(self._schemas[tool], draw)


def _made(tool: str, arguments: JsonObject, kind: Kind, draw: Draw) -> GeneratedCall:
    """Return the call. Values that were drawn but not used in the arguments create no dependency."""
    return GeneratedCall(tool, arguments, kind, any(occurs(value, arguments) for value in draw.established))
