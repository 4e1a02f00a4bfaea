"""The main part of a page: the element with the most running text, without what stands around it on every page of a site."""

from __future__ import annotations

import re
from collections.abc import Iterable

from simtrain.worlds.handlers.fetch.html_tree import BLOCKS, Element

ENOUGH = 500
_SHORTEST = 25
_NEVER = frozenset(
    {"script", "style", "template", "noscript", "iframe", "object", "embed", "form", "fieldset", "input", "textarea",
     "select", "button", "link", "meta", "head", "title", "footer", "aside", "svg"}
)  # fmt: skip
_ROLES = frozenset({"menu", "menubar", "complementary", "navigation", "alert", "alertdialog", "dialog"})
_UNLIKELY = re.compile(
    r"banner|breadcrumb|combx|comment|community|cover-wrap|disqus|extra|footer|gdpr|header|legends|menu|related|remark|"
    r"replies|rss|share|shoutbox|sidebar|skyscraper|social|sponsor|supplemental|ad-break|agegate|pager|pagination|popup|promo",
    re.IGNORECASE,
)
_PERHAPS = re.compile(r"and|article|body|column|content|main|shadow", re.IGNORECASE)
_GOOD = re.compile(r"article|body|content|entry|hentry|main|page|post|text|blog|story", re.IGNORECASE)
_BAD = re.compile(
    r"hidden|banner|combx|comment|com-|contact|footer|gdpr|masthead|media|meta|outbrain|promo|related|scroll|share|"
    r"shoutbox|sidebar|skyscraper|sponsor|shopping|tags|widget",
    re.IGNORECASE,
)
_BYLINE = re.compile(r"byline|author|dateline|writtenby|p-author", re.IGNORECASE)
_BASE = {
    **dict.fromkeys(("div",), 5), **dict.fromkeys(("pre", "td", "blockquote"), 3),
    **dict.fromkeys(("address", "ol", "ul", "dl", "dd", "dt", "li", "form"), -3),
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6", "th"), -5),
}  # fmt: skip
_SCORED = frozenset({"section", "h2", "h3", "h4", "h5", "h6", "p", "td", "pre"})


def main_part(root: Element) -> Element | None:
    """Return a copy of what a page is about; None for a page without text.

    Where little is left, it is tried again with less thrown away. A heading that repeats the page's title is left out.
    """
    title = _title(root)
    body = next((element for element in root.inside() if element.name == "body"), root)
    best: Element | None = None
    for strict in (True, False):
        page = body.copy()
        _clear(page, title, strict=strict)
        found = _content(page, weighing=strict)
        _tidy(found)
        length = len(" ".join(found.text().split()))
        if length >= ENOUGH:
            return found
        if length and (best is None or length > len(" ".join(best.text().split()))):
            best = found
    return best


def _title(root: Element) -> str:
    """Return the page's title without the name of the site."""
    whole = next((" ".join(element.text().split()) for element in root.inside() if element.name == "title"), "")
    parts = re.split(r" [|\-–—\\/>»] ", whole)
    short = whole if len(parts) == 1 else whole[: whole.rindex(parts[-1])].rstrip(" |-–—\\/>»")
    return whole if len(short.split()) < 3 and len(parts) > 1 else short


def _clear(page: Element, title: str, *, strict: bool) -> None:
    """Take out what is no text, what is hidden and, when strict, who wrote it and what is called like something beside the text."""
    repeated, byline = title, strict
    for element in list(page.inside()):
        if byline and _is_byline(element):
            element.remove()
            byline = False
        elif element.name in _NEVER or _hidden(element) or (strict and _unlikely(element)):
            element.remove()
        elif repeated and element.name in ("h1", "h2") and _alike(repeated, element.text()):
            element.remove()
            repeated = ""


def _is_byline(element: Element) -> bool:
    says = element.attributes.get("rel") == "author" or _BYLINE.search(_named(element)) is not None
    return says and 0 < len(element.text().strip()) < 100


def _hidden(element: Element) -> bool:
    style = element.attributes.get("style", "").replace(" ", "")
    return "display:none" in style or "hidden" in element.attributes or element.attributes.get("aria-hidden") == "true"


