"""The toolset `serper`: google_search and scrape with the arguments and the JSON of Serper's API (https://serper.dev)."""

from __future__ import annotations

from typing import cast

from simtrain.handler import Reply
from simtrain.types import JsonObject, encode
from simtrain.worlds.search.extracting import Failure
from simtrain.worlds.search.snippets import plain
from simtrain.worlds.search.toolsets.tool import Engine, SearchTool, arguments_of, failed


def _search(engine: Engine, arguments: JsonObject) -> Reply:
    query, count = cast(str, arguments["q"]), cast(int, arguments.get("num", engine.results))
    first = (cast(int, arguments.get("page", 1)) - 1) * count
    organic: list[JsonObject] = [
        {
            "title": item.title,
            "link": item.url,
            "snippet": item.snippet,
            **({"date": item.date} if item.date else {}),
            "position": position,
        }
        for position, item in enumerate(engine.search(query, count=count, offset=first), first + 1)
    ]
    asked = {name: value for name, value in arguments.items() if value is not None}
    content: JsonObject = {
        "searchParameters": {**asked, "type": "search", "engine": "google"},
        "organic": organic,
        "credits": 1,
    }
    return Reply(encode(content), content)


def _scrape(engine: Engine, arguments: JsonObject) -> Reply:
    page = engine.visit(cast(str, arguments["url"]))
    if isinstance(page, Failure):
        return failed(page)
    bare = "\n".join(filter(None, (plain(line) for line in page.text.split("\n"))))
    content: JsonObject = {
        "text": bare,
        **({"markdown": page.text} if arguments.get("includeMarkdown") else {}),
        "metadata": {"title": page.title, "url": page.url, **({"date": page.date} if page.date else {})},
        "credits": 2,
    }
    return Reply(encode(content), content)


SERPER = (
    SearchTool(
        "google_search",
        "Search the web through the Serper API; returns organic results as JSON.",
        arguments_of(
            ("q",),
            q={"type": "string", "minLength": 1, "description": "The search query."},
            gl={"type": "string", "description": "Country of the search, such as us."},
            hl={"type": "string", "description": "Language of the search, such as en."},
            location={"type": "string", "description": "Place from which is searched."},
            num={"type": "integer", "minimum": 1, "maximum": 50, "description": "Number of results."},
            page={"type": "integer", "minimum": 1, "default": 1, "description": "Page of the results."},
            tbs={"type": "string", "description": "Time filter."},
            autocorrect={"type": "boolean"},
        ),
        _search,
        title="Google search",
    ),
    SearchTool(
        "scrape",
        "Fetch a web page through the Serper API; returns its text, and its markdown when asked to.",
        arguments_of(
            ("url",),
            url={"type": "string", "minLength": 1, "description": "The URL of the page."},
            includeMarkdown={"type": "boolean", "default": False},
        ),
        _scrape,
        title="Scrape",
    ),
)
