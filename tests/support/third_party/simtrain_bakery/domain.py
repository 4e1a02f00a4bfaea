"""A domain: calls and replies written like telegrams."""

from __future__ import annotations

from collections.abc import Sequence

from simtrain.contracts.domain import Domain
from simtrain.contracts.request import Request
from simtrain.values.types import Observation, ToolSpec, encode


class TelegramDomain(Domain):
    """Every message ends with STOP."""

    def system_prompt(
        self,
        tools: Sequence[ToolSpec],
        *,
        initial_state: str = "",
        hidden_state: str = "",
        demonstrations: Sequence[tuple[str, str]] = (),
        instruction: str = "",
    ) -> str:
        """The parts in their order."""
        parts = [
            ", ".join(tool.name for tool in tools),
            initial_state,
            hidden_state,
            *(f"{a} {o}" for a, o in demonstrations),
            instruction,
        ]
        return " STOP ".join(part for part in parts if part)

    def write_action(self, request: Request, *, turn: int) -> str:
        """One line."""
        return f"{turn} {request.tool.name} {encode(request.arguments)} STOP"

    def write_observation(self, observation: Observation) -> str:
        """One line."""
        return f"{observation.text} STOP"

    def parse(self, text: str, request: Request) -> Observation:
        """What stands before STOP. Raises ValueError without it."""
        body, stop, _ = text.partition(" STOP")
        if not stop:
            raise ValueError("the telegram does not end")
        return Observation(body)
