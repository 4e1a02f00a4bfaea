"""The Markdown of a page as HTML, with columns of numbers, lists of facts and posts marked, text escaped and links made local."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from html import escape
from itertools import pairwise
from typing import Final
from urllib.parse import urljoin

from markdown_it import MarkdownIt
from markdown_it.token import Token

from simtrain.values.seeding import draw
from simtrain.view.search_site.looks import COLOURS

Local = Callable[[str], str]
"""Maps a URL of the world to the address under which it is served."""

_AMOUNT: Final = re.compile(r"(?!\d{4}-\d\d-\d\d$)[^\w\s|]{0,2}\d[\d,. ]*(?:[^\d|]{1,14})?|[–-]")
"""A cell that holds an amount, with its unit or currency, or nothing."""


def prose(markdown: str, *, url: str, local: Local, posts: bool = False) -> str:
    """Return the HTML of some Markdown; with `posts`, each paragraph that begins in bold begins a post."""
    tokens = _markdown().parse(markdown)
    for token in tokens:
        for child in token.children or ():
            target = child.attrGet("href") if child.type == "link_open" else None
            if isinstance(target, str):
                child.attrSet("href", local(_joined(url, target)))
    _align(tokens)
    _mark_facts(tokens)
    return "".join(_post(part) for part in _parts(tokens)) if posts else _html(tokens)


def _align(tokens: Sequence[Token]) -> None:
    """Give columns that hold only amounts the class `number`."""
    columns: list[list[tuple[Token, str, bool]]] = []
    place = 0
    for token, after in pairwise(tokens):
        if token.type == "table_open":
            columns = []
        elif token.type == "tr_open":
            place = 0
        elif token.type in ("th_open", "td_open"):
            columns.extend([] for _ in range(place + 1 - len(columns)))
            columns[place].append((token, after.content.strip(), token.type == "td_open"))
            place += 1
        elif after.type == "table_close":
            for cells in columns:
                if _amounts([text for _, text, in_body in cells if in_body and text]):
                    for cell, _, _ in cells:
                        cell.attrSet("class", "number")


def _amounts(texts: Sequence[str]) -> bool:
    return any(text[-1:] not in "–-" for text in texts) and all(_AMOUNT.fullmatch(text) for text in texts)


def _mark_facts(tokens: Sequence[Token]) -> None:
    """Give lists whose items all begin with a label in bold the class `facts`."""
    for at, token in enumerate(tokens):
        if token.type == "bullet_list_open":
            end = next(i for i in range(at, len(tokens)) if _closes(tokens[i], token))
            items = [one for one in tokens[at:end] if one.type == "inline" and one.level == token.level + 3]
            if items and all(_label(one).endswith(":") for one in items):
                token.attrSet("class", "facts")


def _closes(token: Token, opening: Token) -> bool:
    return token.type == "bullet_list_close" and token.level == opening.level


def _label(inline: Token) -> str:
    """Return the bold words at the beginning of a text; empty if there are none."""
    children = [child for child in inline.children or () if child.content or child.type != "text"]
    if len(children) < 3 or children[0].type != "strong_open":
        return ""
    return children[1].content.strip()


def _parts(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield the tokens of a thread, post by post; what precedes the first post is a part too."""
    begins = [
        at
        for at, (token, after) in enumerate(pairwise(tokens))
        if token.type == "paragraph_open" and token.level == 0 and _label(after)
    ]
    for start, end in pairwise(dict.fromkeys((0, *begins, len(tokens)))):
        yield tokens[start:end]


def _post(tokens: Sequence[Token]) -> str:
    name = _label(tokens[1]) if len(tokens) > 1 and tokens[0].type == "paragraph_open" else ""
    if not name:
        return _html(tokens)
    # Drawn from the name, so that a person has one colour on every page.
    colour = int(draw(0, "face", name) * COLOURS)
    return f'<section class="post"><span class="face c{colour}" aria-hidden="true">{escape(name[0])}</span>{_html(tokens)}</section>'


def _html(tokens: Sequence[Token]) -> str:
    return _markdown().renderer.render(tokens, _markdown().options, {})


def _joined(url: str, link: str) -> str:
    try:
        return urljoin(url, link)
    except ValueError:
        return url


@cache
def _markdown() -> MarkdownIt:
    # Without `html`, markup in a page is text. markdown-it also refuses links that run code, such as `javascript:`.
    return MarkdownIt("commonmark", {"html": False}).enable("table")
