"""The contract of action spaces: the tools that an agent is shown, and how a call of one is played in the browser."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from simtrain.contracts.request import Request
from simtrain.values.types import JsonObject, Observation, ToolSpec
from simtrain.worlds.app.browser.browser import AppBrowser


class ActionSpace(ABC):
    """One way to act on pages. `stylesheets` are those of the site, by address."""

    tools: ClassVar[tuple[ToolSpec, ...]]
    descriptors: ClassVar[Mapping[str, JsonObject]] = MappingProxyType({})
    """Tool name -> fields of its MCP descriptor that a ToolSpec lacks."""

    def __init__(self, stylesheets: Mapping[str, str]) -> None:
        self.stylesheets = stylesheets

    @abstractmethod
    def answer(self, browser: AppBrowser, request: Request, *, now: str) -> Observation:
        """Play a call in the browser and return what the agent gets to read; `now` is virtual time."""
