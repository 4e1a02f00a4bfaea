"""An HTML page as a tree of elements and texts, as a browser's parser builds it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from selectolax.lexbor import LexborHTMLParser, LexborNode


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


# What a browser never renders, whatever a stylesheet says.
UNRENDERED = frozenset({"script", "style", "noscript", "template"})


# Elements nested deeper than this are read as if they were beside each other. (Chromium does so from 512 on.)
DEEPEST = 150


class Style:
    """What the stylesheets decide of one element, as far as an accessibility tree depends on it."""

    __slots__ = (
        "after",
        "before",
        "contains_floats",
        "display",
        "events",
        "floating",
        "markers",
        "out_of_flow",
        "padded",
        "pointer",
        "preserves_spaces",
        "transform",
        "visible",
        "zero",
    )

    def __init__(
        self, display: str, *, visible: bool, pointer: bool, events: bool, preserves_spaces: bool, transform: str
    ) -> None:
        self.display = display
        self.visible = visible
        self.pointer = pointer
        self.events = events
        self.preserves_spaces = preserves_spaces
        # `uppercase`, `lowercase`, `capitalize`, or the empty text.
        self.transform = transform
        # Texts of the pseudo-elements ::before and ::after; None where there is none.
        self.before: str | None = None
        self.after: str | None = None
        self.out_of_flow = False
        self.floating = False
        self.contains_floats = False
        self.markers = True
        # An empty box still has an area; a full one has none.
        self.padded = False
        self.zero = False


class Element:
    """An element: its tag and attributes, its children in order, and its number in document order, from 0."""

    __slots__ = (
        "area",
        "attributes",
        "children",
        "concealed",
        "depth",
        "disabling",
        "hidden",
        "parent",
        "position",
        "rendered",
        "role",
        "style",
        "tag",
    )

    # Filled in by `apply_styles`, before anyone else reads the page.
    style: Style
    # Not `display: none`, nor inside an element that is, nor in the closed part of a details element.
    rendered: bool
    # Inside an element that is not displayed or has `aria-hidden`.
    hidden: bool

    def __init__(self, tag: str, attributes: dict[str, str], parent: Element | None, position: int) -> None:
        self.tag = tag
        self.attributes = attributes
        self.parent = parent
        self.children: list[Element | str] = []
        self.position = position
        self.depth: int = 0 if parent is None else parent.depth + 1
        # What `aria-disabled` says here or around it: `true`, `false`, or nothing.
        self.disabling: str = parent.disabling if parent is not None else ""
        if "aria-disabled" in attributes and (stated := attributes["aria-disabled"].lower()) in ("true", "false"):
            self.disabling = stated
        # Worked out when first asked for.
        self.area: bool | None = None
        self.concealed: bool | None = None
        self.role: str | None = ""

    def elements(self) -> Iterator[Element]:
        """Its children that are elements."""
        return (child for child in self.children if not isinstance(child, str))

    def descendants(self) -> Iterator[Element]:
        """The elements within it, in document order."""
        for child in self.children:
            if not isinstance(child, str):
                yield child
                yield from child.descendants()

    def text(self) -> str:
        """All the text within it, as it stands."""
        return "".join(child if isinstance(child, str) else child.text() for child in self.children)

    def closest(self, *tags: str) -> Element | None:
        """The nearest of itself and its ancestors with one of these tags."""
        element: Element | None = self
        while element is not None and element.tag not in tags:
            element = element.parent
        return element

    def contains(self, other: Element) -> bool:
        """Whether the other is this element or within it."""
        element: Element | None = other
        while element is not None and element is not self:
            element = element.parent
        return element is not None


class HtmlDocument:
    """A parsed page. Its elements know their parents for as long as it is there."""

    __slots__ = ("by_id", "by_memory", "cells", "elements", "labels", "nodes", "owning", "parser", "passed_on", "root")

    def __init__(self, html: str | LexborHTMLParser) -> None:
        """Read a page, or a document that is parsed already. A parser of HTML accepts any text."""
        self.elements: list[Element] = []
        self.parser = LexborHTMLParser(html) if isinstance(html, str) else html
        # What the parser has for each of them.
        self.nodes: list[LexborNode] = []
        self.by_id: dict[str, Element] = {}
        # Whether some element owns others that are not within it.
        self.owning = False
        # The parser's own key of a node, by which it names what a selector finds.
        self.by_memory: dict[int, Element] = {}
        root = self.parser.root
        if root is None:
            raise ValueError("the parser of HTML gave no tree")
        parent = self._add(root, root.tag or "", None)
        # Walked from child to sibling: asking each node for its parent, or for a list of its children, takes several times as long.
        entered: list[tuple[LexborNode, Element]] = []
        node = root.child
        while True:
            if node is None:
                if not entered:
                    break
                node, parent = entered.pop()
            elif (tag := node.tag) == "-text":
                if text := node.text_content:
                    parent.children.append(text)
            # A browser that runs scripts reads what is in a noscript element as text.
            elif tag is not None and tag[0] not in "-!" and parent.tag != "noscript":
                entered.append((node, parent))
                parent = self._add(node, tag, parent)
                node = node.child
                continue
            node = node.next
        # By position, the role `none` or `presentation` that an element passes on to what belongs to it, or the empty text.
        self.passed_on: dict[int, str] = {}
        # By the position of its row, the role of a cell that states none.
        self.cells: dict[int, str] = {}
        self.root = self.elements[0]
        self.labels: dict[int, list[Element]] = {}
        self.find_labels()

    def __del__(self) -> None:
        # Without circles a page is freed as soon as it is left, and the next one takes its memory, which is still in the cache.
        for element in self.elements:
            element.parent = None

    def _add(self, node: LexborNode, tag: str, parent: Element | None) -> Element:
        while parent is not None and parent.depth >= DEEPEST:
            parent = parent.parent
        given = node.attributes
        attributes = cast(dict[str, str], given)
        if given and None in given.values():
            attributes = {name: value or "" for name, value in given.items()}
        element = Element(tag, attributes, parent, len(self.elements))
        self.elements.append(element)
        self.nodes.append(node)
        self.by_memory[node.mem_id] = element
        if parent is not None:
            parent.children.append(element)
        if attributes:
            if name := attributes.get("id"):
                self.by_id.setdefault(name, element)
            if "aria-owns" in attributes:
                self.owning = True
        return element

    @property
    def body(self) -> Element:
        """The body; the root where a page has none."""
        return next((element for element in self.root.elements() if element.tag in ("body", "frameset")), self.root)

    def referred(self, ids: str | None) -> list[Element]:
        """The elements that a list of ids names, once each; unknown ids are left out."""
        found = [self.by_id[name] for name in (ids or "").split() if name in self.by_id]
        return list(dict.fromkeys(found))

    def find_labels(self) -> None:
        """Note for each control, by its position, the labels that name it."""
        for element in self.elements:
            if element.tag == "label":
                control = self.labelled_control(element)
                if control is not None:
                    self.labels.setdefault(control.position, []).append(element)

    def labelled_control(self, label: Element) -> Element | None:
        """The control that a label element names."""
        if "for" in label.attributes:
            named = self.by_id.get(label.attributes["for"])
            return named if named is not None and is_labelable(named) else None
        return next((inner for inner in label.descendants() if is_labelable(inner)), None)


LABELABLE = frozenset({"button", "input", "meter", "output", "progress", "select", "textarea"})


def is_labelable(element: Element) -> bool:
    """Whether a label can name it (HTML, "labelable element")."""
    return element.tag in LABELABLE and element.attributes.get("type", "").lower() != "hidden"