def _named(element: Element) -> str:
    return f"{element.attributes.get('class', '')} {element.attributes.get('id', '')}"


def _unlikely(element: Element) -> bool:
    if element.attributes.get("role") in _ROLES:
        return True
    if element.name in ("a", "body", "article", "main"):
        return False
    return _UNLIKELY.search(_named(element)) is not None and _PERHAPS.search(_named(element)) is None


def _alike(title: str, heading: str) -> bool:
    """True if a heading says what the title says: more than three quarters of it."""
    known, words = (re.findall(r"\w+", text.lower()) for text in (title, heading))
    if not known or not words:
        return False
    other = [word for word in words if word not in known]
    return 1 - len(" ".join(other)) / len(" ".join(words)) > 0.75


def _content(page: Element, *, weighing: bool) -> Element:
    """Return the best element with those of its neighbours that belong to it, in one new element; the whole page where none is good."""
    scores = _scores(page, weighing=weighing)
    found = Element("div")
    if not scores:
        for child in page.children:
            found.add(child)
        return found
    best = max(scores, key=lambda element: scores[element])
    while best.parent is not None and best.parent is not page and len(best.parent.elements()) == 1:
        best = best.parent
    least = max(10.0, 0.2 * max(scores.values()))
    for sibling in best.parent.elements() if best.parent is not None else [best]:
        bonus = (
            0.2 * max(scores.values()) if sibling.attributes.get("class") == best.attributes.get("class", "") else 0.0
        )
        if sibling is best or scores.get(sibling, float("-inf")) + bonus >= least or _is_sentence(sibling):
            found.children.append(sibling)
    for child in found.elements():
        child.parent = found
    return found


def _scores(page: Element, *, weighing: bool) -> dict[Element, float]:
    """Return how much running text elements hold, less for those that are full of links."""
    scores: dict[Element, float] = {}
    for element in page.inside():
        text = " ".join(element.text().split())
        if not _is_paragraph(element) or len(text) < _SHORTEST:
            continue
        points = 1 + len(text.split(",")) + min(len(text) // 100, 3)
        for level, ancestor in enumerate(_ancestors(element, page)):
            if ancestor not in scores:
                scores[ancestor] = _BASE.get(ancestor.name, 0) + (_weight(ancestor) if weighing else 0)
            scores[ancestor] += points / (1 if level == 0 else 2 if level == 1 else level * 3)
    return {element: score * (1 - _link_density(element)) for element, score in scores.items()}


def _is_paragraph(element: Element) -> bool:
    if element.name == "div":
        return not any(child.name in BLOCKS for child in element.elements())
    return element.name in _SCORED


def _ancestors(element: Element, page: Element) -> Iterable[Element]:
    parent = element.parent
    for _ in range(5):
        if parent is None:
            return
        yield parent
        if parent is page:
            return
        parent = parent.parent


def _weight(element: Element) -> int:
    weight = 0
    for name in (element.attributes.get("class", ""), element.attributes.get("id", "")):
        weight += 25 * (_GOOD.search(name) is not None) - 25 * (_BAD.search(name) is not None)
    return weight


def _link_density(element: Element) -> float:
    length = len(" ".join(element.text().split()))
    linked = sum(len(" ".join(link.text().split())) for link in element.inside() if link.name == "a")
    return linked / length if length else 0.0


def _is_sentence(element: Element) -> bool:
    """True if a neighbour is a paragraph of running text."""
    if element.name != "p":
        return False
    text, density = element.text().strip(), _link_density(element)
    return (len(text) > 80 and density < 0.25) or (
        0 < len(text) < 80 and density == 0 and re.search(r"\.( |$)", text) is not None
    )


def _tidy(found: Element) -> None:
    """First headings become second ones; paragraphs and lists without content, and lists of links, go."""
    for element in list(found.inside()):
        if element.name == "h1":
            element.name = "h2"
        pictures = any(inner.name == "img" for inner in element.inside())
        empty = element.name == "p" and not element.text().strip() and not pictures
        lists_links = element.name in ("ul", "ol", "nav", "header") and _link_density(element) > 0.5
        if empty or (lists_links and _weight(element) < 25):
            element.remove()
