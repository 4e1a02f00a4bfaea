"""Text to tokens."""

import re
from dataclasses import dataclass

from sieve.errors import QueryError

WORDS = frozenset(
    {
        *("select", "distinct", "from", "join", "left", "inner", "on", "where", "group", "by"),
        *("having", "order", "asc", "desc", "limit", "offset", "as", "and", "or", "not", "in"),
        *("like", "between", "is", "null", "true", "false", "case", "when", "then", "else", "end"),
    }
)
_PATTERN = re.compile(
    r"""
    (?P<space>\s+|--[^\n]*)
    |(?P<number>\d+\.\d+|\d+)
    |(?P<text>'(?:[^']|'')*')
    |(?P<quoted>"[^"]+")
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign><=|>=|<>|!=|\|\||[=<>+\-*/%(),.?])
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class Token:
    """A piece of a query. `kind` is word, name, number, text, sign or end."""

    kind: str
    text: str
    at: int


def tokens(query: str) -> list[Token]:
    """Return the tokens of a query, the last of kind `end`. Words are in small letters."""
    found: list[Token] = []
    at = 0
    while at < len(query):
        match = _PATTERN.match(query, at)
        if match is None:
            raise QueryError(f"{query[at]!r} belongs to nothing", at)
        kind, text = match.lastgroup or "", match.group()
        if kind == "name" and text.lower() in WORDS:
            found.append(Token("word", text.lower(), at))
        elif kind == "text":
            found.append(Token("text", text[1:-1].replace("''", "'"), at))
        elif kind == "quoted":
            found.append(Token("name", text[1:-1], at))
        elif kind != "space":
            found.append(Token(kind, "<>" if text == "!=" else text, at))
        at = match.end()
    return [*found, Token("end", "", at)]
