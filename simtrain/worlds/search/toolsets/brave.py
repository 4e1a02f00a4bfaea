"""The toolset `brave`: brave_web_search, with results as text, and the `fetch` of MCP's reference servers."""

from simtrain.contracts.handler import Reply, ToolError
from simtrain.values.types import JsonObject, object_schema
from simtrain.worlds.search.engine.page_opening import OpeningFailure
from simtrain.worlds.search.toolsets.narrowing import Narrowing, day_of, days_before
from simtrain.worlds.search.toolsets.tool import Engine, SearchTool

MOST_RESULTS = 20


def _search(engine: Engine, arguments: JsonObject) -> Reply:
    count = arguments.get("count", 10)
    narrowing = _narrowing(engine, arguments.get("freshness") or "")
    results = engine.search(
        arguments["query"],
        count=count,
        # Brave's offset counts pages of results, not results.
        offset=count * arguments.get("offset", 0),
        takes=narrowing.takes,
    )
    found = [f"Title: {item.title}\nDescription: {item.snippet}\nURL: {item.url}" for item in results]
    return Reply("\n\n".join(found) or "No web results found")


def _narrowing(engine: Engine, freshness: str) -> Narrowing:
    """Return the filter of a call: `pd`, `pw`, `pm`, `py` (the last day to the last year), or a span: `2022-04-01to2022-07-30`."""
    first, between, last = freshness.partition("to")
    if between:
        return Narrowing(since=day_of("freshness", first), until=day_of("freshness", last))
    return Narrowing(since=days_before(engine.today, freshness.removeprefix("p")))


def _fetch(engine: Engine, arguments: JsonObject) -> Reply:
    url = arguments["url"]
    first, most = arguments.get("start_index", 0), arguments.get("max_length", 5000)
    try:
        page = engine.visit(url)
    except OpeningFailure as failure:
        status = failure.message[:3]
        why = f" - status code {status}" if status.isdigit() else f": {failure.message}"
        raise ToolError(f"Failed to fetch {url}{why}") from None
    following = (engine.visit(url, part=part).text for part in range(2, page.parts + 1))
    text = "\n\n".join([page.text, *following])
    # The reference server reports the end inside the text of a successful reply, so an agent must read it there.
    if first >= len(text):
        return Reply(f"Contents of {page.url}:\n<error>No more content available.</error>")
    shown = text[first : first + most]
    if first + most < len(text):
        more = f"Call the fetch tool with a start_index of {first + most} to get more content."
        shown += f"\n\n<error>Content truncated. {more}</error>"
    return Reply(f"Contents of {page.url}:\n{shown}")


BRAVE = (
    SearchTool(
        "brave_web_search",
        "Search the web with Brave; returns title, description and URL of each result. For more results use the offset.",
        object_schema(
            ("query",),
            query={"type": "string", "minLength": 1, "maxLength": 400, "description": "The search query."},
            count={"type": "integer", "minimum": 1, "maximum": MOST_RESULTS, "default": 10},
            offset={"type": "integer", "minimum": 0, "maximum": 9, "default": 0, "description": "Pages to pass over."},
            # Taken and ignored, like the next three: an invented web has one country and one language.
            country={"type": "string", "default": "US", "description": "Country from which results come."},
            search_lang={"type": "string", "default": "en", "description": "Language of the results."},
            ui_lang={"type": "string", "default": "en-US"},
            safesearch={"type": "string", "enum": ["off", "moderate", "strict"], "default": "moderate"},
            freshness={"type": "string", "description": "pd, pw, pm, py, or YYYY-MM-DDtoYYYY-MM-DD."},
            text_decorations={"type": "boolean", "default": True},
            spellcheck={"type": "boolean", "default": True},
            result_filter={"type": "array", "items": {"type": "string"}},
        ),
        _search,
        title="Brave web search",
    ),
    SearchTool(
        "fetch",
        "Fetch a URL and return its content as markdown; long content is cut and goes on at start_index.",
        object_schema(
            ("url",),
            url={"type": "string", "minLength": 1, "description": "The URL to fetch."},
            max_length={"type": "integer", "minimum": 1, "maximum": 1_000_000, "default": 5000},
            start_index={"type": "integer", "minimum": 0, "default": 0},
            raw={"type": "boolean", "default": False, "description": "The page as it is, without simplification."},
        ),
        _fetch,
        title="Fetch",
    ),
)
