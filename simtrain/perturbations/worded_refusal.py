"""Base of perturbations that refuse a call with a misleading error, although it would have worked."""

from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.writer import Worded, Writer, Written
from simtrain.values.types import Observation


class WordedRefusal(Worded):
    """The call does not reach the tool and the error leads astray; the same call works later."""

    traits: ClassVar[Traits] = Traits(side="call", layer="M")
    task: ClassVar[str]
    """The request to the model."""

    times: int | None = Field(
        default=None,
        ge=1,
        description="Refusals of one tool, after which it works; unset, 1 to 3, more the higher the severity.",
    )
    writer: Writer | None = Field(default=None, description="Chat model that words the error to fit the call.")

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Refuse without passing the call on, until the tool has refused often enough.

        Raises SimulatorFault when the model that words it fails.
        """
        tool = call.request.tool.name
        refused = call.memory.get(tool, 0)
        if refused >= (1 + int(2 * self.severity) if self.times is None else self.times):
            return await proceed(call.request)
        call.memory[tool] = refused + 1
        meaning, claim = self.template(call)
        if self.writer is None:
            return self.refusal(call, "unavailable", meaning)
        written = await self._written(self.writer, call, meaning, claim)
        observation = self.refusal(call, "unavailable", written.value or meaning)
        return replace(observation, provenance=written.provenance)

    @abstractmethod
    def template(self, call: Call) -> tuple[str, str]:
        """Return the error from a template, and the claim in it, which a model's version must contain too."""

    async def _written(self, writer: Writer, call: Call, meaning: str, claim: str) -> Written[str]:
        def check(text: str) -> None:
            # The mistake under test is to act on this claim; without it a model's version would test nothing.
            if claim not in text:
                raise ValueError(f"{claim!r} is not in the text")

        request = call.request
        material = {"tool": request.tool.name, "arguments": request.arguments, "meaning": meaning, "claim": claim}
        return await writer.write_text(self.source, task=self.task, material=material, check=check, longest=600)
