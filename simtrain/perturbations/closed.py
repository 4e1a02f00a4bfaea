"""What the perturbations share that close something for good."""

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
        side="call", layer="P", permanent=True, recoverable_by=("switch", "abstain"), follows="fired"
    )

    suffix: ClassVar[str]
    """What the names of servers elsewhere end with."""
    note: ClassVar[str]
    """What the descriptions of tools elsewhere add."""

    @abstractmethod
    def is_elsewhere(self) -> bool:
        """True if the tools are offered elsewhere as well."""

    @abstractmethod
    def closes(self, call: Call) -> str:
        """Return what a call closes: the name of a tool, or of a server."""

    @abstractmethod
    def error(self, call: Call) -> Observation:
        """Return what the caller of something closed reads."""

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, and those elsewhere."""
        return with_stand_ins(tools, self.suffix, self.note) if self.is_elsewhere() else tools

    def begin(self, call: Call) -> None:
        """Close it, unless the call comes from elsewhere."""
        if PASSING not in call.memory:
            call.memory[self.closes(call)] = True

    def refused(self, call: Call) -> Observation | None:
        """Refuse what is closed."""
        return None if self.closes(call) not in call.memory or PASSING in call.memory else self.error(call)

    async def serve(self, call: Call, proceed: Answer) -> Observation:
        """Have the tool elsewhere answer."""
        return await stand_in(call, proceed, self.suffix)
