"""Parse tool names into a verb and a noun, and normalise nouns."""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

Intent: TypeAlias = Literal["create", "get", "list", "search", "update", "delete"]

_VERBS: dict[str, Intent] = {
    **dict.fromkeys(("create", "add", "new", "insert", "post", "make", "register", "open", "send", "append"), "create"),
    **dict.fromkeys(("get", "read", "fetch", "show", "retrieve", "describe", "view", "lookup", "load", "extract",
                     "extractor", "scrape"), "get"),
    **dict.fromkeys(("list", "all", "browse", "index", "enumerate"), "list"),
    **dict.fromkeys(("search", "find", "query", "filter"), "search"),
    **dict.fromkeys(
        ("update", "edit", "set", "modify", "patch", "change", "rename", "assign", "move", "close", "reopen", "mark", "archive", "cancel",
         "complete", "finish", "approve", "resolve", "toggle", "upsert"),
        "update",
    ),
    **dict.fromkeys(("delete", "remove", "destroy", "drop", "purge"), "delete"),
}  # fmt: skip
_FILLERS = frozenset(
    {"by", "a", "an", "the", "of", "in", "for", "to", "from", "with", "id", "ids", "details", "info", "many"}
)
PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
"""The words and numbers in a name."""
_IRREGULAR = {
    "people": "person",
    "children": "child",
    "men": "man",
    "women": "woman",
    "indices": "index",
    "data": "data",
}
_KEPT = ("ss", "us", "is", "news", "series", "status")


@dataclass(frozen=True, slots=True)
class ToolWords:
    """The verb's intent (None if the name has no known verb) and the noun, in the singular; empty if there is none."""

    intent: Intent | None
    noun: str


def tool_words(name: str) -> ToolWords:
    """Return the words of a tool's name: `issues.listOpen`, `API-post-search` and `delete_page` alike."""
    server, dot, rest = name.rpartition(".")
    parts = [part.lower() for part in PARTS.findall(rest)]
    place = next((index for index, part in enumerate(parts) if part in _VERBS), None)
    intent = None if place is None else _VERBS[parts[place]]
    nouns = [part for index, part in enumerate(parts) if index != place and part not in _FILLERS and part != "api"]
    # `orders.list` names its noun in the server.
    if not nouns and dot:
        nouns = [part.lower() for part in PARTS.findall(server)]
    return ToolWords(intent, "_".join((*nouns[:-1], singular(nouns[-1]))) if nouns else "")


def singular(word: str) -> str:
    """Return an English noun in the singular, as far as endings tell."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 4 or word.endswith(_KEPT):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith(("ches", "shes", "sses", "xes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") else word
