"""The YAML of disputes: which sites disagree, and what decides which of them is right."""

from __future__ import annotations

from pydantic import Field, model_validator

from simtrain.files.file_model import FileModel
from simtrain.worlds.search.spec.parts import Name


class DisputesSpec(FileModel):
    """Rule -> the facts that it decides, as type.attribute. No site has a fact wrong that is under no rule."""

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
                raise ValueError(f"{path} stands under two rules; keep one")
            seen.add(path)
        return self

    def paths(self) -> list[str]:
        """Return all facts that are under a rule."""
        return [*self.recency, *self.majority, *self.erratum, *(path for of in self.primary.values() for path in of)]
