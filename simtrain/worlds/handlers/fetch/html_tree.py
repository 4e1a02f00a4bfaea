"""HTML as a tree: elements and texts, read leniently."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import TypeAlias

VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})
BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "dd", "details", "dialog", "div", "dl", "dt", "fieldset",
     "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav",
     "ol", "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul"}
)  # fmt: skip
_CLOSES_P = BLOCKS - {"body", "dd", "dt", "li", "tbody", "td", "tfoot", "th", "thead", "tr"}
_CLOSED_BY = {
    "li": {"li"}, "dt": {"dt", "dd"}, "dd": {"dt", "dd"}, "tr": {"tr", "td", "th"}, "td": {"td", "th"}, "th": {"td", "th"},
    "option": {"option"},
}  # fmt: skip
_STOPS = {
    "li": {"ul", "ol"},
    "dt": {"dl"},
    "dd": {"dl"},
    "tr": {"table"},
    "td": {"tr"},
    "th": {"tr"},
    "option": {"select"},
}
DEEPEST = 200


class Element:
    """An element: its name, attributes and content."""

    __slots__ = ("attributes", "children", "name", "parent")

    def __init__(self, name: str, attributes: dict[str, str] | None = None) -> None:
        self.name = name
        self.attributes = attributes or {}
        self.children: list[Node] = []
        self.parent: Element | None = None

    def add(self, child: Node) -> None:
        """Put a node at the end."""
        self.children.append(child)
        if isinstance(child, Element):
            child.parent = self

    def elements(self) -> list[Element]:
        """Return the child elements."""
        return [child for child in self.children if isinstance(child, Element)]

    def inside(self) -> Iterator[Element]:
        """Yield all elements in it, in the order of the text."""
        for child in self.elements():
            yield child
            yield from child.inside()

    def text(self) -> str:
        """Return all text in it."""
        return "".join(child if isinstance(child, str) else child.text() for child in self.children)

    def remove(self) -> None:
        """Take it out of its parent."""
        if self.parent is not None:
            self.parent.children = [child for child in self.parent.children if child is not self]
            self.parent = None

    def copy(self) -> Element:
        """Return a copy with all that is in it."""
        other = Element(self.name, dict(self.attributes))
        for child in self.children:
            other.add(child if isinstance(child, str) else child.copy())
        return other


Node: TypeAlias = Element | str


def parse(html: str) -> Element:
    """Return the root of a document; whatever is not closed ends with what holds it."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.root


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("html")
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "html":
            self.root.attributes.update(attributes)
            return
        if tag in _CLOSES_P:
            self._close({"p"}, {"body", "td", "th", "li", "div", "blockquote", "button"})
        if tag in _CLOSED_BY:
            self._close(_CLOSED_BY[tag], _STOPS[tag])
        element = Element(tag, attributes)
        self._open[-1].add(element)
        if tag not in VOID and len(self._open) < DEEPEST:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        self._close({tag}, set())

    def handle_data(self, data: str) -> None:
        self._open[-1].add(data)

    def _close(self, names: set[str], stops: set[str]) -> None:
        """End the innermost open element of these names with all in it, unless one of `stops` holds it back."""
        for place in range(len(self._open) - 1, 0, -1):
            if self._open[place].name in names:
                del self._open[place:]
                return
            if self._open[place].name in stops:
                return
