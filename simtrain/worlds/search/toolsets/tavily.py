"""The toolset `tavily`: tavily_search and tavily_extract with the arguments and the JSON of Tavily's API (https://docs.tavily.com)."""

from __future__ import annotations

from typing import cast
from urllib.parse import urlsplit

from simtrain.handler import Reply
from simtrain.types import JsonObject
from simtrain.worlds.search.extracting import Failure
from simtrain.worlds.search.toolsets.tool import Engine, Result, SearchTool, arguments_of
from simtrain.worlds.search.toolsets.web import objects

_DOMAINS: JsonObject = {"type": "array", "items": {"type": "string"}}


def _search(engine: Engine, arguments: JsonObject) -> Reply:
    query, count = cast(str, arguments["query"]), cast(int, arguments.get("max_results", 5))
    results = [item for item in engine.search(query, count=50) if _is_wanted(item, arguments)][:count]
    told: list[JsonObject] = []
    for place, item in enumerate(results):
        raw = engine.visit(item.url) if arguments.get("include_raw_content") else None
        told.append(
            {
                "url": item.url,
                "title": item.title,
                "content": item.snippet,
                "score": round(0.95 * 0.9**place, 4),
                "raw_content": None if raw is None or isinstance(raw, Failure) else raw.text,
                **({"published_date": item.date} if item.date else {}),
            }
        )
    content: JsonObject = {
        "query": query,
        "follow_up_questions": None,
        "answer": None,
        "images": [],
        "results": told,
        "response_time": 1.0,
    }
    return Reply(_written(content), content)


def _written(content: JsonObject) -> str:
    """Results or pages as Tavily's MCP server writes them."""
    lines = ["Detailed Results:"]
    for item in objects(content, "results"):
        shown = {"Title": "title", "URL": "url", "Content": "content", "Raw Content": "raw_content"}
        lines += ["", *(f"{label}: {item[name]}" for label, name in shown.items() if item.get(name))]
    for item in objects(content, "failed_results"):
        lines += ["", f"Failed: {item.get('url')} ({item.get('error')})"]
    return "\n".join(lines)


def _is_wanted(item: Result, arguments: JsonObject) -> bool:
    host = urlsplit(item.url).hostname or ""
    only = cast("list[str]", arguments.get("include_domains") or [])
    without = cast("list[str]", arguments.get("exclude_domains") or [])
    return (not only or _is_under(host, only)) and not _is_under(host, without)


def _is_under(host: str, domains: list[str]) -> bool:
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


def _extract(engine: Engine, arguments: JsonObject) -> Reply:
    opened: list[JsonObject] = []
    failures: list[JsonObject] = []
    for url in cast("list[str]", arguments["urls"]):
        page = engine.visit(url, goal=cast(str, arguments.get("query") or ""))
        if isinstance(page, Failure):
            failures.append({"url": url, "error": page.message})
        else:
            opened.append({"url": page.url, "raw_content": page.text, "images": []})
    content: JsonObject = {"results": opened, "failed_results": failures, "response_time": 1.0}
    return Reply(_written(content), content)


TAVILY = (
    SearchTool(
        "tavily_search",
        "Search the web for current information; returns ranked results with the content that fits the query.",
        arguments_of(
            ("query",),
            query={"type": "string", "minLength": 1, "description": "The search query."},
            max_results={"type": "integer", "minimum": 1, "maximum": 20, "default": 5},
            search_depth={"type": "string", "enum": ["basic", "advanced"], "default": "basic"},
            topic={"type": "string", "enum": ["general", "news", "finance"], "default": "general"},
            time_range={"type": "string", "enum": ["day", "week", "month", "year"]},
            include_domains=_DOMAINS,
            exclude_domains=_DOMAINS,
            include_raw_content={"type": "boolean", "default": False},
        ),
        _search,
        title="Tavily search",
        tell=_written,
    ),
    SearchTool(
        "tavily_extract",
        "Read the content of web pages by their URLs.",
        arguments_of(
            ("urls",),
            urls={"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1, "maxItems": 20},
            extract_depth={"type": "string", "enum": ["basic", "advanced"], "default": "basic"},
            format={"type": "string", "enum": ["markdown", "text"], "default": "markdown"},
            query={"type": "string", "description": "What the content is wanted for."},
        ),
        _extract,
        title="Tavily extract",
        tell=_written,
    ),
)
