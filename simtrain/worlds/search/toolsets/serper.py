"""The toolset `serper`: google_search and scrape with the arguments and the JSON of Serper's API (https://serper.dev)."""

from simtrain.contracts.handler import Reply
from simtrain.values.types import JsonObject, encode, object_schema
from simtrain.worlds.search.engine.snippets import plain_text
from simtrain.worlds.search.toolsets.narrowing import Narrowing, day_of, days_before
from simtrain.worlds.search.toolsets.tool import Engine, SearchTool


def _search(engine: Engine, arguments: JsonObject) -> Reply:
    query, count = arguments["q"], arguments.get("num", engine.results)
    first = (arguments.get("page", 1) - 1) * count
    found = engine.search(query, count=count, offset=first, takes=_narrowing(engine, arguments).takes)
    organic: list[JsonObject] = [
        {
            "title": item.title,
            "link": item.url,
            "snippet": item.snippet,
            **({"date": item.date} if item.date else {}),
            "position": position,
        }
        for position, item in enumerate(found, first + 1)
    ]
    parameters = {name: value for name, value in arguments.items() if value is not None}
    mended = engine.mended(query)
    content: JsonObject = {
        "searchParameters": {**parameters, "type": "search", "engine": "google"},
        **({} if mended is None else {"searchInformation": {"showingResultsFor": mended.query}}),
        "organic": organic,
        "credits": 1,
    }
    return Reply(encode(content), content)


def _narrowing(engine: Engine, arguments: JsonObject) -> Narrowing:
    """Return the filter of the arguments that stand for search operators, and of the time filter (`qdr:w`: the last week)."""
    given = {name: str(value) for name, value in arguments.items() if value}
    span = given.get("tbs", "").partition("qdr:")[2][:1]
    return Narrowing(
        only=(given["site"],) if "site" in given else (),
        since=day_of("after", given.get("after", "")) or days_before(engine.today, span),
        until=day_of("before", given.get("before", "")),
        in_title=given.get("intitle", ""),
        in_url=given.get("inurl", ""),
        phrase=given.get("exact", ""),
        excluded=tuple(word.strip() for word in given.get("exclude", "").split(",") if word.strip()),
    )


def _scrape(engine: Engine, arguments: JsonObject) -> Reply:
    page = engine.visit(arguments["url"])
    content: JsonObject = {
        "text": plain_text(page.text),
        **({"markdown": page.text} if arguments.get("includeMarkdown") else {}),
        "metadata": {"title": page.title, "url": page.url, **({"date": page.date} if page.date else {})},
        "credits": 2,
    }
    return Reply(encode(content), content)


SERPER = (
    SearchTool(
        "google_search",
        "Search the web through the Serper API; returns organic results as JSON.",
        object_schema(
            ("q",),
            q={"type": "string", "minLength": 1, "description": "The search query."},
            # Taken and ignored, like the next two: an invented web has one country and one language.
            gl={"type": "string", "description": "Country of the search, such as us."},
            hl={"type": "string", "description": "Language of the search, such as en."},
            location={"type": "string", "description": "Place from which is searched."},
            num={"type": "integer", "minimum": 1, "maximum": 100, "description": "Number of results."},
            page={"type": "integer", "minimum": 1, "default": 1, "description": "Page of the results."},
            tbs={"type": "string", "description": "Time filter: qdr:d, qdr:w, qdr:m or qdr:y."},
            autocorrect={"type": "boolean"},
            site={"type": "string", "description": "Only results of this domain."},
            inurl={"type": "string", "description": "Only pages with this in their URL."},
            intitle={"type": "string", "description": "Only pages with this in their title."},
            before={"type": "string", "description": "Only pages up to this day: YYYY-MM-DD."},
            after={"type": "string", "description": "Only pages from this day on: YYYY-MM-DD."},
            exact={"type": "string", "description": "A phrase that the page must contain."},
            exclude={"type": "string", "description": "Words that no result may contain, separated by commas."},
        ),
        _search,
        title="Google search",
    ),
    SearchTool(
        "scrape",
        "Fetch a web page through the Serper API; returns its text, and its markdown when asked to.",
        object_schema(
            ("url",),
            url={"type": "string", "minLength": 1, "description": "The URL of the page."},
            includeMarkdown={"type": "boolean", "default": False},
        ),
        _scrape,
        title="Scrape",
    ),
)
