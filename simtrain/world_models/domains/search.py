"""The search domain: how calls that search and read a web, and their results, are written for a language world model."""

from collections.abc import Iterator
from typing import ClassVar

from simtrain.contracts.drawing import Drawing, PageDrawing
from simtrain.contracts.request import Request
from simtrain.values.types import Action, JsonObject, JsonValue, Observation, canonical, is_list, is_object
from simtrain.world_models.domains.mcp import ERROR, McpDomain
from simtrain.world_models.domains.predictions import HEADER
from simtrain.worlds.search.engine.page_opening import normal_url

_TASK = f"""\
You are the web as an agent meets it that searches and reads: a search engine, the pages that it finds, and a notebook. For each
call you write exactly what the tool would return, and nothing else. This web is invented. It tells of a closed world of its own;
nothing of the real world appears in it, no real person, company, place, site or date of today.

How to answer:
- Begin with the line {HEADER} and put the result below it: one JSON object that fits the result schema of the tool, or text where
  it has none. No thinking, no comment, no code fence.
- What is declared below is true, and all of it can be found on some page. Beyond it you may invent freely: people, figures, sites,
  pages. What you have once said stays so, on every page and in every snippet; a value that two pages tell is the same value,
  unless one of them is older and says so.
- A search returns at most ten results, each with url, title, snippet and date, the fitting ones first. Where nothing fits it returns
  fewer, or none. Snippets are cut from the page: they show what it is about and seldom hold the whole answer; pages do.
- URLs are whole (https://...), under the sites that are declared, or under invented ones that end in .example or .test. The same
  URL is always the same page: a page that a search has shown can be opened, has the title and the date that were shown, and
  contains the words of its snippet.
- A page is markdown of a length that is natural for it, with links to other pages of this web. With a goal, give what the page says
  about that goal, and nothing that it does not say.
- A URL that no page could have, an unknown site or a broken link returns one line that begins with "{ERROR.strip()}" and says why.
- The notebook keeps what it is given, word by word.
Never mention that the web is simulated."""


class SearchDomain(McpDomain):
    """Searching and reading a web: the same query and the same page read the same throughout an episode."""

    task: ClassVar[str] = _TASK
    volatile: ClassVar[tuple[str, ...]] = (
        "snippet",
        "content",
        "text",
        "raw_content",
        "description",
        "markdown",
        "position",
        "pages",
    )

    def settled(self, request: Request) -> str | None:
        """Return the key of a settled call: a search by its words, a page by its normalised URL; None for notes, which may change."""
        if request.tool.writes:
            return None
        return canonical(
            [request.tool.name, {name: _resolved(value) for name, value in request.arguments.items()}]
        ).decode()

    def parse(self, text: str, request: Request) -> Observation:
        """Return the observation in a prediction.

        Raises ValueError with the reason for anything that the MCP domain refuses, for a malformed URL, for a URL that occurs twice
        among the results, and for a page of another site than the requested one.
        """
        observation = super().parse(text, request)
        if observation.content is not None:
            self._check(observation.content, request)
        return observation

    def draw(self, action: Action, observation: Observation) -> Drawing:
        """Return a page as a page, and anything else as usual."""
        content = observation.content or {}
        body = next(
            (content[key] for key in ("markdown", "content", "text") if isinstance(content.get(key), str)), None
        )
        if body is None or not isinstance(content.get("url"), str):
            return super().draw(action, observation)
        return [PageDrawing(str(content.get("title") or content["url"]), content["url"], body)]

    def _check(self, content: JsonObject, request: Request) -> None:
        for urls in _url_lists(content):
            for place, url in enumerate(urls):
                if "://" not in url or normal_url(url) is None:
                    raise ValueError(f"{url!r} is not a complete URL")
                if url in urls[:place]:
                    raise ValueError(f"the URL {url} appears twice among the results")
        requested, shown = request.arguments.get("url"), content.get("url")
        if isinstance(requested, str) and isinstance(shown, str):
            wanted, given = normal_url(requested), normal_url(shown)
            # The path may differ, as after a redirect within a site.
            if wanted is not None and given is not None and wanted[0] != given[0]:
                raise ValueError(f"the page asked for is on {wanted[0]}, not on {given[0]}")


def _resolved(value: JsonValue) -> JsonValue:
    # Two spellings of a URL are the same page; a query without a slash is compared as it is.
    place = normal_url(value) if isinstance(value, str) and "/" in value else None
    return list(place) if place else value


def _url_lists(value: JsonValue) -> Iterator[list[str]]:
    """Yield, for every list in a value, the URLs of its objects."""
    if is_object(value):
        for item in value.values():
            yield from _url_lists(item)
    elif is_list(value):
        items = [item for item in value if is_object(item)]
        yield [item["url"] for item in items if isinstance(item.get("url"), str)]
        for item in items:
            yield from _url_lists(item)
