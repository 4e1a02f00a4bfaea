"""Use the web one call at a time: search and visit through the tools that an environment offers, within a budget."""

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from simtrain.agents.planned import Planned
from simtrain.agents.searching.pages import OpenedPage
from simtrain.agents.skills.doubts import is_walled
from simtrain.agents.skills.messages import plain_texts
from simtrain.agents.skills.moved import MOST, followed
from simtrain.agents.skills.stand_ins import stand_ins
from simtrain.questions.browser import Tooling
from simtrain.values.errors import AgentFault, InputError
from simtrain.values.json_walk import children
from simtrain.values.types import JsonValue, Observation, ToolSpec, is_object

T = TypeVar("T")
Reading: TypeAlias = Generator[Planned, Observation, T]

_BLOCK: Final = re.compile(r"^Title: (.*)\nDescription: (.*)\nURL: (https?://\S+)$", re.MULTILINE)
_LISTED: Final = re.compile(r"\[([^\]]+)\]\((https?://[^)\s]+)\)")


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A result of a search."""

    title: str
    url: str
    snippet: str


class WebReader:
    """Searches and opens pages, each page once. Beyond the budget it finds nothing."""

    def __init__(self, tools: tuple[ToolSpec, ...], *, budget: int) -> None:
        """Raises AgentFault if no tool searches or none opens pages."""
        try:
            self._tooling = Tooling(tools)
        except InputError as error:
            raise AgentFault(str(error)) from None
        self.left = budget
        self._tools = {tool.name: tool for tool in tools}
        self._pages: dict[str, OpenedPage | None] = {}

    def search(self, query: str) -> Reading[list[SearchResult]]:
        """Return the results for a query; none once the budget is spent."""
        if self.left <= 0:
            return []
        self.left -= 1
        call = self._tooling.search_call(query)
        observation = yield Planned(call.tool, call.arguments)
        if observation.is_error:
            return []
        found = list(_hits(observation.content))
        blocks = [SearchResult(title, url, snippet) for title, snippet, url in _BLOCK.findall(observation.text)]
        # Servers answer with JSON, with blocks of Title, Description and URL, or with Markdown links.
        return found or blocks or [SearchResult(title, url, "") for title, url in _LISTED.findall(observation.text)]

    def open(self, url: str) -> Reading[OpenedPage | None]:
        """Return a page with all its parts; None if it cannot be opened or the budget is spent."""
        # A page that could not be opened is not tried again: the budget is for others.
        if url in self._pages:
            return self._pages[url]
        page: OpenedPage | None = None
        part = 1
        while self.left > 0:
            call = self._tooling.open_call(url, part)
            if call is None:
                break
            observation = yield from self._visited(Planned(call.tool, call.arguments))
            if observation.is_error:
                break
            content = observation.content or {}
            # The body under whatever name the server gives it; all other texts of a page are shorter.
            text = max(plain_texts(content), key=len, default="") or observation.text
            date = str(content.get("date") or "")
            page = OpenedPage(url, str(content.get("title") or ""), date, f"{page.text}\n{text}" if page else text)
            part += 1
            pages = content.get("pages")
            if not isinstance(pages, int) or part > pages:
                break
        self._pages[url] = page
        return page

    def _visited(self, visit: Planned) -> Reading[Observation]:
        """Return a page, following redirects; for one behind a paywall, the full copy that another tool shows, if one does."""
        observation = yield from self._asked(visit)
        for _ in range(MOST):
            onward = followed(visit, observation.text) if observation.is_error and self.left > 0 else None
            if onward is None:
                break
            visit = onward
            observation = yield from self._asked(visit)
        if observation.is_error or not is_walled(observation):
            return observation
        for copy in stand_ins(visit, self._tools, named=()):
            reply = (yield from self._asked(copy)) if self.left > 0 else observation
            if not reply.is_error and not is_walled(reply):
                return reply
        return observation

    def _asked(self, planned: Planned) -> Reading[Observation]:
        self.left -= 1
        return (yield planned)


def _hits(value: JsonValue) -> Iterator[SearchResult]:
    """Yield every object in a reply that has a title and a URL."""
    if is_object(value):
        url = value.get("url") or value.get("link")
        if isinstance(url, str) and isinstance(value.get("title"), str):
            snippet = value.get("snippet") or value.get("content") or value.get("text") or ""
            yield SearchResult(str(value["title"]), url, str(snippet))
            return
    for item in children(value):
        yield from _hits(item)
