"""The toolsets `web` and `memory`: web_search, web_extractor and dict_memory, as the search agents of Qwen-AgentWorld use them."""

from typing import cast

from simtrain.contracts.handler import Reply, ToolError
from simtrain.values.types import JsonObject, arguments_of, is_list, is_object, object_schema
from simtrain.worlds.search.engine.memory import NEEDED, WRITING
from simtrain.worlds.search.toolsets.tool import Engine, EngineResult, SearchTool

MOST_QUERIES = 10

_TEXT: JsonObject = {"type": "string"}
_DATE: JsonObject = {"type": ["string", "null"]}
_NUMBER: JsonObject = {"type": "integer"}
_RESULT = object_schema(("url", "title", "snippet", "date"), url=_TEXT, title=_TEXT, snippet=_TEXT, date=_DATE)
_RESULTS: JsonObject = {
    "query": _TEXT,
    "no_results_for": _TEXT,
    "showing": _TEXT,
    "results": {"type": "array", "items": _RESULT},
}
_SEARCHES: JsonObject = {"type": "array", "items": object_schema(("query", "results"), **_RESULTS)}

_PAGE = object_schema(
    ("url", "title", "content"), url=_TEXT, title=_TEXT, date=_DATE, page=_NUMBER, pages=_NUMBER, content=_TEXT
)


def as_objects(results: list[EngineResult]) -> list[JsonObject]:
    """Return results as JSON objects."""
    return [{"url": item.url, "title": item.title, "snippet": item.snippet, "date": item.date} for item in results]


def instead(engine: Engine, query: str) -> JsonObject:
    """Return the fields about a corrected query: the words that no page has, and the query searched instead. Else empty."""
    mended = engine.mended(query)
    return {} if mended is None else {"no_results_for": mended.missing, "showing": mended.query}


def instead_text(content: JsonObject) -> list[str]:
    """Return the same as a line of text; none if the query was not corrected."""
    missing, showing = content.get("no_results_for"), content.get("showing")
    return [f"No results for '{missing}'; showing '{showing}'."] if missing and showing else []


def written(content: JsonObject) -> str:
    """Return the results of a search as text, in the form that the search agents of Qwen-AgentWorld read."""
    if "searches" in content:
        return "\n\n=======\n\n".join(written(search) for search in objects(content, "searches"))
    query, results = content.get("query"), objects(content, "results")
    if not results:
        return f"A web search for '{query}' found no results. Try other or fewer words."
    lines = [
        *instead_text(content),
        f"A web search for '{content.get('showing') or query}' found {len(results)} results:",
    ]
    for number, item in enumerate(results, 1):
        lines += ["", f"{number}. [{item.get('title') or ''}]({item.get('url') or ''})"]
        lines += [f"Date published: {item['date']}"] if item.get("date") else []
        lines += [str(item["snippet"])] if item.get("snippet") else []
    return "\n".join(lines)


def objects(content: JsonObject, name: str) -> list[JsonObject]:
    """Return the objects in a list of the content; none if it has no such list."""
    found = content.get(name)
    items = found if is_list(found) else []
    return [item for item in items if is_object(item)]


def _search(engine: Engine, arguments: JsonObject) -> Reply:
    several = arguments.get("queries")
    single = arguments.get("query")
    # Checked here and not by `oneOf`: some model APIs refuse tools with one at the top of their schema.
    if (several is None) == (single is None):
        raise ToolError("web_search takes either 'query' or 'queries'.")
    if several is not None:
        content: JsonObject = {"searches": [_found(engine, query) for query in several]}
        return Reply(written(content), content)
    content = _found(engine, cast(str, single))
    return Reply(written(content), content)


def _found(engine: Engine, query: str) -> JsonObject:
    return {"query": query, **instead(engine, query), "results": as_objects(engine.search(query))}


def page_text(content: JsonObject) -> str:
    """Return a page as text: title, URL, date and part, then its markdown."""
    head = [f"Title: {content.get('title') or ''}", f"URL: {content.get('url') or ''}"]
    head += [f"Date published: {content['date']}"] if content.get("date") else []
    head += [f"Part {content.get('page')} of {content['pages']}"] if content.get("pages", 1) not in (1, None) else []
    return "\n".join((*head, "", str(content.get("content") or "")))


def _extract(engine: Engine, arguments: JsonObject) -> Reply:
    page = engine.visit(
        arguments["url"],
        goal=arguments.get("goal") or "",
        part=arguments.get("page", 1),
    )
    content: JsonObject = {
        "url": page.url,
        "title": page.title,
        "date": page.date,
        "page": page.part,
        "pages": page.parts,
        "content": page.text,
    }
    return Reply(page_text(content), content)


def _remember(engine: Engine, arguments: JsonObject) -> Reply:
    operation = arguments["operation"]
    found = engine.memory.carry_out(operation, arguments.get("key"), arguments.get("value"))
    match operation:
        case "add" | "update":
            return Reply(f"Noted '{found['key']}'.", found)
        case "retrieve":
            return Reply(found["value"], found)
        case "retrieve_all":
            lines = [f"{key}: {value}" for key, value in found["notes"].items()]
            return Reply("\n".join(lines) or "The memory is empty.", found)
        case _:
            return Reply(f"Removed {found['removed']}.", found)


WEB = (
    SearchTool(
        "web_search",
        "Search the web. Takes one query, or several at once, and returns for each the best results: url, title, snippet and date.",
        arguments_of(
            query={"type": "string", "minLength": 1, "description": "What to search for."},
            queries={
                "type": "array",
                "items": {"type": "string", "minLength": 1},
                "minItems": 1,
                "maxItems": MOST_QUERIES,
                "description": "Several queries at once, in the place of `query`.",
            },
        ),
        _search,
        {"type": "object", "properties": {**_RESULTS, "searches": _SEARCHES}},
        title="Web search",
        tell=written,
    ),
    SearchTool(
        "web_extractor",
        "Open a web page and return its content as markdown. Long documents come in pages; with a goal, what speaks of that goal.",
        arguments_of(
            ("url",),
            url={"type": "string", "minLength": 1, "description": "The address of the page."},
            goal={"type": "string", "description": "What is looked for on the page."},
            page={"type": "integer", "minimum": 1, "default": 1, "description": "Which page of a long document."},
        ),
        _extract,
        _PAGE,
        title="Web page extractor",
        tell=page_text,
    ),
)

MEMORY = (
    SearchTool(
        "dict_memory",
        "A notebook for this task: texts under keys. Operations: add, update, retrieve, retrieve_all, remove, remove_all.",
        arguments_of(
            ("operation",),
            operation={"type": "string", "enum": list(NEEDED)},
            key={"type": "string", "minLength": 1, "description": "The key of the note."},
            value={"type": "string", "description": "The text to keep (add, update)."},
        ),
        _remember,
        {"type": "object"},
        writes=True,
        title="Memory",
        changes=lambda arguments: arguments["operation"] in WRITING,
    ),
)
