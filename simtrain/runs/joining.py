"""Let an agent act in an open episode together with others."""

from simtrain.agents.select import build_agent
from simtrain.contracts.agent import Agent, Outsider
from simtrain.contracts.journal import Journal
from simtrain.contracts.request import Answer
from simtrain.contracts.trajectory import Stop
from simtrain.runs.held_episode import HeldEpisode
from simtrain.runs.rollout import play
from simtrain.scenarios.briefing import brief
from simtrain.values.errors import AgentFault, EpisodeOver, InputError, ModelFault, SimulatorFault
from simtrain.values.types import Message


class JoinedJournal(Journal):
    """The journal of one of several agents in an episode. The calls of each message become one turn of the episode's own journal."""

    __slots__ = ("_by", "_held")

    def __init__(self, held: HeldEpisode, by: str) -> None:
        super().__init__(held.environment, held.episode.limits)
        self._held = held
        self._by = by

    def begin_turn(self) -> None:
        """Do nothing: the episode's own journal begins the turn when its calls are made."""

    async def act(self, answer: Answer | None = None) -> Stop | None:
        """Make the calls of the last message; return a Stop if the episode has ended, whoever ended it."""
        assert self.message is not None, "a message goes before its calls"
        self.pending = ()
        try:
            turn = await self._held.act(self.message, by=self._by)
        except (EpisodeOver, SimulatorFault) as error:
            return self.end(self._held.journal.stop or Stop("failed", detail=str(error)))
        self.turns[-1].steps.extend(turn.steps)
        ended = self._held.journal.stop
        return None if ended is None else self.end(ended)


async def join(held: HeldEpisode, agent: Agent | str, *, by: str) -> Message:
    """Let an agent act in an open episode until its last message, and return that; the episode goes on.

    Raises EpisodeOver if the episode ends first, AgentFault, ModelFault or SimulatorFault for a failure, InputError for an agent that
    plays whole episodes.
    """
    player = build_agent(agent) if isinstance(agent, str) else agent
    if isinstance(player, Outsider):
        raise InputError(f"{by} plays whole episodes of its own", remedy="let it join as an MCP client, at the address")
    journal = JoinedJournal(held, by)
    try:
        stop = await play(player, brief(held.episode, held.environment, planned=player.planned), journal)
    finally:
        if isinstance(agent, str):
            # An agent that was passed as an object belongs to the caller.
            await player.close()
    if stop.reason in ("answered", "abstained") and journal.message is not None and held.journal.stop is None:
        return journal.message
    raise _ended(stop)


def _ended(stop: Stop) -> Exception:
    """Return the exception for a stop that came before the agent's last message."""
    problem = stop.detail or stop.reason
    if stop.reason != "failed":
        return EpisodeOver(f"the episode is over: {problem}")
    return {"agent": AgentFault, "simulator": SimulatorFault, None: ModelFault}[stop.blame](problem)
