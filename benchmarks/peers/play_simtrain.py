"""The episode with simtrain: its agent loop in a world over SQLite, where the tool is a query; and the policy `chat` over HTTP."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from measure import Episode, Played, each, main

sys.path.append(str(Path(__file__).resolve().parent.parent))

from depot import SEARCH, searching

from simtrain.agents.chat import ChatPolicy
from simtrain.agents.loop import play as play_loop
from simtrain.contracts.agent import Briefing, Player, Policy
from simtrain.contracts.journal import Journal
from simtrain.contracts.scenario import Episode as Dealt
from simtrain.runs.rollout import brief
from simtrain.runs.schedule import Deal
from simtrain.scenarios.load import paradigm_of
from simtrain.values.types import Action, Message


class Ready(Policy):
    """Makes the calls one a turn, without thinking."""

    calls: int
    arguments: dict[str, str]
    answer: str

    def player(self, briefing: Briefing) -> Player:
        """One for one episode."""
        return _Player(self)


class _Player:
    def __init__(self, policy: Ready) -> None:
        self.policy = policy

    async def think(self, journal: Journal) -> Message:
        turn = len(journal.turns)
        if turn == self.policy.calls:
            return Message(self.policy.answer, answer="done")
        return Message(calls=(Action(f"call_{turn}", SEARCH, dict(self.policy.arguments)),))


async def play(episode: Episode, episodes: int, policy: Policy) -> Iterable[Played]:
    with TemporaryDirectory() as folder:
        dealt = iter(Deal([searching(Path(folder))], seed=0, total=episodes, attempts=1))
        try:
            return await each(lambda: _one(next(dealt), policy, episode), episodes)
        finally:
            await policy.close()


async def _one(dealt: Dealt, policy: Policy, episode: Episode) -> Played:
    async with paradigm_of(dealt.scenario).open(dealt) as environment:
        journal = Journal(environment, dealt.scenario.spec.limits)
        await play_loop(policy.player(brief(dealt, environment)), journal)
        heard = [step for step in environment.steps if step.observation.text == episode.reply]
        return len(heard), journal.turns[-1].text


async def http(episode: Episode, episodes: int) -> Iterable[Played]:
    return await play(episode, episodes, ChatPolicy(model=episode.model, base_url=episode.url))


async def in_process(episode: Episode, episodes: int) -> Iterable[Played]:
    policy = Ready(calls=episode.calls, arguments=episode.arguments, answer=episode.answer)
    return await play(episode, episodes, policy)


if __name__ == "__main__":
    main(["simtrain", "langgraph"], http=http, in_process=in_process)
