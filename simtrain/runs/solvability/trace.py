"""Stored proofs: the calls and the answer that solve one episode, and their replay in a fresh one."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from simtrain.agents.plan import Planned
from simtrain.contracts.agent import Briefing, Player, Policy
from simtrain.contracts.journal import Journal
from simtrain.contracts.scenario import Episode
from simtrain.contracts.trajectory import Trajectory
from simtrain.runs.rollout import rollout
from simtrain.values.errors import AgentFault, InputError
from simtrain.values.types import Action, JsonObject, JsonValue, Message, is_object

FORMAT = "simtrain-proof/1"


@dataclass(frozen=True, slots=True)
class Trace:
    """A way to full reward in an episode: calls, one a turn, then an answer or a reason to decline."""

    calls: tuple[Planned, ...]
    answer: str | None
    abstain: bool = False

    def facts(self, episode: Episode) -> JsonObject:
        """Return the proof in its stored form, with everything that identifies its episode."""
        return {
            "format": FORMAT,
            "scenario": episode.scenario.name,
            "scenario_digest": episode.scenario.digest,
            "episode": episode.id,
            "case": dict(episode.case),
            "seed": episode.seed,
            "attempt": episode.attempt,
            "perturbations": [armed.label for armed in episode.scenario.perturbations],
            "calls": [asdict(call) for call in self.calls],
            "answer": self.answer,
            "abstain": self.abstain,
        }


def trace_of(value: JsonValue) -> Trace:
    """Return the trace in a stored proof. Raises InputError when it is none."""
    if not is_object(value) or value.get("format") != FORMAT:
        raise InputError(f"not a proof: its `format` is not {FORMAT!r}")
    facts = value
    try:
        calls = tuple(Planned(str(call["tool"]), dict(call["arguments"])) for call in facts["calls"])
        return Trace(calls, facts["answer"], bool(facts["abstain"]))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"not a proof: {type(error).__name__}: {error}") from None


async def retrace(episode: Episode, trace: Trace) -> Trajectory:
    """Play a trace in a fresh episode, and grade it."""
    return await rollout(episode, Retracing(trace=trace), name="proof")


class Retracing(Policy):
    """Carries out a trace, whatever the replies are."""

    trace: Trace

    def player(self, briefing: Briefing) -> Player:
        """Return a player for one episode."""
        return _Player(self.trace)


class _Player:
    __slots__ = ("_trace",)

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    async def think(self, journal: Journal) -> Message:
        """Return the call of this turn, or the end. Raises AgentFault when the trace is over and says nothing."""
        turn = len(journal.turns)
        if turn < len(self._trace.calls):
            planned = self._trace.calls[turn]
            return Message(calls=(Action(f"call_{turn + 1}", planned.tool, planned.arguments),))
        if self._trace.answer is None:
            raise AgentFault("the trace ends without an answer")
        return Message(self._trace.answer, abstain=self._trace.abstain, answer=self._trace.answer)
