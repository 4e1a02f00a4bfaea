"""A tool is dead for good."""

from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call
from simtrain.perturbations.closed import Closed
from simtrain.values.types import Observation


class Outage(Closed):
    """From the call on which it fires, a tool does not answer for the rest of the episode.

    Source: ToolMaze, ReliabilityBench, agentbreak. The first errors look transient. An agent should give up after a few
    attempts and use another tool, or say that there is none. With a standby, every tool exists a second time, on
    another server.
    """

    suffix: ClassVar[str] = "standby"
    note: ClassVar[str] = "On the standby server, which has the same records: for when the main one does not answer."

    standby: bool | None = Field(
        default=None,
        description="Offer a standby of every tool, which works; unset, as long as the severity is below 1.",
    )

    def is_elsewhere(self) -> bool:
        """True if there is a standby."""
        return self.severity < 1 if self.standby is None else self.standby

    def closes(self, call: Call) -> str:
        """Return the name of the tool."""
        return call.request.tool.name

    def error(self, call: Call) -> Observation:
        """Return an error that looks transient."""
        return self.refusal(call, "unavailable", "The request was not processed.")
