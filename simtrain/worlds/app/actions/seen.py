"""A page as an agent sees it: its accessibility tree, and the way from what is named there back to the elements."""

from collections.abc import Mapping
from functools import cached_property

from selectolax.lexbor import LexborHTMLParser, LexborNode

from simtrain.worlds.app.accessibility.document import Element
from simtrain.worlds.app.accessibility.form_state import FormState
from simtrain.worlds.app.accessibility.playwright_form import Refs, write_snapshot
from simtrain.worlds.app.accessibility.tree import Node, PageTree, read_tree, walk
from simtrain.worlds.app.browser.nodes import attribute, put
from simtrain.worlds.app.browser.page import OpenPage

REF, NAMED = "simtrain-ref", "simtrain-named"
"""Attributes of an element: its ref in the last snapshot, and the role and name that it had there."""


def elements_of(document: LexborHTMLParser) -> list[LexborNode]:
    """Return the elements of a document in order; an element's place is its position in the tree."""
    root = document.root
    if root is None:
        return []
    return [node for node in root.traverse() if node.tag is not None and node.tag[0] not in "-!"]


class SeenPage:
    """One page as it stands. It is read once; whatever changes the page makes it out of date."""

    def __init__(self, page: OpenPage, stylesheets: Mapping[str, str]) -> None:
        self.page = page
        self.document = page.document
        self._stylesheets = stylesheets
        self._written: str | None = None

    @cached_property
    def tree(self) -> PageTree:
        """The accessibility tree."""
        focused = self.page.focused
        place = next(
            (
                place
                for place, node in enumerate(self.elements)
                if focused is not None and node.mem_id == focused.mem_id
            ),
            None,
        )
        return read_tree(self.document, stylesheets=self._stylesheets, state=FormState(focused=place))

    @cached_property
    def elements(self) -> list[LexborNode]:
        """The elements of the page in document order."""
        return elements_of(self.document)

    @cached_property
    def nodes(self) -> list[Node]:
        """The nodes of the tree, in the order in which they are read."""
        return walk(self.tree.children)

    def element(self, node: LexborNode) -> Element | None:
        """Return what the tree knows of an element."""
        return self.tree.page.by_memory.get(node.mem_id)

    def node_of(self, node: LexborNode) -> Node | None:
        """Return the node of an element; None if it is not in the tree."""
        return next((one for one in self.nodes if self.elements[one.element.position].mem_id == node.mem_id), None)

    def snapshot(self) -> str:
        """Return the page in the form of Playwright; its elements get the refs that they have there."""
        if self._written is None:
            self._written = write_snapshot(self.tree, _PageRefs(self))[0]
        return self._written

    def snapshot_of(self, node: LexborNode) -> str:
        """Return the part of the last snapshot that an element is the root of; the whole one for an element without a ref."""
        text = self.snapshot()
        ref = attribute(node, REF)
        lines = text.split("\n")
        start = next((index for index, line in enumerate(lines) if f"[ref={ref}]" in line), None)
        if start is None:
            return text
        indent = len(lines[start]) - len(lines[start].lstrip())
        inner = [lines[start]]
        for line in lines[start + 1 :]:
            if len(line) - len(line.lstrip()) <= indent:
                break
            inner.append(line)
        return "\n".join(line[indent:] for line in inner)

    def by_ref(self, ref: str) -> LexborNode | None:
        """Return the element that has a ref in the last snapshot."""
        return self.marked_with(REF, ref)

    def marked_with(self, name: str, value: str) -> LexborNode | None:
        """Return the element that has a mark of ours with this value."""
        return next((node for node in self.document.css(f"[{name}]") if attribute(node, name) == value), None)


class _PageRefs(Refs):
    """Refs that stay with their elements, whatever is inserted before them."""

    def __init__(self, seen: SeenPage) -> None:
        super().__init__("" if seen.page.serial <= 1 else f"f{seen.page.serial - 1}")
        self._seen = seen

    def give(self, node: Node) -> str:
        element = self._seen.elements[node.element.position]
        named = f"{node.role} {node.name}"
        given = attribute(element, REF)
        if given is None or attribute(element, NAMED) != named:
            self._seen.page.refs += 1
            given = f"{self.prefix}e{self._seen.page.refs}"
            put(element, REF, given)
            put(element, NAMED, named)
            self._seen.page.marked()
        return given
