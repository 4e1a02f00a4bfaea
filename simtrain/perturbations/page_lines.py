"""Words planted in what a page of an app says: behind the text of one of its nodes, as if they were part of a review or a mail."""

import json
import re

from simtrain.values.python_source import python_literal

_SAYING = re.compile(
    r"(?P<node> *- (?:paragraph|text|cell|definition|listitem|generic|emphasis|strong)(?: \[[^\]]*\])*: )(?P<text>.+)"
)
"""A line of a snapshot whose node has text."""

_STATIC = re.compile(r"(?P<node>\s*(?:\[\w+\] )?StaticText )(?P<text>'.*'|\".*\")")
"""A line of BrowserGym's form with text."""

_SHORTEST = 15
"""Characters that a text has at least which somebody may have written."""


def planted_text(page: str, words: str, placement: str) -> str | None:
    """Return a page with the words behind one of its texts: the first, the last, one in the middle, or the longest (`field`).

    None if it has no text that somebody may have written.
    """
    lines = page.split("\n")
    found = [(number, *said) for number, line in enumerate(lines) if (said := _said(line)) is not None]
    if not found:
        return None
    if placement == "field":
        number, node, text, quote = max(found, key=lambda one: (len(one[2]), -one[0]))
    else:
        place = {"start": 0, "end": -1, "error": -1}.get(placement, len(found) // 2)
        number, node, text, quote = found[place]
    longer = f"{text} {' '.join(words.split())}"
    lines[number] = node + (json.dumps(longer, ensure_ascii=False) if quote == "yaml" else repr(longer))
    return "\n".join(lines)


def _said(line: str) -> tuple[str, str, str] | None:
    """Return what comes before the text of a line, the text, and how it is quoted; None for a line without such a text."""
    found = _SAYING.fullmatch(line)
    if found is not None:
        text = json.loads(found["text"]) if found["text"].startswith('"') else found["text"]
        return (found["node"], text, "yaml") if len(text) >= _SHORTEST else None
    found = _STATIC.fullmatch(line)
    if found is None:
        return None
    text = python_literal(found["text"])
    return (found["node"], text, "python") if len(text) >= _SHORTEST else None
