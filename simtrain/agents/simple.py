"""Agents that make no calls: every rubric must score them below success."""

from typing import ClassVar, Self

from simtrain.agents.plan import answering, declining
from simtrain.contracts.agent import Briefing, Policy
from simtrain.contracts.journal import Journal
from simtrain.values.types import Message


class _Speaker(Policy):
    """Ends every episode with the same message. It is its own player, as it knows nothing of the episode."""

    continues: ClassVar[bool] = True
    message: ClassVar[Message]

    def player(self, briefing: Briefing) -> Self:
        return self

    async def think(self, journal: Journal) -> Message:
        return self.message


class Nop(_Speaker):
    """Does nothing and answers nothing."""

    message = Message()


class ClaimsDone(_Speaker):
    """Does nothing and claims that all is done."""

    message = answering("Done, everything has been taken care of as requested.")


class AlwaysAbstain(_Speaker):
    """Declines every task."""

    message = declining("this cannot be done.")
