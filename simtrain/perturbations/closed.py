"""Base of perturbations that close something for the rest of the episode."""

from abc import abstractmethod
from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.catalogued import Refusing
from simtrain.perturbations.standby import PASSING, stand_in, with_stand_ins
from simtrain.values.seeding import Stream
from simtrain.values.types import Observation, ToolSpec


class Closed(Refusing):
    """From the call on which it fires, some tools refuse for the rest of the episode; every tool may have a duplicate
    elsewhere.
    """

    traits: ClassVar[Traits] = Traits(
        side="call", layer="P", recoverable_by=("switch", "abstain"), follows="fired", shell=True, page=True
    )

    suffix: ClassVar[str]
    """Suffix of the names of standby servers."""
    note: ClassVar[str]
    """Sentence added to the descriptions of tools on standby servers."""

    @abstractmethod
    def is_elsewhere(self) -> bool:
        """True if the tools are also offered on a standby server."""

    @abstractmethod
    def closes(self, call: Call) -> str:
        """Return the name of the tool or server that a call closes."""

    @abstractmethod
    def error(self, call: Call) -> Observation:
        """Return the error for a call of something closed."""

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, and those on standby servers."""
        return with_stand_ins(tools, self.suffix, self.note) if self.is_elsewhere() else tools

    def begin(self, call: Call) -> None:
        """Close it, unless the call comes from a standby tool."""
        # The standby tool calls the closed one behind the scenes; closing that passage would take the way out away.
        if PASSING not in call.memory:
            call.memory[self.closes(call)] = True

    def refused(self, call: Call) -> Observation | None:
        """Refuse what is closed."""
        return None if self.closes(call) not in call.memory or PASSING in call.memory else self.error(call)

    async def serve(self, call: Call, proceed: Answer) -> Observation:
        """Answer a call of a standby tool."""
        return await stand_in(call, proceed, self.suffix)
