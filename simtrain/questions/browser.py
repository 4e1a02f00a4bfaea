"""A world's search and page tools as a plan calls them: finds the tools, calls them, and caches their replies."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from simtrain.contracts.request import Request
from simtrain.contracts.world import World
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue, Observation, ToolSpec, is_list, is_object
from simtrain.worlds.search.toolsets.web import WEB
from simtrain.worlds.search.world import SearchWorld

_QUERY: Final = ("query", "q", "search_query", "keywords", "question")
_ADDRESS: Final = ("url", "urls", "id", "link", "address", "href")
_WHOLE: Final[JsonObject] = {"includeMarkdown": True, "max_length": 1_000_000}
"""Arguments that make a page tool return the whole page, if it has them."""

MOST_PARTS: Final = 40

# The last character is no punctuation: that belongs to the sentence around a URL.
_ADDRESSES: Final = re.compile(r"https?://[^\s)\]>\"'|]*[^\s)\]>\"'|.,;:]")


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call that a plan will make."""

    tool: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class Visit:
    """An opened page: the calls that open its parts, and the replies as a plan reads them."""

    calls: tuple[PlannedCall, ...]
    replies: tuple[JsonValue, ...]
    addresses: tuple[frozenset[str], ...]
    """The URLs in each reply."""
    texts: tuple[tuple[str, str], ...]
    """The longest text in each reply, with the path of an expression to it."""


class Tooling:
    """The search tool and the page tool among some tools, and how to call them."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        """Raises InputError if no tool searches or no tool opens pages."""
        self.searching, self._query = _tool(tools, _QUERY, "searches")
        self.opening, self._address = _tool(tools, _ADDRESS, "opens pages")

    def search_call(self, query: str) -> PlannedCall:
        """Return the call that searches for a query."""
        return PlannedCall(self.searching.name, {self._query: _fit(self.searching, self._query, query)})

    def open_call(self, url: str, part: int = 1) -> PlannedCall | None:
        """Return the call that opens a page or a further part of it; None if the tool has no parts."""
        properties = self.opening.input_schema.get("properties", {})
        arguments: JsonObject = {self._address: _fit(self.opening, self._address, url)}
        if part > 1:
            if "page" not in properties:
                return None
            arguments["page"] = part
        arguments.update({name: value for name, value in _WHOLE.items() if name in properties})
        return PlannedCall(self.opening.name, arguments)


class Browser:
    """Searches and opens pages through the world's tools. Each call is made once and cached."""

    def __init__(self, world: World) -> None:
        """Raises InputError for a world without a search tool or a page tool."""
        self.world = world
        self.tooling = Tooling(world.tools)
        self.search_call = self.tooling.search_call
        self._state = world.open()
        # Caches of the instance: one on the method would keep every browser, and its world, alive.
        self.search = lru_cache(maxsize=50_000)(self._searched)
        self.visit = lru_cache(maxsize=20_000)(self._visited)

    def _searched(self, query: str) -> frozenset[str]:
        """Return the URLs in the results for a query; none if the tool reports an error."""
        if isinstance(self.world, SearchWorld) and self.tooling.searching.name == WEB[0].name:
            return self._ranked(self.world, query)
        observation = self._answer(self.tooling.searching, self.search_call(query))
        return frozenset() if observation.is_error else addresses(_seen(observation))

    @staticmethod
    def _ranked(world: SearchWorld, query: str) -> frozenset[str]:
        """Return the URLs that `web_search` finds, without making snippets, which would take longer than the search."""
        hits = world.web.ranking.top(query, count=world.view.results)
        return frozenset(world.web.page(hit.page).url for hit in hits)

    def _visited(self, url: str) -> Visit | None:
        """Return a page with all parts; None if it cannot be opened."""
        calls, replies = list[PlannedCall](), list[JsonValue]()
        for part in range(1, MOST_PARTS + 1):
            call = self.tooling.open_call(url, part)
            if call is None:
                break
            observation = self._answer(self.tooling.opening, call)
            if observation.is_error:
                break
            reply = _seen(observation)
            calls.append(call)
            replies.append(reply)
            if part >= _parts(reply):
                break
        if not calls:
            return None
        return Visit(tuple(calls), tuple(replies), tuple(map(addresses, replies)), tuple(map(_longest, replies)))

    def _answer(self, tool: ToolSpec, call: PlannedCall) -> Observation:
        return self._state.answer(Request(tool, call.arguments, 0, 0))


def _fit(tool: ToolSpec, argument: str, value: str) -> JsonValue:
    schema = tool.input_schema["properties"][argument]
    return [value] if schema.get("type") == "array" else value


def _tool(tools: Sequence[ToolSpec], arguments: Sequence[str], purpose: str) -> tuple[ToolSpec, str]:
    # By preference, not by the order of tools: a tool with `query` is likelier to search than one with `q`.
    for argument in arguments:
        for tool in tools:
            if argument in tool.input_schema.get("properties", {}):
                return tool, argument
    raise InputError(
        f"the world offers no tool that {purpose}", remedy="give it a toolset such as `web`", place="tools"
    )


def _seen(observation: Observation) -> JsonObject:
    """Return a reply as a plan sees it."""
    content = observation.content
    return {"text": observation.text} if content is None else content


def _parts(reply: JsonObject) -> int:
    pages = reply.get("pages")
    return pages if isinstance(pages, int) else 1


def _longest(reply: JsonValue) -> tuple[str, str]:
    return max(texts(reply), key=lambda item: len(item[1]), default=("", ""))


def addresses(reply: JsonValue) -> frozenset[str]:
    """Return the URLs in a reply."""
    return frozenset(found for _, text in texts(reply) for found in _ADDRESSES.findall(text))


def texts(reply: JsonValue, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text in a reply, with the path of an expression to it."""
    if isinstance(reply, str):
        yield path, reply
    elif is_list(reply):
        for index, item in enumerate(reply):
            yield from texts(item, f"{path}[{index}]")
    elif is_object(reply):
        for name, item in reply.items():
            # A plan's expressions reach members by dots, so that other keys cannot be named.
            if name.isidentifier():
                yield from texts(item, f"{path}.{name}")
