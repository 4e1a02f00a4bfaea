"""The call never reaches the tool, and the caller times out."""

from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.lost_reply import LostReply
from simtrain.values.types import Observation


class TimeoutBefore(LostReply):
    """The call gets lost on its way: nothing is done, and after a while the caller sees a timeout.

    Source: ReliabilityBench, ToolMaze, mcp-chaos. It reads the same as `timeout_after`, whose effect landed. An agent
    should check whether the effect is there, then call again, a bounded number of times.
    """

    traits: ClassVar[Traits] = Traits(side="call", layer="P", recoverable_by=("verify", "retry"), shell=True, page=True)

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Advance virtual time, and pass nothing on."""
        return self.given_up(call)
