"""The toolset `widesearch`: search_global and text_browser_view, the names that the agents of the WideSearch benchmark call."""

from __future__ import annotations

from typing import cast

from simtrain.handler import Reply
from simtrain.types import JsonObject
from simtrain.worlds.search.extracting import Failure
from simtrain.worlds.search.toolsets.tool import Engine, SearchTool, arguments_of, failed
from simtrain.worlds.search.toolsets.web import page_text, told, written


def _search(engine: Engine, arguments: JsonObject) -> Reply:
    query = cast(str, arguments["query"])
    offset = cast(int, arguments.get("offset", 0))
    results = engine.search(query, count=cast("int | None", arguments.get("count")), offset=offset)
    content: JsonObject = {"query": query, "offset": offset, "results": told(results)}
    return Reply(written(content), content)


def _view(engine: Engine, arguments: JsonObject) -> Reply:
    page = engine.visit(cast(str, arguments["url"]), goal=cast(str, arguments.get("description") or ""))
    if isinstance(page, Failure):
        return failed(page)
    content: JsonObject = {"url": page.url, "title": page.title, "date": page.date, "content": page.text}
    return Reply(page_text(content), content)


WIDESEARCH = (
    SearchTool(
        "search_global",
        "Search the whole web for a query; returns the best results with title, url, date and a summary.",
        arguments_of(
            ("query",),
            query={"type": "string", "minLength": 1, "description": "What to search for."},
            count={"type": "integer", "minimum": 1, "maximum": 50, "description": "How many results to return."},
            offset={"type": "integer", "minimum": 0, "default": 0, "description": "How many results to pass over."},
        ),
        _search,
        title="Global search",
        tell=written,
    ),
    SearchTool(
        "text_browser_view",
        "Open a link and return what its page says about the description of what is wanted.",
        arguments_of(
            ("url",),
            url={"type": "string", "minLength": 1, "description": "The whole link, beginning with http."},
            description={"type": "string", "description": "What information is wanted from the page."},
        ),
        _view,
        title="Text browser",
        tell=page_text,
    ),
)
