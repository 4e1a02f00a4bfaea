"""Base of perturbations that write the values of a reply in another way."""

from typing import ClassVar

from simtrain.contracts.perturbation import Traits
from simtrain.perturbations.catalogued import ContentPerturbation
from simtrain.perturbations.schema_edits import or_otherwise, widened
from simtrain.values.seeding import Stream
from simtrain.values.types import ToolSpec


class RewrittenValues(ContentPerturbation):
    """The values of a reply are right but written differently, in structured content and text. Errors and prose pass."""

    traits: ClassVar[Traits] = Traits(side="reply", layer="P", recoverable_by=("cross-check",))

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, with output schemas that allow text in place of numbers."""
        return widened(tools, or_otherwise)
