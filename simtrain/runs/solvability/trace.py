"""Stored proofs: the calls and the answer that solve one episode, and their replay in a fresh one."""

from dataclasses import asdict, dataclass

from simtrain.agents.plan import PlanPlayer
from simtrain.agents.planned import Planned, Walking
from simtrain.contracts.agent import Briefing, Player, Policy
from simtrain.contracts.scenario import Episode
from simtrain.contracts.trajectory import Trajectory
from simtrain.runs.rollout import rollout
from simtrain.values.errors import AgentFault
from simtrain.values.types import JsonObject, Message

FORMAT = "simtrain-proof/1"


@dataclass(frozen=True, slots=True)
class Trace:
    """A path to full reward in an episode: calls, one per turn, then an answer or a reason to decline."""

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


async def retrace(episode: Episode, trace: Trace) -> Trajectory:
    """Play a trace in a fresh episode, and grade it."""
    return await rollout(episode, Retracing(trace=trace), name="proof")


class Retracing(Policy):
    """Carries out a trace, whatever the replies are."""

    trace: Trace

    def player(self, briefing: Briefing) -> Player:
        """Return a player for one episode."""
        return PlanPlayer(_walked(self.trace))


def _walked(trace: Trace) -> Walking:
    """Yield the calls, return the final message. Raises AgentFault if the trace has no ending."""
    # A generator, since replies are sent in: the iterator of a tuple has no `send`.
    for planned in trace.calls:  # noqa: UP028
        yield planned
    if trace.answer is None:
        raise AgentFault("the trace ends without an answer")
    return Message(trace.answer, abstain=trace.abstain, answer=trace.answer)
