"""The contract of plans: the steps that solve a task, as written in a scenario file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, TypeAlias

from pydantic import Discriminator, Field, Tag

from simtrain.files.file_model import FileModel
from simtrain.values.passages import Form
from simtrain.values.types import JsonValue, is_object


class _Part(FileModel):
    when: str | None = Field(
        default=None, alias="if", description="Expression; the step is passed over when it is false."
    )


class CallStep(_Part):
    """Call a tool; keep its structured reply."""

    call: str = Field(description="Tool name.")
    arguments: dict[str, JsonValue] = Field(
        default_factory=dict, alias="with", description="Arguments; values may be templates."
    )
    bind: str | None = Field(default=None, alias="as", description="Name for the reply.")
    into: str | None = Field(default=None, description="Name of a list that the reply is appended to.")
    pages: str | None = Field(default=None, description="Follow `next_cursor`, joining the lists found under this key.")


class EachStep(_Part):
    """Carry out steps once for every item of a list."""

    item: str = Field(alias="for", description="Name for the item.")
    items: str = Field(alias="in", description="Expression for the list.")
    steps: list[AnyStep] = Field(alias="do")


class SetStep(_Part):
    """Give names to values."""

    values: dict[str, JsonValue] = Field(alias="set", description="Name to expression or template.")


class ReadStep(_Part):
    """Read a passage from a text in a reply."""

    read: str = Field(description="Expression for the text.")
    after: str = Field(description="The words right before the passage.")
    until: str = Field(default="", description="The words right after it; left out, it goes to the end.")
    form: Form = Field(default="text", description="How it is read: text, number or date.")
    times: float = Field(default=1.0, description="What a number is multiplied by, to be in the unit that is wanted.")
    bind: str = Field(alias="as", description="Name for what was read.")


class AbstainStep(_Part):
    """Decline the task, and stop."""

    abstain: str = Field(description="The reason, a template.")


# Pydantic puts the tags into error locations, so no tag may equal a key of a step.
_TAGS = {"call": "a call", "for": "a loop", "set": "a name", "read": "a passage", "abstain": "an end"}


def _tag(value: Any) -> str:
    keys = value if is_object(value) else getattr(value, "model_fields_set", ())
    return next((tag for key, tag in _TAGS.items() if key in keys), "a call")


AnyStep: TypeAlias = Annotated[
    Annotated[CallStep, Tag("a call")]
    | Annotated[EachStep, Tag("a loop")]
    | Annotated[SetStep, Tag("a name")]
    | Annotated[ReadStep, Tag("a passage")]
    | Annotated[AbstainStep, Tag("an end")],
    Discriminator(_tag),
]


class Plan(FileModel):
    """The steps of a plan and the answer at its end: an expression over the replies of this episode, or a reason to abstain."""

    steps: list[AnyStep] = Field(default_factory=list[AnyStep])
    answer: JsonValue = Field(
        default=None, description="Template over case parameters that the prompt states, and replies."
    )
    abstain: str | None = Field(default=None, description="Template; the plan ends by declining the task.")

    def calls(self) -> Iterator[CallStep]:
        """Yield every call step, nested ones included, in source order."""
        yield from _calls(self.steps)


def _calls(steps: list[AnyStep]) -> Iterator[CallStep]:
    for step in steps:
        if isinstance(step, CallStep):
            yield step
        elif isinstance(step, EachStep):
            yield from _calls(step.steps)
