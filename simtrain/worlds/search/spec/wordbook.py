"""The YAML of words in other languages."""

from typing import Literal, TypeAlias

from pydantic import Field

from simtrain.files.file_model import FileModel
from simtrain.worlds.search.spec.parts import Name


class LanguageWords(FileModel):
    """The words of one language. Pages are in English, so English needs only those that would read badly in a question."""

    types: dict[Name, str | tuple[str, str]] = Field(
        default_factory=dict[str, str | tuple[str, str]],
        description="What a row is called; with a plural, if it has one.",
    )
    labels: dict[str, str] = Field(
        default_factory=dict[str, str],
        description="type.attribute: what it is called in a sentence; of a flag, what one has where it is true.",
    )
    units: dict[str, str] = Field(default_factory=dict[str, str], description="Units and currencies.")
    values: dict[str, dict[str, str]] = Field(
        default_factory=dict[str, dict[str, str]], description="type.attribute: its categories."
    )


Wordbook: TypeAlias = dict[Literal["en", "zh"], LanguageWords]
