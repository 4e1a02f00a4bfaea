"""The main part of a page: the element with the most running text, without navigation, bylines and the like.

Thresholds and patterns are those of Mozilla's Readability.js, which the imitated server runs in Node.
"""

import re
from copy import copy
from itertools import islice

from bs4 import BeautifulSoup, Tag

ENOUGH = 500
DEEPEST = 200
"""Levels of nesting; of what is nested deeper only the text is kept."""

_SHORTEST = 25
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "dd", "details", "dialog", "div", "dl", "dt", "fieldset",
     "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav",
     "ol", "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul"}
)  # fmt: skip
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


def main_part(html: str) -> Tag | None:
    """Return the main part of a page; None for a page without text.

    If little is left, a second pass removes less. A heading that repeats the page's title is left out.
    """
    root = BeautifulSoup(html, "html5lib", multi_valued_attributes=None)
    _flatten(root)
    title = _title(root)
    best: Tag | None = None
    for strict in (True, False):
        # Each pass removes elements, so each begins with a copy of its own.
        page = copy(root.body or root)
        _clear(page, title, strict=strict)
        found = _content(page, weighing=strict)
        _tidy(found)
        length = len(_text(found))
        if length >= ENOUGH:
            return found
        if length and (best is None or length > len(_text(best))):
            best = found
    return best


def _flatten(root: Tag) -> None:
    """Reduce elements that are nested too deeply to their text, because the converter to Markdown recurses once per level."""
    depths = {id(root): 0}
    for element in root.find_all():
        depths[id(element)] = depth = depths.get(id(element.parent), DEEPEST) + 1
        if depth == DEEPEST:
            element.string = element.get_text()


def _text(element: Tag) -> str:
    return " ".join(element.get_text().split())


def _attribute(element: Tag, name: str) -> str:
    return str(element.get(name, ""))


def _title(root: Tag) -> str:
    """Return the page's title without the name of the site."""
    element = root.find("title")
    whole = _text(element) if element else ""
    parts = re.split(r" [|\-–—\\/>»] ", whole)
    short = whole if len(parts) == 1 else whole[: whole.rindex(parts[-1])].rstrip(" |-–—\\/>»")
    return whole if len(short.split()) < 3 and len(parts) > 1 else short


def _clear(page: Tag, title: str, *, strict: bool) -> None:
    """Remove what is hidden or not text; when strict, also the byline and elements whose class or id suggests navigation and the like."""
    repeated, byline = title, strict
    for element in page.find_all():
        if byline and _is_byline(element):
            element.extract()
            byline = False
        elif element.name in _NEVER or _hidden(element) or (strict and _unlikely(element)):
            element.extract()
        elif repeated and element.name in ("h1", "h2") and _alike(repeated, element.get_text()):
            element.extract()
            repeated = ""


def _is_byline(element: Tag) -> bool:
    says = _attribute(element, "rel") == "author" or _BYLINE.search(_named(element)) is not None
    return says and 0 < len(element.get_text().strip()) < 100


def _hidden(element: Tag) -> bool:
    style = _attribute(element, "style").replace(" ", "")
    return "display:none" in style or element.has_attr("hidden") or element.get("aria-hidden") == "true"


def _named(element: Tag) -> str:
    return f"{_attribute(element, 'class')} {_attribute(element, 'id')}"


def _unlikely(element: Tag) -> bool:
    if element.get("role") in _ROLES:
        return True
    if element.name in ("a", "body", "article", "main"):
        return False
    return _UNLIKELY.search(_named(element)) is not None and _PERHAPS.search(_named(element)) is None


def _alike(title: str, heading: str) -> bool:
    """True if more than three quarters of a heading, by letters, are words of the title."""
    known, words = (re.findall(r"\w+", text.lower()) for text in (title, heading))
    if not known or not words:
        return False
    other = [word for word in words if word not in known]
    return 1 - len(" ".join(other)) / len(" ".join(words)) > 0.75


def _content(page: Tag, *, weighing: bool) -> Tag:
    """Return a new element with the best element and the siblings that belong to it; with the whole page if none scores."""
    found = Tag(name="div")
    # Tags compare by content, so two alike would share a score: they are told apart by id().
    scored = _scores(page, weighing=weighing)
    if not scored:
        found.extend(list(page.children))
        return found
    scores = {id(element): score for element, score in scored}
    best, highest = max(scored, key=lambda item: item[1])
    while best.parent is not None and best.parent is not page and len(_elements(best.parent)) == 1:
        best = best.parent
    for sibling in _elements(best.parent) if best.parent is not None else [best]:
        bonus = 0.2 * highest if sibling.get("class") == _attribute(best, "class") else 0.0
        good = scores.get(id(sibling), float("-inf")) + bonus >= max(10.0, 0.2 * highest)
        if sibling is best or good or _is_sentence(sibling):
            found.append(sibling)
    return found


def _elements(parent: Tag) -> list[Tag]:
    return list(parent.find_all(recursive=False))


def _scores(page: Tag, *, weighing: bool) -> list[tuple[Tag, float]]:
    """Return elements scored by their running text, less for those full of links."""
    elements: dict[int, Tag] = {}
    scores: dict[int, float] = {}
    for element in page.find_all():
        text = _text(element)
        if not _is_paragraph(element) or len(text) < _SHORTEST:
            continue
        points = 1 + len(text.split(",")) + min(len(text) // 100, 3)
        # Points thin out upwards, so that the nearest element around many paragraphs wins, and not the body.
        for level, ancestor in enumerate(islice(element.parents, 5)):
            if elements.setdefault(id(ancestor), ancestor) and id(ancestor) not in scores:
                scores[id(ancestor)] = _BASE.get(ancestor.name, 0) + (_weight(ancestor) if weighing else 0)
            scores[id(ancestor)] += points / (1 if level == 0 else 2 if level == 1 else level * 3)
    return [(element, scores[id(element)] * (1 - _link_density(element))) for element in elements.values()]


def _is_paragraph(element: Tag) -> bool:
    if element.name == "div":
        return not any(child.name in _BLOCKS for child in _elements(element))
    return element.name in _SCORED


def _weight(element: Tag) -> int:
    names = (_attribute(element, "class"), _attribute(element, "id"))
    return sum(25 * (_GOOD.search(name) is not None) - 25 * (_BAD.search(name) is not None) for name in names)


def _link_density(element: Tag) -> float:
    length = len(_text(element))
    return sum(len(_text(link)) for link in element.find_all("a")) / length if length else 0.0


def _is_sentence(element: Tag) -> bool:
    """True if a sibling is a paragraph of running text."""
    if element.name != "p":
        return False
    text, density = element.get_text().strip(), _link_density(element)
    return (len(text) > 80 and density < 0.25) or (
        0 < len(text) < 80 and density == 0 and re.search(r"\.( |$)", text) is not None
    )


def _tidy(found: Tag) -> None:
    """Turn first-level headings into second-level ones; remove empty paragraphs and lists, and lists of links."""
    for element in found.find_all():
        if element.name == "h1":
            element.name = "h2"
        empty = element.name == "p" and not element.get_text().strip() and not element.find("img")
        lists_links = element.name in ("ul", "ol", "nav", "header") and _link_density(element) > 0.5
        if empty or (lists_links and _weight(element) < 25):
            element.extract()
