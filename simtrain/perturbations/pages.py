"""Base of perturbations of single pages: whether a page is affected is drawn by its URL when it is first opened, and stays so."""

from abc import abstractmethod
from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Probability, Traits
from simtrain.contracts.request import Answer, Request
from simtrain.perturbations.addresses import opened_by, opens_pages
from simtrain.perturbations.catalogued import Catalogued
from simtrain.values.types import Observation, ToolSpec


class PageTrouble(Catalogued):
    """Affects a share of the pages that are first opened while it fires; they stay affected at later visits."""

    traits: ClassVar[Traits] = Traits(side="reply", layer="P", follows="always")

    share: Probability | None = Field(default=None)

    def reaches(self, tool: ToolSpec) -> bool:
        """True if a tool opens pages."""
        return opens_pages(tool)

    def concerns(self, request: Request) -> bool:
        """True if a call opens pages."""
        return bool(opened_by(request))

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Decide for every page opened for the first time, and show the affected pages in their present form."""
        return await self.visit(call, proceed, share=self.severity / 2 if self.share is None else self.share)

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Show affected pages in their present form; a page opened for the first time is unaffected."""
        return await self.visit(call, proceed, share=0.0)

    @abstractmethod
    async def visit(self, call: Call, proceed: Answer, *, share: float) -> Observation:
        """Open the pages of a call; `share` is the probability for pages opened for the first time."""
