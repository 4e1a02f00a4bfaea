"""The YAML of what a site's pages share: voices, navigation, comments, a footer, copies of another site's pages."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field, model_validator

from simtrain.files.file_model import FileModel
from simtrain.worlds.search.spec.parts import Name, Share

Wordings: TypeAlias = Annotated[list[str], Field(min_length=1)]
Navigation: TypeAlias = dict[str, str]
"""Text of a link -> the label of the list or home page that it leads to."""


class Voice(FileModel):
    """An author of pages of a site: how many are theirs, and their phrases."""

    share: int = Field(
        default=1, ge=1, le=20, description="How many pages are theirs, beside the shares of the others."
    )
    says: dict[Name, Wordings] = Field(
        default_factory=dict[str, "Wordings"], description="What {{ voice.NAME }} stands for: one of these phrases."
    )


class CommentsSpec(FileModel):
    """Comments of readers under pages."""

    heading: str = "Comments"
    share: Share = Field(default=0.5, description="The share of these pages that have any.")
    most: int = Field(default=3, ge=1, le=10, description="How many a page has at most.")
    readers: Wordings
    under: dict[Name, Wordings] = Field(
        min_length=1,
        description="The label of pages of single rows -> what may be said under them, written as paragraphs are.",
    )


class NearDuplicate(FileModel):
    """Near copies of another site's pages, dated by this site and stating the facts as this site knows them."""

    of: Annotated[
        str, Field(pattern=r"^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$", description="A site, and a label of its pages.")
    ]
    share: Share = Field(description="The share of those pages that is copied.")
    url: str
    as_: Name = Field(default="copies", alias="as", description="The name by which links refer to the copies.")
    kind: str = "copy"
    note: str | Wordings = Field(description="The text below a copy.")


class Settings(FileModel):
    """Settings that all pages of a site share."""

    voices: dict[Name, Voice] = Field(
        default_factory=dict[str, Voice], description="Who writes its pages: each page is one voice's from end to end."
    )
    navigation: Navigation = Field(
        default_factory=dict[str, str], description="Links under every page: what they say, and the label they lead to."
    )
    footer: str | None = Field(default=None, description="The last paragraph of every page.")
    comments: CommentsSpec | None = None
    near_duplicates: list[NearDuplicate] = Field(default_factory=list[NearDuplicate])

    @model_validator(mode="after")
    def _agree(self) -> Settings:
        # A page's voice is drawn, so any of them may have to fill any `{{ voice.NAME }}`.
        known = {name for voice in self.voices.values() for name in voice.says}
        for name, voice in self.voices.items():
            missing = sorted(known - voice.says.keys())
            if missing:
                raise ValueError(f"the voice {name!r} has no phrase for {missing[0]!r}, and another one has")
        return self
