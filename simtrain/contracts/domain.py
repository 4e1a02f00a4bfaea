"""The contract of domains: one kind of tool call, translated between structure and what a world model reads."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from simtrain.contracts.drawing import Drawing, TextDrawing, draw_json
from simtrain.contracts.plugin import Plugin
from simtrain.contracts.request import Request
from simtrain.values.types import Action, Observation, ToolSpec


class Domain(Plugin):
    """One kind of tool call. The parts of a world model's prompt are in the order of the parameters of `system_prompt`."""

    @abstractmethod
    def system_prompt(
        self,
        tools: Sequence[ToolSpec],
        *,
        initial_state: str = "",
        hidden_state: str = "",
        demonstrations: Sequence[tuple[str, str]] = (),
        instruction: str = "",
    ) -> str:
        """Return the system prompt of a language world model: task, action space, initial state, hidden state,
        demonstrations, instruction.
        """

    @abstractmethod
    def write_action(self, request: Request, *, turn: int) -> str:
        """Return an action as the world model reads it; `turn` counts from 1."""

    @abstractmethod
    def write_observation(self, observation: Observation) -> str:
        """Return an observation as the world model writes it."""

    volatile: ClassVar[tuple[str, ...]] = ()
    """Globs of fields that may differ between replies about the same record."""

    def settled(self, request: Request) -> str | None:
        """Return a key for a call whose answer never changes in an episode; None if it may change."""
        return None

    @abstractmethod
    def parse(self, text: str, request: Request) -> Observation:
        """Return the observation in a prediction. Raises ValueError when the prediction must be rejected, saying why."""

    def draw(self, action: Action, observation: Observation) -> Drawing:
        """Return what people are shown of a reply: by default records as tables, other JSON as fields, and text as it is."""
        content = observation.content
        return [TextDrawing(observation.text)] if content is None else draw_json(content)
