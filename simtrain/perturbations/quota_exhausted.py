"""The account has used up its quota."""

from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call
from simtrain.perturbations.closed import Closed
from simtrain.values.types import Observation


class QuotaExhausted(Closed):
    """From the call on which it fires, a server refuses all its tools to the end: the quota is used up.

    Source: AgentDisruptBench, ToolMisuseBench. Retrying is useless. An agent should use another server's tool, or say
    that it cannot go on. With a partner, every tool exists a second time, on another server.
    """

    suffix: ClassVar[str] = "partner"
    note: ClassVar[str] = "By way of a partner: the same records, and a quota of its own."

    partner: bool | None = Field(
        default=None,
        description="Offer every tool on another server as well, which works; unset, as long as the severity is below 1.",
    )

    def is_elsewhere(self) -> bool:
        """True if there is a partner."""
        return self.severity < 1 if self.partner is None else self.partner

    def closes(self, call: Call) -> str:
        """Return the name of the server, whose tools are all closed."""
        # Quotas belong to accounts, and an account to a server.
        return call.request.tool.server

    def error(self, call: Call) -> Observation:
        """Return the error: the quota is used up until next month."""
        return self.refusal(call, "quota", "It is renewed at the beginning of next month.")
