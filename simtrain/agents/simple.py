"""Agents that make no calls: every rubric must score them below success."""

from typing import ClassVar

from simtrain.agents.plan import answering, declining
from simtrain.contracts.agent import Briefing, Player, Policy
from simtrain.contracts.journal import Journal
from simtrain.values.types import Message


class _Speaker:
    __slots__ = ("_message",)

    def __init__(self, message: Message) -> None:
        self._message = message

    async def think(self, journal: Journal) -> Message:
        return self._message


class Nop(Policy):
    """Does nothing and answers nothing."""

    continues: ClassVar[bool] = True

    def player(self, briefing: Briefing) -> Player:
        """End at once with an empty answer."""
        return _Speaker(Message())


class ClaimsDone(Policy):
    """Does nothing and claims that all is done."""

    continues: ClassVar[bool] = True

    def player(self, briefing: Briefing) -> Player:
        """End at once with a claim of success."""
        return _Speaker(answering("Done, everything has been taken care of as requested."))


class AlwaysAbstain(Policy):
    """Declines every task."""

    continues: ClassVar[bool] = True

    def player(self, briefing: Briefing) -> Player:
        """End at once by declining."""
        return _Speaker(declining("this cannot be done."))
