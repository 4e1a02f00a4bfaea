"""Normalise the words of tool, argument and field names, so that synonyms compare as equal."""

import re
from functools import lru_cache

from simtrain.values.tool_words import PARTS, singular

_FILLERS = frozenset({"a", "an", "the", "of", "by", "for", "with", "in", "at", "on", "v"})

# Synonyms in the APIs of real services.
_SYNONYMS = (
    ("id", "identifier", "uid", "uuid", "ref", "code", "no"),
    ("query", "search", "lookup", "find", "locate", "keyword", "term", "filter", "q"),
    ("name", "label", "title", "heading", "caption"),
    ("limit", "max", "count", "size", "number", "results"),
    ("amount", "quantity", "sum", "value", "total"),
    ("text", "body", "content", "message", "payload", "comment", "note"),
    ("path", "location", "file", "place", "address"),
    ("date", "day", "time"),
    ("start", "begin", "from", "since", "origin", "source"),
    ("end", "finish", "until", "to", "destination", "target", "due"),
    ("status", "state", "phase"),
    ("email", "mail"),
    ("user", "account", "member", "person", "login"),
    ("reason", "cause", "why"),
    ("type", "kind", "category", "class"),
    ("description", "summary", "about", "detail"),
    ("city", "town"),
    ("url", "link", "uri"),
    ("token", "key"),
    ("get", "fetch", "retrieve", "read", "load", "show", "display", "open", "view", "describe"),
    ("list", "enumerate", "all", "browse"),
    ("create", "add", "new", "make", "insert", "append", "register"),
    ("update", "modify", "edit", "revise", "change", "set", "assign"),
    ("delete", "remove", "drop", "erase"),
    ("cancel", "void", "revoke"),
    ("send", "dispatch", "post", "publish", "submit"),
)
_CHIEF = {word: group[0] for group in _SYNONYMS for word in group}


@lru_cache(maxsize=8192)
def words(name: str) -> tuple[str, ...]:
    """Return the words of a name, in the singular and in lower case."""
    return tuple(singular(part.lower()) for part in PARTS.findall(name))


@lru_cache(maxsize=8192)
def meaning(name: str) -> frozenset[str]:
    """Return the words of a name without fillers, each replaced by the main one of its synonyms."""
    return frozenset(_CHIEF.get(word, word) for word in words(name) if word not in _FILLERS)


def likeness(one: str, other: str) -> float:
    """Return the similarity in meaning of two names, from 0 to 1: shared words divided by all words."""
    ours, theirs = meaning(one), meaning(other)
    return len(ours & theirs) / len(ours | theirs) if ours | theirs else 0.0


def form_of(value: object) -> str:
    """Return the common form of ids: the text without its numbers."""
    return re.sub(r"\d+", "0", str(value))
