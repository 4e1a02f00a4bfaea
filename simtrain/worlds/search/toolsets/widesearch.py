"""The toolset `widesearch`: search_global and text_browser_view, with the arguments and replies of the WideSearch benchmark's tools."""

from simtrain.contracts.handler import Reply
from simtrain.values.types import JsonObject, object_schema
from simtrain.worlds.search.toolsets.tool import Engine, SearchTool
from simtrain.worlds.search.toolsets.web import as_objects, instead, instead_text, objects, page_text


def _search(engine: Engine, arguments: JsonObject) -> Reply:
    query, count = arguments["query"], arguments.get("count")
    found = engine.search(query, count=count, long=arguments.get("summary_type") == "long")
    results = [{**item, "site": result.site} for item, result in zip(as_objects(found), found, strict=True)]
    content: JsonObject = {"query": query, **instead(engine, query), "results": results}
    return Reply(_written(content), content)


def _written(content: JsonObject) -> str:
    """Return the results of a search as the benchmark's tools write them."""
    # `snippt` is how the benchmark spells it.
    shown = {"title": "title", "datePublished": "date", "siteName": "site", "Url": "url", "snippt": "snippet"}
    sections = [
        "\n".join([f"[index] {number}", *(f"[{label}] {item.get(name) or ''}" for label, name in shown.items())])
        for number, item in enumerate(objects(content, "results"), 1)
    ]
    return "\n\n".join((*instead_text(content), *sections))


def _view(engine: Engine, arguments: JsonObject) -> Reply:
    page = engine.visit(arguments["url"], goal=arguments.get("description") or "")
    content: JsonObject = {"url": page.url, "title": page.title, "date": page.date, "content": page.text}
    return Reply(page_text(content), content)


WIDESEARCH = (
    SearchTool(
        "search_global",
        "Search the whole web for a query; returns the best results with title, url, date and a summary.",
        object_schema(
            ("query",),
            query={"type": "string", "minLength": 1, "description": "What to search for."},
            count={"type": "integer", "minimum": 1, "maximum": 200, "description": "How many results to return."},
            summary_type={"type": "string", "enum": ["short", "long"], "default": "short"},
            use_english={"type": "boolean", "default": False, "description": "Whether to search in English."},
        ),
        _search,
        title="Global search",
        tell=_written,
    ),
    SearchTool(
        "text_browser_view",
        "Open a link and return what its page says about the description of what is wanted.",
        object_schema(
            ("url",),
            url={"type": "string", "minLength": 1, "description": "The whole link, beginning with http."},
            description={"type": "string", "description": "What information is wanted from the page."},
        ),
        _view,
        title="Text browser",
        tell=page_text,
    ),
)
