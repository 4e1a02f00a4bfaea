"""The knobs of a search world: a world file sets them, and a scenario overrides them with `world: {use: NAME, with: {...}}`."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, model_validator

from simtrain.files.file_model import Duration, FileModel, short_for
from simtrain.files.yaml_files import Document, Place
from simtrain.values.seeding import draw
from simtrain.values.types import JsonObject, is_object

Leak: TypeAlias = Literal["tease", "normal", "full"]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Condition: TypeAlias = Literal["dead", "moved", "paywall", "slow", "broken", "sound"]

CONDITIONS: tuple[Condition, ...] = ("dead", "moved", "paywall", "slow", "broken")


class Upkeep(FileModel):
    """The shares of a site's pages that are dead, moved, behind a paywall, slow and broken."""

    dead: Share = 0.0
    moved: Share = Field(default=0.0, description="Redirected to another address of the same site.")
    paywall: Share = Field(default=0.0, description="Only the beginning is to be read.")
    slow: Share = Field(default=0.0, description="Takes `delay` of virtual time.")
    broken: Share = Field(default=0.0, description="Arrives as scraps of markup.")
    delay: Duration = Field(default="20s", description="How long a slow page takes.")

    @model_validator(mode="after")
    def _fits(self) -> Upkeep:
        if self.dead + self.moved + self.paywall + self.slow + self.broken > 1:
            raise ValueError("the shares of a site's pages add up to more than 1")
        return self

    def condition(self, seed: int, url: str) -> Condition:
        """Return the condition of a page; it depends on seed and URL alone."""
        mark = draw(seed, "condition", url)
        # One draw against stacked shares in a fixed order: raising `slow` leaves the dead and moved pages as they are.
        for condition in CONDITIONS:
            mark -= getattr(self, condition)
            if mark < 0:
                return condition
        return "sound"


class ToolRename(FileModel):
    """New names for a tool, its arguments and the fields of its reply."""

    name: str | None = Field(default=None, alias="as", pattern=r"^[A-Za-z][A-Za-z0-9_-]*$", max_length=128)
    description: str | None = None
    arguments: dict[str, str] = Field(default_factory=dict, description="Argument as it is -> as it shall be called.")
    results: dict[str, str] = Field(default_factory=dict, description="Field of the reply -> what it shall be called.")
    text: str | None = Field(default=None, description="Jinja over the reply's fields: the text that the agent reads.")


class ToolsetUse(FileModel):
    """A toolset, with its tools renamed or not."""

    use: str
    rename: dict[str, ToolRename] = Field(default_factory=dict[str, ToolRename])


class View(FileModel):
    """The knobs of a search world. None changes a fact or a page, so that one built file serves all views."""

    snippets: Leak | dict[Leak, Annotated[float, Field(ge=0)]] = Field(
        default="normal",
        description="What snippets give away: `tease` no value at all, `normal` the passage that fits the query, `full` the passage with"
        " most facts; or shares of the three, drawn for each question (outside of questions, for each query).",
    )
    spelling: Literal["mended", "exact"] = Field(
        default="mended",
        description="Whether a search takes plurals, joined and misspelt names, and codes without their dashes for what was probably"
        " meant, and says so, or finds nothing for them.",
    )
    results: int = Field(default=10, ge=1, le=50, description="Results of a search.")
    page_words: int = Field(default=1500, ge=50, le=20_000, description="Words of a document beyond which it is paged.")
    # Editors check files by the JSON Schema, which must therefore show the short form as well.
    tools: tuple[Annotated[ToolsetUse, short_for("use", str, str | ToolsetUse)], ...] = Field(
        default=(ToolsetUse(use="web"), ToolsetUse(use="memory")), min_length=1
    )
    upkeep: Upkeep | None = Field(default=None, description="The upkeep of all sites that `sites` does not name.")
    sites: dict[str, Upkeep] = Field(default_factory=dict[str, Upkeep], description="Site -> its upkeep.")

    @model_validator(mode="after")
    def _has_shares(self) -> View:
        if is_object(self.snippets) and sum(self.snippets.values()) <= 0:
            raise ValueError("the shares of snippets add up to nothing")
        return self

    def upkeep_of(self, site: str) -> Upkeep:
        """Return the upkeep of a site."""
        return self.sites.get(site) or self.upkeep or Upkeep()

    def leak(self, seed: int, identity: str) -> Leak:
        """Return what snippets give away for one question (or query), drawn by shares from its identity."""
        if isinstance(self.snippets, str):
            return self.snippets
        mark = draw(seed, "snippets", identity) * sum(self.snippets.values())
        for leak, share in self.snippets.items():
            mark -= share
            if mark < 0:
                return leak
        # Rounding may leave a mark above the last share.
        return next(reversed(self.snippets))

    def configured(self, document: Document, knobs: JsonObject, place: Place) -> View:
        """Return the view with the knobs of a scenario over its own. Raises InputError with their place in the scenario."""
        own = self.model_dump(mode="json", by_alias=True, exclude_unset=True)
        return document.parse(View, {**own, **knobs}, place)
