"""The result of a verification: agreement per tool, shares of calls, and every divergence with the calls before it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from simtrain.episodes.recordable import readable
from simtrain.mcp.verify.listing_comparison import Count, ShownAlike
from simtrain.mcp.verify.subject import GeneratedCall
from simtrain.values.types import JsonObject, JsonValue, encode

DEMANDED: Mapping[str, float] = {"valid": 0.60, "stateful": 0.30, "least_tool": 0.03}
"""The minimum shares of calls: accepted by the real server, dependent on earlier ones, and per tool."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """One call on both sides. `accepted`: the real server did not refuse it. `problem`: how the stand-in differs, None if it agrees.

    `real` and `own` are the responses in the stand-in's terms.
    """

    call: GeneratedCall
    accepted: bool
    real: JsonObject
    own: JsonObject
    problem: str | None


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts over some calls."""

    calls: int
    agreed: int
    accepted: int
    stateful: int

    @property
    def agreement(self) -> float:
        """Return the share of calls on which both sides agree."""
        return self.agreed / self.calls if self.calls else 1.0

    def facts(self) -> JsonObject:
        """Return the counts with their shares."""
        return {
            "calls": self.calls,
            "agreed": self.agreed,
            "agreement": round(self.agreement, 4),
            "valid": _share(self.accepted, self.calls),
            "stateful": _share(self.stateful, self.calls),
        }


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The minimum agreement overall and per tool, and the minimum share of the surface that is equal."""

    overall: float = 0.95
    per_tool: float = 0.85
    surface: float = 0.0


@dataclass(frozen=True)
class Findings:
    """All outcomes, one tuple per sequence; `offered` are the tools of both sides. `first` is the number of the first sequence.

    `surfaces` compares the surfaces of both sides, one entry per era that both speak. `past` is the recording
    that a server was compared with instead of a stand-in.
    """

    name: str
    seed: int
    offered: tuple[str, ...]
    sequences: tuple[tuple[CallOutcome, ...], ...]
    first: int = 0
    surfaces: tuple[ShownAlike, ...] = ()
    past: str | None = None

    @property
    def shown(self) -> Count:
        """Return the share of the surface that is equal on both sides, over all eras."""
        totals = [surface.total for surface in self.surfaces]
        return Count(sum(total.equal for total in totals), sum(total.of for total in totals))

    @property
    def outcomes(self) -> Iterable[CallOutcome]:
        """Return all outcomes in order."""
        return (outcome for sequence in self.sequences for outcome in sequence)

    @property
    def total(self) -> Figures:
        """Return the figures over all calls."""
        return _figures(self.outcomes)

    def tools(self) -> dict[str, Figures]:
        """Return the figures of each tool, by name."""
        by_tool: dict[str, list[CallOutcome]] = {}
        for outcome in self.outcomes:
            by_tool.setdefault(outcome.call.tool, []).append(outcome)
        return {tool: _figures(outcomes) for tool, outcomes in sorted(by_tool.items())}

    def shares(self) -> dict[str, float]:
        """Return the shares listed in DEMANDED."""
        total = self.total
        tools = self.tools()
        # Tools that were never called count as zero, or a plan that forgets one would look complete.
        least = min((tools[tool].calls if tool in tools else 0 for tool in self.offered), default=0)
        counts = {"valid": total.accepted, "stateful": total.stateful, "least_tool": least}
        return {name: _share(count, total.calls) for name, count in counts.items()}

    def below(self, thresholds: Thresholds) -> list[str]:
        """Describe what does not reach its threshold; empty if everything does."""
        found = [
            f"{tool} agrees on {figures.agreement:.1%} of {figures.calls} calls, below {thresholds.per_tool:.0%}"
            for tool, figures in self.tools().items()
            if figures.agreement < thresholds.per_tool
        ]
        if self.total.agreement < thresholds.overall:
            found.insert(0, f"overall agreement is {self.total.agreement:.1%}, below {thresholds.overall:.0%}")
        shown = self.shown
        if shown.equal < thresholds.surface * shown.of:
            found.append(f"{shown.equal} of {shown.of} parts of the surface are equal, below {thresholds.surface:.0%}")
        return found

    def divergences(self) -> list[JsonObject]:
        """Return every call on which the sides differ, with the calls of its sequence that came before."""
        found: list[JsonObject] = []
        for number, sequence in enumerate(self.sequences, self.first):
            for index, outcome in enumerate(sequence):
                if outcome.problem is not None:
                    before = [_call_facts(earlier) for earlier in sequence[:index]]
                    place: JsonObject = {"sequence": number, "index": index, **_call_facts(outcome)}
                    replies: JsonObject = {"real": _writable(outcome.real), "stand_in": _writable(outcome.own)}
                    found.append({**place, "problem": outcome.problem, **replies, "before": before})
        return found


def _figures(outcomes: Iterable[CallOutcome]) -> Figures:
    listed = list(outcomes)
    return Figures(
        len(listed),
        sum(outcome.problem is None for outcome in listed),
        sum(outcome.accepted for outcome in listed),
        sum(outcome.call.stateful for outcome in listed),
    )


def _call_facts(outcome: CallOutcome) -> JsonObject:
    call = outcome.call
    return {"tool": call.tool, "arguments": call.arguments, "kind": call.kind, "accepted": outcome.accepted}


def _writable(response: JsonObject) -> JsonValue:
    """Return a response in a form that can be written; one with a lone surrogate or a huge integer becomes its Python repr."""
    try:
        encode(response)
    except TypeError:
        return readable(response)
    return response


def _share(count: int, total: int) -> float:
    return round(count / total, 4) if total else 0.0
