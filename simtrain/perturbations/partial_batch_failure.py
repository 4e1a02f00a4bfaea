"""Some items of a batch fail, the others land."""

from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Probability, Traits
from simtrain.contracts.request import Answer, Request
from simtrain.files.json_schemas import validator
from simtrain.perturbations.catalogued import Catalogued
from simtrain.values.comparing import shown
from simtrain.values.types import Observation, is_list


class PartialBatchFailure(Catalogued):
    """A call with a list of things to do does some of them and fails for the others; the error says which.

    Source: ToolMisuseBench, ReliabilityBench. An agent should repeat the call for the failed ones only. Calls without a
    list of two or more items pass, and so do those that are refused without the failed items.
    """

    traits: ClassVar[Traits] = Traits(side="state", layer="D", recoverable_by=("verify", "retry"))

    share: Probability | None = Field(
        default=None, description="Share of the items that fail, at least one and never all; unset, half the severity."
    )

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Carry out the call without some items of its list, and report these as failed."""
        name = _batch(call.request)
        if name is None:
            return await proceed(call.request)
        items = call.request.arguments[name]
        share = self.severity / 2 if self.share is None else self.share
        count = min(max(round(share * len(items)), 1), len(items) - 1)
        failed = sorted(call.rng.sample(range(len(items)), count))
        rest = [item for index, item in enumerate(items) if index not in failed]
        arguments = {**call.request.arguments, name: rest}
        # A schema may ask for more items than are left; the tool would then refuse the whole batch.
        if not validator(call.request.tool.input_schema).is_valid(arguments):
            return await proceed(call.request)
        observation = await proceed(replace(call.request, arguments=arguments))
        if observation.is_error:
            return observation
        lines = [f"{count} of {len(items)} {name} failed, the others were processed:"]
        lines += [f"- {name}[{index}] {shown(items[index])}: 503 Service Unavailable" for index in failed]
        # An error: a success would read as if the whole batch had landed.
        return self.reply("\n".join((*lines, "", observation.text)), is_error=True)


def _batch(request: Request) -> str | None:
    """Return the first argument that is a list of two or more items."""
    for name, value in request.arguments.items():
        if is_list(value) and len(value) > 1:
            return name
    return None
