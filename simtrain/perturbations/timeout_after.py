"""The effect lands, the reply is lost."""

from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.perturbations.catalogued import ReplyPerturbation
from simtrain.perturbations.lost_reply import LostReply
from simtrain.values.types import Observation


class TimeoutAfter(LostReply, ReplyPerturbation):
    """The call is carried out, but the caller sees a timeout instead of its reply.

    Source: ReliabilityBench, ToolMisuseBench. An agent should check whether the effect is there before it calls again.
    A call that the tool refuses passes.
    """

    traits: ClassVar[Traits] = Traits(
        side="reply", layer="D", recoverable_by=("verify", "retry"), shell=True, page=True
    )

    def changed(self, call: Call, reply: Observation) -> Observation:
        """Lose the reply. (The error of a refused call is passed on, since it has no effect to hide.)"""
        # The same words as timeout_before: an agent must not be able to tell which of the two happened.
        return self.given_up(call)
