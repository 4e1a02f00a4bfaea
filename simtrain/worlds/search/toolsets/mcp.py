"""The toolset `mcp`: search and fetch by id, the pair of tools that OpenAI's deep research expects of MCP servers."""

from simtrain.contracts.handler import Reply
from simtrain.values.types import JsonObject, arguments_of, encode, object_schema
from simtrain.worlds.search.toolsets.tool import Engine, SearchTool

_TEXT: JsonObject = {"type": "string"}


def _search(engine: Engine, arguments: JsonObject) -> Reply:
    results: list[JsonObject] = [
        {"id": item.url, "title": item.title, "text": item.snippet, "url": item.url}
        for item in engine.search(arguments["query"])
    ]
    content: JsonObject = {"results": results}
    # OpenAI's deep research reads exactly one text item with this JSON; other clients read the structured content.
    return Reply(encode(content), content)


def _fetch(engine: Engine, arguments: JsonObject) -> Reply:
    page = engine.visit(arguments["id"])
    about: JsonObject = {"parts": page.parts, **({"date": page.date} if page.date else {})}
    content: JsonObject = {"id": page.url, "title": page.title, "text": page.text, "url": page.url, "metadata": about}
    return Reply(encode(content), content)


MCP = (
    SearchTool(
        "search",
        "Search for documents. Returns the ids by which `fetch` gets them whole.",
        arguments_of(("query",), query={"type": "string", "minLength": 1, "description": "The search query."}),
        _search,
        object_schema(
            ("results",),
            results={
                "type": "array",
                "items": {"type": "object", "properties": {"id": _TEXT, "title": _TEXT, "text": _TEXT, "url": _TEXT}},
            },
        ),
        title="Search",
    ),
    SearchTool(
        "fetch",
        "Get a document whole by its id.",
        arguments_of(("id",), id={"type": "string", "minLength": 1, "description": "The id from a search."}),
        _fetch,
        object_schema(
            ("id", "title", "text", "url"), id=_TEXT, title=_TEXT, text=_TEXT, url=_TEXT, metadata={"type": "object"}
        ),
        title="Fetch",
    ),
)
