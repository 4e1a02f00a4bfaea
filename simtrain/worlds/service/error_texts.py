"""The error texts of a service world's servers, as written in its file."""

from string import Formatter
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field, TypeAdapter

from simtrain.contracts.argument_mistakes import Kind
from simtrain.contracts.refusal_words import SLOTS
from simtrain.contracts.world import ErrorStyle
from simtrain.files.file_model import FileModel


def _text_with(*fields: str) -> AfterValidator:
    """Return a validator for texts with these fields only. Plain str.format could reach into objects or pad to gigabytes."""

    def check(text: str) -> str:
        try:
            parts = list(Formatter().parse(text))
        except ValueError as error:
            raise ValueError(f"the text cannot be filled in: {error}") from None
        for _, name, layout, conversion in parts:
            if name is not None and (name not in fields or layout or conversion):
                raise ValueError(
                    f"the text may name {' and '.join(f'{{{known}}}' for known in fields)} only, not {{{name}}}"
                )
        return text

    return AfterValidator(check)


ConstraintText: TypeAlias = Annotated[str, _text_with("what")]


class ConstraintTexts(FileModel):
    """The texts for failed constraints; `{what}` names the columns."""

    unique: ConstraintText = "A record with this {what} already exists."
    check: ConstraintText = "Invalid value for {what}."
    not_null: ConstraintText = "{what} is required."
    foreign_key: ConstraintText = "A referenced record does not exist."


_Spoken: TypeAlias = Annotated[str, _text_with(*SLOTS)]
_OfTool: TypeAlias = Annotated[str, _text_with("tool")]


class SayingText(FileModel):
    """An error text and its condition: all `mistakes` of a call of `tool`, or a single mistake that matches the other keys."""

    text: _Spoken
    channel: Literal["error", "result"] | int = Field(
        default="error", alias="as", description="An error reply, a plain reply, or a JSON-RPC error of this code."
    )
    tool: str | None = None
    mistakes: str | None = None
    kind: Kind | None = None
    field: str | None = None
    wanted: str | None = None
    given: str | None = None


class FrameText(FileModel):
    """How texts about single mistakes are joined: `lead` and `tail` are cut off each, the rest is put around and between them."""

    lead: _OfTool = ""
    tail: _OfTool = ""
    before: _OfTool = ""
    between: _OfTool = "; "
    after: _OfTool = ""


class ErrorTexts(ConstraintTexts):
    """The error texts of a world's servers, before and while a tool runs."""

    unknown_tool: Annotated[str, _text_with("tool")] = "Unknown tool: {tool}"
    unknown_tool_empty: Annotated[str, _text_with("tool")] | None = Field(
        default=None,
        description="What is said of an unknown tool that is called without arguments, where that differs.",
    )
    unknown_tool_as: Literal["error", "result"] | int = Field(
        default="error",
        description="An unknown tool is an error reply, a plain reply, or a JSON-RPC error of this code.",
    )
    bad_arguments: Annotated[str, _text_with("tool", "detail")] = "Invalid arguments for tool {tool}: {detail}"
    bad_arguments_as: Literal["error", "result"] | int = Field(
        default="error",
        description="Bad arguments are answered like unknown tools: so, or as a JSON-RPC error of this code.",
    )
    arguments: str = Field(default="plain", description="The style in which bad arguments are found and worded.")
    sayings: list[SayingText] = Field(
        default_factory=list[SayingText],
        description="The server's own words for mistakes in arguments, the more particular first.",
    )
    stages: list[list[Kind]] = Field(
        default_factory=list[list[Kind]],
        description="In which order it looks for kinds of mistakes; it speaks of the first that it finds.",
    )
    frames: dict[str, FrameText] | None = Field(
        default=None, description="How it speaks of several mistakes of these kinds at once, where it does."
    )

    def style(self) -> ErrorStyle:
        """Return them in the form that the rest of the package uses."""
        fields = self.model_dump()
        return _STYLE.validate_python({**fields, "words": fields})


_STYLE = TypeAdapter(ErrorStyle)
