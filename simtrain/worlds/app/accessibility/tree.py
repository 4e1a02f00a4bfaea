"""The accessibility tree of a page: nodes with role, name and states, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser

from simtrain.worlds.app.accessibility.boxes import has_area, is_inline
from simtrain.worlds.app.accessibility.cascade import apply_styles
from simtrain.worlds.app.accessibility.document import Element, HtmlDocument
from simtrain.worlds.app.accessibility.form_state import UNTOUCHED, FormState, type_of, value_of
from simtrain.worlds.app.accessibility.names import NAMING, AccessibleNames, single_spaced
from simtrain.worlds.app.accessibility.roles import role_of
from simtrain.worlds.app.accessibility.states import STATEFUL, focused_element, written_states
from simtrain.worlds.app.accessibility.stylesheets import PassedOver, Stylesheet, read_stylesheet


class Node:
    """A node: what it is, and its children, which are nodes and texts."""

    __slots__ = (
        "active",
        "children",
        "element",
        "name",
        "named_by",
        "placeholder",
        "pointer",
        "reachable",
        "ref",
        "role",
        "shown_name",
        "states",
        "url",
    )

    def __init__(self, element: Element, role: str, reachable: bool, active: bool, states: str) -> None:
        self.element = element
        self.role = role
        self.name = ""
        # Empty where the snapshot leaves out a name that repeats what is in the node.
        self.shown_name = ""
        # It has an area that takes clicks, so that an agent can act on it.
        self.reachable = reachable
        self.active = active
        self.pointer = element.style.pointer
        self.states = states
        self.url: str | None = None
        self.placeholder: str | None = None
        self.children: list[Node | str] = []
        # The nodes whose text its name repeats.
        self.named_by: Sequence[Node] = ()
        self.ref = ""


@dataclass(frozen=True, slots=True)
class PageTree:
    """A page as a browser shows it, what its forms hold, and what of its stylesheets was passed over."""

    page: HtmlDocument
    state: FormState
    passed_over: list[PassedOver]

    @property
    def children(self) -> list[Node | str]:
        """The tree as Playwright builds it: the children of its root, made anew on each call."""
        return self.build()[0]

    def build(self) -> tuple[list[Node | str], list[Node]]:
        """The children of the root, made anew, and all nodes in the order in which they are read."""
        return _Builder(self.page, self.state, AccessibleNames(self.page, self.state)).build()


def read_tree(
    html: str | LexborHTMLParser, *, stylesheets: Mapping[str, str] | None = None, state: FormState = UNTOUCHED
) -> PageTree:
    """Read a page, or a parsed document, as a browser at rest shows it, with what its forms hold.

    `stylesheets` gives the text of each sheet that the page links to, by its `href`; one that is missing counts as empty.
    """
    page = HtmlDocument(html)
    passed_over = style_page(page, stylesheets or {})
    return PageTree(page, state, passed_over)


def style_page(page: HtmlDocument, stylesheets: Mapping[str, str]) -> list[PassedOver]:
    """Apply the stylesheets of a page in their order; returns what was passed over."""
    sheets: list[Stylesheet] = []
    for element in page.elements:
        if element.tag == "style":
            sheets.append(read_stylesheet(element.text()))
        elif element.tag == "link" and "stylesheet" in element.attributes.get("rel", "").lower().split():
            sheets.append(read_stylesheet(stylesheets.get(element.attributes.get("href", ""), "")))
    passed_over = [passed for sheet in sheets for passed in sheet.passed_over]
    return passed_over + apply_styles(page, sheets)


class _Builder:
    """Builds the tree in one walk over the elements."""

    def __init__(self, page: HtmlDocument, state: FormState, names: AccessibleNames) -> None:
        self._page = page
        self._state = state
        self._names = names
        self._focused = focused_element(page, state)
        self._nodes: dict[Element, Node] = {}
        # Of a page on which an element may be met twice.
        self._visited: set[Element] = set()
        self._read: list[Node] = []

    def build(self) -> tuple[list[Node | str], list[Node]]:
        children: list[Node | str] = []
        self._visit(self._page.body, children, None)
        return children, self._read

    def _visit(self, element: Element, siblings: list[Node | str], above: Node | None) -> None:
        if self._page.owning:
            if element in self._visited:
                return
            self._visited.add(element)
        concealed = element.concealed
        if concealed is None:
            concealed = self._names.is_hidden(element)
        visible = not concealed or (element.hidden and has_area(element))
        role = self._role(element) if visible else None
        if role is None:
            self._children(element, siblings, above, visible=visible)
            if above is not None and above.role == "link" and "href" in element.attributes:
                # Playwright tells what has no node of its own by the node around it.
                above.url = _without_data(element.attributes["href"])
            return
        tag, attributes, style = element.tag, element.attributes, element.style
        focused = element is self._focused
        states = ""
        if attributes or focused or tag in STATEFUL or element.disabling:
            states = written_states(element, role, self._page, self._state, focused=focused)
        node = Node(element, role, style.events and has_area(element), focused, states)
        if node.reachable:
            self._nodes[element] = node
        siblings.append(node)
        self._read.append(node)
        if not attributes:
            text = self._names.of_text(element, role)
            if text is not None:
                # Named by its only text, which a snapshot leaves out again.
                node.name = node.shown_name = single_spaced(text)
                node.children.append(text)
                return
        if tag in ("input", "textarea") and type_of(element) not in ("checkbox", "radio", "file"):
            node.children.append(value_of(element, self._state))
        self._children(element, node.children, node, visible=visible)
        if role == "iframe" or (role == "generic" and tag != "summary" and NAMING.isdisjoint(attributes)):
            name = ""
        else:
            # Last, since its name repeats those of what is in it.
            name, sources = self._names.name_of(element)
            node.name = node.shown_name = name
            if sources and node.reachable:
                node.named_by = [
                    other for source in sources if (other := self._nodes.get(source)) is not None and other is not node
                ]
        if role == "link" and "href" in attributes:
            node.url = _without_data(attributes["href"])
        elif role == "textbox" and (hint := attributes.get("placeholder")) is not None and hint != name:
            node.placeholder = hint

    def _role(self, element: Element) -> str | None:
        """The role of its node; None where it has none of its own."""
        role = role_of(element, self._page) or "generic"
        if element.tag == "iframe":
            return "iframe"
        if role in ("presentation", "none"):
            return None
        if role == "generic":
            children = element.children
            if len(children) == 1 and isinstance(children[0], str) and is_inline(element):
                return None
        return role

    def _children(self, element: Element, into: list[Node | str], node: Node | None, *, visible: bool) -> None:
        style, attributes, children = element.style, element.attributes, element.children
        block = style.display != "inline" or element.tag == "br"
        silent = (
            not visible
            or (node is not None and node.role == "textbox")
            or (element.tag == "details" and "open" not in attributes)
        )
        owns = "aria-owns" in attributes
        if len(children) == 1 and not owns and style.before is None and style.after is None:
            only = children[0]
            if isinstance(only, str):
                text = "" if silent else only
                into.append(f" {text} " if block else text)
                return
        if block:
            into.append(" ")
        if style.before:
            into.append(style.before)
        for child in children:
            if isinstance(child, str):
                if not silent:
                    into.append(child)
            else:
                self._visit(child, into, node)
        if owns:
            for owned in self._page.referred(attributes["aria-owns"]):
                self._visit(owned, into, node)
        if style.after:
            into.append(style.after)
        if block:
            into.append(" ")


def _without_data(url: str) -> str:
    """The address; of a `data:` address only what kind of data it is."""
    if not url.startswith("data:") or "," not in url:
        return url
    return url[: url.index(",") + 1] + "…"
