"""The toolset `tavily`: tavily_search and tavily_extract, after Tavily's MCP server and the JSON of its API
(https://docs.tavily.com).
"""

from contextlib import suppress
from urllib.parse import urlsplit

from simtrain.contracts.handler import Reply
from simtrain.values.types import JsonObject, object_schema
from simtrain.worlds.search.engine.page_opening import OpeningFailure
from simtrain.worlds.search.engine.snippets import plain_text
from simtrain.worlds.search.toolsets.narrowing import Narrowing, day_of, days_before
from simtrain.worlds.search.toolsets.tool import Engine, SearchTool
from simtrain.worlds.search.toolsets.web import objects

_DOMAINS: JsonObject = {"type": "array", "items": {"type": "string"}, "default": []}
_NO: JsonObject = {"type": "boolean", "default": False}


def _search(engine: Engine, arguments: JsonObject) -> Reply:
    query, count = arguments["query"], arguments.get("max_results", 10)
    results: list[JsonObject] = []
    for place, item in enumerate(engine.search(query, count=count, takes=_narrowing(engine, arguments).takes)):
        raw = None
        if arguments.get("include_raw_content"):
            # A result that cannot be opened keeps `raw_content: null`.
            with suppress(OpeningFailure):
                raw = engine.visit(item.url).text
        results.append(
            {
                "url": item.url,
                "title": item.title,
                "content": item.snippet,
                # Tavily's scores lie between 0 and 1 and fall; our engine's are of another scale.
                "score": round(0.95 * 0.9**place, 4),
                "raw_content": raw,
                **({"published_date": item.date} if item.date else {}),
                **({"favicon": _favicon(item.url)} if arguments.get("include_favicon") else {}),
            }
        )
    content: JsonObject = {
        "query": query,
        # Tavily's API sends these members even if they were not asked for.
        "follow_up_questions": None,
        "answer": None,
        "images": [],
        "results": results,
        # Constant: measured seconds would make every reply another one.
        "response_time": 1.0,
    }
    return Reply(_written(content), content)


def _written(content: JsonObject) -> str:
    """Return results or pages as text, in the form of Tavily's MCP server."""
    lines = ["Detailed Results:"]
    for item in objects(content, "results"):
        shown = {
            "Title": "title",
            "URL": "url",
            "Content": "content",
            "Raw Content": "raw_content",
            "Favicon": "favicon",
        }
        lines += ["", *(f"{label}: {item[name]}" for label, name in shown.items() if item.get(name))]
    for item in objects(content, "failed_results"):
        lines += ["", f"Failed: {item.get('url')} ({item.get('error')})"]
    return "\n".join(lines)


def _narrowing(engine: Engine, arguments: JsonObject) -> Narrowing:
    """Return the restriction to domains and dates; explicit dates take precedence over a range."""
    since, until = (day_of(name, arguments.get(name) or "") for name in ("start_date", "end_date"))
    if not since and not until:
        since = days_before(engine.today, arguments.get("time_range") or "")
    return Narrowing(
        only=tuple(arguments.get("include_domains") or []),
        without=tuple(arguments.get("exclude_domains") or []),
        since=since,
        until=until,
    )


def _favicon(url: str) -> str:
    return f"https://{urlsplit(url).hostname}/favicon.ico"


def _extract(engine: Engine, arguments: JsonObject) -> Reply:
    opened: list[JsonObject] = []
    failures: list[JsonObject] = []
    for url in arguments["urls"]:
        try:
            page = engine.visit(url, goal=arguments.get("query") or "")
        except OpeningFailure as failure:
            failures.append({"url": url, "error": failure.message})
        else:
            text = plain_text(page.text) if arguments.get("format") == "text" else page.text
            icon = {"favicon": _favicon(page.url)} if arguments.get("include_favicon") else {}
            opened.append({"url": page.url, "raw_content": text, "images": [], **icon})
    content: JsonObject = {"results": opened, "failed_results": failures, "response_time": 1.0}
    return Reply(_written(content), content)


TAVILY = (
    SearchTool(
        "tavily_search",
        "Search the web for current information; returns ranked results with the content that fits the query.",
        object_schema(
            ("query",),
            query={"type": "string", "minLength": 1, "description": "The search query."},
            search_depth={"type": "string", "enum": ["basic", "advanced", "fast", "ultra-fast"], "default": "basic"},
            topic={"type": "string", "enum": ["general", "news", "finance"], "default": "general"},
            time_range={"type": "string", "enum": ["day", "week", "month", "year"]},
            start_date={"type": "string", "description": "Only results from this day on: YYYY-MM-DD.", "default": ""},
            end_date={"type": "string", "description": "Only results up to this day: YYYY-MM-DD.", "default": ""},
            max_results={"type": "integer", "minimum": 1, "maximum": 20, "default": 10},
            include_images=_NO,
            include_image_descriptions=_NO,
            include_raw_content=_NO,
            include_domains=_DOMAINS,
            exclude_domains=_DOMAINS,
            country={"type": "string", "description": "Country whose results come first.", "default": ""},
            include_favicon=_NO,
        ),
        _search,
        title="Tavily search",
        tell=_written,
    ),
    SearchTool(
        "tavily_extract",
        "Read the content of web pages by their URLs.",
        object_schema(
            ("urls",),
            urls={"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1, "maxItems": 20},
            extract_depth={"type": "string", "enum": ["basic", "advanced"], "default": "basic"},
            include_images=_NO,
            format={"type": "string", "enum": ["markdown", "text"], "default": "markdown"},
            include_favicon=_NO,
            query={"type": "string", "description": "What the content is wanted for."},
        ),
        _extract,
        title="Tavily extract",
        tell=_written,
    ),
)
