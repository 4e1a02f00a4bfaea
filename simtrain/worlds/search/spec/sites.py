"""The YAML of sites and pages in a search world file, and of disputes between sites."""

from __future__ import annotations

import re
from typing import TypeAlias

from pydantic import Field, field_validator, model_validator

from simtrain.files.file_model import FileModel
from simtrain.worlds.search.spec.parts import Name, Share, Span
from simtrain.worlds.search.spec.site_settings import Settings, Wordings
from simtrain.worlds.search.spec.view import Upkeep

# RFC 2606: these never resolve, so an agent that leaves the simulation with such a URL reaches nobody.
RESERVED_DOMAINS = ("example", "test", "invalid", "localhost")
_DOMAIN = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]+")


class TableSpec(FileModel):
    """A markdown table of the members of a list, or of the rows of a loop."""

    of: str = "members"
    columns: list[str] = Field(min_length=1)


class SheetSpec(FileModel):
    """A data sheet: one line for each fact, its label and its value."""

    fields: list[str] = Field(min_length=1)


class TablePart(FileModel):
    """A part of a page that is a table."""

    table: TableSpec


class SheetPart(FileModel):
    """A part of a page that is a data sheet."""

    sheet: SheetSpec


Part: TypeAlias = str | Wordings | TablePart | SheetPart


class PageSpec(FileModel):
    """A kind of page: one for each row of a type, the pages of a list, or a home page."""

    for_: Name | None = Field(default=None, alias="for")
    list_: Name | None = Field(default=None, alias="list")
    home: bool = False
    as_: Name | None = Field(default=None, alias="as", description="The name by which links refer to these pages.")
    kind: str | None = None
    url: str = "/"
    title: str | Wordings
    body: list[Part] = Field(min_length=1)
    share: Share = Field(default=1.0, description="The share of rows that the site has a page of.")
    where: str | None = Field(
        default=None, description="SQL over the columns of the row: which rows have a page or are listed."
    )
    by: Name | None = Field(
        default=None, description="An attribute of the listed type: one list for each of its values."
    )
    per_page: int = Field(default=40, ge=2, le=500)
    order: Name = "name"
    descending: bool = False
    date: str | None = Field(default=None, description="A fact that dates the page, such as station.opened+14d.")
    corrections: bool = Field(
        default=False,
        description="A list of the rows of which this site has something wrong that it puts right here.",
    )

    @model_validator(mode="after")
    def _is_one(self) -> PageSpec:
        if (self.for_ is not None) + (self.list_ is not None) + self.home != 1:
            raise ValueError("a page has exactly one of for, list and home")
        if self.by is not None and self.list_ is None:
            raise ValueError("`by` is for lists")
        if self.corrections and (self.list_ is None or self.by is not None or self.where is not None):
            raise ValueError(
                "`corrections` is for lists without `by` and `where`: what is listed follows from `disputes`"
            )
        return self


class SiteSpec(Settings):
    """A web site: its domain, how late and how reliable its knowledge is, and its pages."""

    domain: str
    title: str
    kind: str = "reference"
    lag: Span = "0d"
    reliability: Share = 1.0
    renewed: Span = Field(
        default="720d",
        description="How often its pages are written anew: one without a date of its own is at most so much older than "
        "what the site knows.",
    )
    aliases: Share = Field(
        default=0.0, description="The share of mentions by a former or short name, where there is one."
    )
    upkeep: Upkeep | None = Field(
        default=None, description="Which shares of its pages are dead, moved, slow and the like."
    )
    pages: list[PageSpec] = Field(min_length=1)

    @field_validator("domain")
    @classmethod
    def _is_reserved(cls, value: str) -> str:
        if not _DOMAIN.fullmatch(value) or value.rpartition(".")[2] not in RESERVED_DOMAINS:
            raise ValueError(f"a domain ends in a reserved name: {', '.join('.' + name for name in RESERVED_DOMAINS)}")
        return value


class DisputesSpec(FileModel):
    """Rule -> the facts that it decides, as type.attribute. Sites get only facts wrong that are under a rule."""

    recency: list[str] = Field(default_factory=list[str], description="The page of the latest date is right.")
    majority: list[str] = Field(default_factory=list[str], description="What most sites say is right.")
    erratum: list[str] = Field(
        default_factory=list[str], description="Who had it wrong says so on a page with `corrections: true`."
    )
    primary: dict[Name, list[str]] = Field(
        default_factory=dict[str, "list[str]"], description="Site -> the facts of which it is the source."
    )

    @model_validator(mode="after")
    def _is_clear(self) -> DisputesSpec:
        seen: set[str] = set()
        for path in self.paths():
            if path in seen:
                raise ValueError(f"{path} is under two rules; keep one")
            seen.add(path)
        return self

    def paths(self) -> list[str]:
        """Return all facts that are under a rule."""
        return [*self.recency, *self.majority, *self.erratum, *(path for of in self.primary.values() for path in of)]
