"""Selectors of CSS: split into single ones, with their specificity and the pseudo-element that they select."""

from dataclasses import dataclass
from functools import lru_cache

import tinycss2
from selectolax.lexbor import LexborHTMLParser, SelectolaxError
from tinycss2 import ast

from simtrain.worlds.app.accessibility.document import words

# Those that depend on the structure of a page alone. What depends on the pointer, the focus, or on what a form holds is left out.
STRUCTURAL = words(
    "root empty first-child last-child only-child first-of-type last-of-type only-of-type nth-child nth-last- "
    "child nth-of-type nth-last-of-type not is where has link any-link"
)
_ARGUMENTS_COUNT = frozenset({"not", "is", "has"})


@dataclass(frozen=True, slots=True)
class Selector:
    """One selector as the parser of HTML can look it up, its specificity (ids, classes, types) and its pseudo-element or ''."""

    text: str
    specificity: tuple[int, int, int]
    pseudo: str = ""


def read_selectors(prelude: list[ast.Node]) -> tuple[list[Selector], list[str]]:
    """The selectors of a rule, and the text of those that are outside the subset."""
    known: list[Selector] = []
    unknown: list[str] = []
    for tokens in _split(prelude):
        pseudo, tokens = _pseudo_element(tokens)
        text = tinycss2.serialize(tokens).strip()
        if pseudo in ("before", "after", "") and _is_structural(tokens) and _is_accepted(text or "*"):
            known.append(Selector(text or "*", _specificity(tokens), pseudo))
        elif pseudo in ("before", "after", ""):
            unknown.append(text)
    return known, unknown


def _split(prelude: list[ast.Node]) -> list[list[ast.Node]]:
    """The parts between the commas."""
    parts: list[list[ast.Node]] = [[]]
    for token in prelude:
        if isinstance(token, ast.LiteralToken) and token.value == ",":
            parts.append([])
        elif not isinstance(token, ast.Comment):
            parts[-1].append(token)
    return parts


def _pseudo_element(tokens: list[ast.Node]) -> tuple[str, list[ast.Node]]:
    """The name of the pseudo-element at the end, with the tokens before it."""
    words = [token for token in tokens if not isinstance(token, ast.WhitespaceToken)]
    if len(words) < 2 or not isinstance(words[-1], ast.IdentToken):
        return "", tokens
    name = words[-1].lower_value
    if _is_colon(words[-2]) and (
        name in ("before", "after", "first-line", "first-letter") or (len(words) > 2 and _is_colon(words[-3]))
    ):
        colons = 2 if len(words) > 2 and _is_colon(words[-3]) else 1
        end = tokens.index(words[-1])
        return name, tokens[: end - colons]
    return "", tokens


def _is_colon(token: ast.Node) -> bool:
    return isinstance(token, ast.LiteralToken) and token.value == ":"


def _is_structural(tokens: list[ast.Node]) -> bool:
    """Whether each pseudo-class in it depends on the structure alone."""
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else None
        if isinstance(token, ast.LiteralToken) and token.value in ("&", "|"):
            return False
        if before is None or not _is_colon(before):
            continue
        if isinstance(token, ast.IdentToken):
            if token.lower_value not in STRUCTURAL:
                return False
        elif isinstance(token, ast.FunctionBlock):
            if token.lower_name not in STRUCTURAL or not _is_structural(token.arguments):
                return False
        elif not _is_colon(token):
            return False
        else:
            return False
    return True


def _specificity(tokens: list[ast.Node]) -> tuple[int, int, int]:
    """How specific it is (Selectors level 4, section 17)."""
    ids = classes = types = 0
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else None
        if isinstance(token, ast.HashToken):
            ids += 1
        elif isinstance(token, ast.SquareBracketsBlock):
            classes += 1
        elif isinstance(token, ast.FunctionBlock):
            if token.lower_name in _ARGUMENTS_COUNT:
                inner = max(_specificity(part) for part in _split(token.arguments))
                ids, classes, types = ids + inner[0], classes + inner[1], types + inner[2]
            elif token.lower_name != "where":
                classes += 1
        elif isinstance(token, ast.IdentToken):
            if before is not None and isinstance(before, ast.LiteralToken) and before.value in (".", ":"):
                classes += 1
            else:
                types += 1
    return ids, classes, types


@lru_cache(maxsize=1)
def _probe() -> LexborHTMLParser:
    return LexborHTMLParser("<p></p>")


def _is_accepted(text: str) -> bool:
    """Whether the parser of HTML can look it up."""
    try:
        _probe().css(text)
    except SelectolaxError:
        return False
    return True
