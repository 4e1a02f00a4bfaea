"""The words of composed questions, one file for each language."""

from functools import cache
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import BeforeValidator

from simtrain.contracts.question import Language
from simtrain.files.file_model import FileModel
from simtrain.files.yaml_files import read_document

Styles: TypeAlias = Annotated[list[str], BeforeValidator(lambda given: [given] if isinstance(given, str) else given)]


class ColumnWords(FileModel):
    """The words for the required table and its columns."""

    table: Styles
    means: str
    meanings: Styles
    single: Styles
    separator: str
    rules: Styles
    truth: Styles
    unit: str
    count: str
    sum: str
    mean: str
    by_site: str
    site: str


class ConditionJoins(FileModel):
    """The words between conditions: between two, between several, and before the last of several."""

    two: str
    between: str
    last: str

    def joined(self, parts: list[str]) -> str:
        """Return the parts as one list."""
        if len(parts) < 3:
            return self.two.join(parts)
        return f"{self.between.join(parts[:-1])}{self.last}{parts[-1]}"


class Wordings(FileModel):
    """The words of one language."""

    language: Language
    asks: dict[str, Styles]
    things: str
    ever: str
    joins: ConditionJoins
    listed: str
    of: str
    beyond: str
    own: str
    far: str
    itself: str
    many: str
    forms: dict[str, tuple[str, str]]
    conditions: dict[str, Styles]
    ends: dict[str, str]
    columns: ColumnWords
    abstain: Styles
    terms: dict[str, str]

    def inflected(self, *, plural: bool) -> dict[str, str]:
        """Return the verbs in the form that goes with one thing, or with several."""
        return {verb: forms[plural] for verb, forms in self.forms.items()}

    def chain(self, parts: list[str]) -> str:
        """Return the phrase for the end of a path of labels: `operator`, `station's operator`, `seat of the station's
        operator`.
        """
        text = parts[0]
        for place, part in enumerate(parts[1:]):
            text = (self.beyond if place else self.of).format(first=text, second=part)
        return text


@cache
def wordings(language: Language) -> Wordings:
    """Return the shipped words of a language."""
    document = read_document(Path(__file__).parent / f"{language}.yaml")
    return document.parse(Wordings, {**document.data, "language": language})
