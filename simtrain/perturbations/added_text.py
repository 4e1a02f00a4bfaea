"""Base of perturbations that keep a reply and add words to it."""

import re
from abc import abstractmethod
from dataclasses import replace
from functools import partial
from math import ceil
from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.placing import Position, placed
from simtrain.perturbations.writer import Worded, Writer, Written
from simtrain.values.tool_words import tool_words
from simtrain.values.types import JsonObject, Observation

_DIGIT = re.compile(r"\d")
MOST = 4


class AddedText(Worded):
    """The true reply with words added to it, from a pool of templates or by a chat model. Errors are unchanged."""

    traits: ClassVar[Traits] = Traits(side="reply", layer="M")
    task: ClassVar[str]
    """The request to the model."""

    placement: Position = Field(
        default="end", description="Where to put the words: start, middle, end, or a field that holds prose."
    )
    passages: int | None = Field(
        default=None,
        ge=1,
        description=f"Passages that are added; unset, more the higher the severity: none at 0, {MOST} at 1.",
    )
    writer: Writer | None = Field(default=None, description="Chat model that writes the passages to fit the reply.")

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Pass the call on and add the words to its reply. Raises SimulatorFault when the model that writes them fails."""
        observation = await proceed(call.request)
        count = self.count()
        if observation.is_error or not count:
            return observation
        written = await self._written(self.writer, call, observation, count) if self.writer else None
        added = written.value if written is not None and written.value is not None else self.template(call, count)
        changed = placed(observation, added, self.placement, schema=call.request.tool.output_schema)
        return changed if written is None else replace(changed, provenance=written.provenance)

    def count(self) -> int:
        """Return the number of passages."""
        return ceil(MOST * self.severity) if self.passages is None else self.passages

    @abstractmethod
    def template(self, call: Call, count: int) -> str:
        """Return the words in their template form."""

    def material(self, call: Call, count: int) -> JsonObject:
        """Return the material for the model, in addition to the reply."""
        return {"passages": count}

    def check_words(self, text: str, call: Call) -> None:
        """Raise a ValueError for a model's words that are not what this perturbation needs.

        Here: words without figures, which cannot pass for a fact of the reply.
        """
        if _DIGIT.search(text):
            raise ValueError("the text holds a figure")

    async def _written(self, writer: Writer, call: Call, observation: Observation, count: int) -> Written[str]:
        # The beginning shows subject and tone; a whole reply could cost as many tokens as the agent's own context.
        material = {"tool": call.request.tool.name, "reply": observation.text[:3000], **self.material(call, count)}
        check = partial(self.check_words, call=call)
        return await writer.write_text(
            self.source, task=self.task, material=material, check=check, longest=1200 * count
        )


def topic_of(call: Call) -> str:
    """Return the topic of a call, in a word or two: its longest textual argument without figures, else its server or
    its tool's noun.
    """
    given = [value for value in _texts(call.request.arguments) if not _DIGIT.search(value) and 3 <= len(value) <= 40]
    tool = call.request.tool
    # The longest text says most about the subject: short ones are modes and flags.
    return max(given, key=len) if given else tool.server or tool_words(tool.name).noun.replace("_", " ") or "this"


def _texts(arguments: JsonObject) -> list[str]:
    return [value for value in arguments.values() if isinstance(value, str)]
