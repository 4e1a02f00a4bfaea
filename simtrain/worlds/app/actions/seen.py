"""A page as an agent sees it: its accessibility tree, and the way from what is named there back to the elements."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from selectolax.lexbor import LexborHTMLParser, LexborNode

from simtrain.worlds.app.accessibility.document import Element
from simtrain.worlds.app.accessibility.form_state import FormState
from simtrain.worlds.app.accessibility.playwright_form import Refs, write_nodes
from simtrain.worlds.app.accessibility.tree import Node, PageTree, read_tree
from simtrain.worlds.app.actions.fresh_pages import FreshPage, fresh_page
from simtrain.worlds.app.browser.nodes import attribute, put, same, upwards
from simtrain.worlds.app.browser.page import OpenPage

REF = "simtrain-ref"
"""The attribute of an element with its ref in the last snapshot, and the role and name that it had there."""


def elements_of(document: LexborHTMLParser) -> list[LexborNode]:
    """Return the elements of a document in order; an element's place is its position in the tree."""
    root = document.root
    if root is None:
        return []
    found = [node for node in root.traverse() if (tag := node.tag) is not None and tag[0] not in "-!"]
    if all(node.tag != "noscript" for node in found):
        return found
    # What is in a noscript element is no element for the tree.
    return [node for node in found if all(above.tag != "noscript" for above in upwards(node) if not same(above, node))]


class SeenPage:
    """One page as it stands. It is read once; whatever changes the page makes it out of date."""

    def __init__(self, page: OpenPage, stylesheets: Mapping[str, str]) -> None:
        self.page = page
        self.document = page.document
        self._stylesheets = stylesheets
        self._written: str | None = None

    @cached_property
    def _fresh(self) -> FreshPage | None:
        """What is known of the page if nobody has changed it since it was loaded."""
        if self.page.changed:
            return None
        fresh = fresh_page(self.page.source, tuple(self._stylesheets.items()), self._focused)
        # A copy of a page was written as HTML and read again, which may give other elements where HTML is broken.
        return fresh if fresh is not None and len(fresh.tree.page.elements) == len(self.elements) else None

    @property
    def _focused(self) -> int | None:
        focused = self.page.focused
        return None if focused is None else self._positions.get(focused.mem_id)

    @cached_property
    def tree(self) -> PageTree:
        """The accessibility tree."""
        if self._fresh is not None:
            return self._fresh.tree
        return read_tree(self.document, stylesheets=self._stylesheets, state=FormState(focused=self._focused))

    @cached_property
    def elements(self) -> list[LexborNode]:
        """The elements of the page in document order."""
        return elements_of(self.document)

    @cached_property
    def _positions(self) -> dict[int, int]:
        return {node.mem_id: position for position, node in enumerate(self.elements)}

    @cached_property
    def _built(self) -> tuple[list[Node | str], list[Node]]:
        return self.tree.build()

    @property
    def nodes(self) -> Sequence[Node]:
        """The nodes of the tree, in the order in which they are read."""
        return self._built[1] if self._fresh is None else self._fresh.nodes

    def element(self, node: LexborNode) -> Element | None:
        """Return what the tree knows of an element."""
        position = self._positions.get(node.mem_id)
        return None if position is None else self.tree.page.elements[position]

    def node_of(self, node: LexborNode) -> Node | None:
        """Return the node of an element; None if it is not in the tree."""
        position = self._positions.get(node.mem_id)
        return next((one for one in self.nodes if one.element.position == position), None)

    def snapshot(self) -> str:
        """Return the page in the form of Playwright; its elements get the refs that they have there."""
        if self._written is None:
            self._written = self._write()
        return self._written

    def _write(self) -> str:
        refs = _PageRefs(self)
        if self._fresh is None:
            return write_nodes(self._built[0], refs)[0]
        if self.page.refs == 0:
            refs.mark_all((self.elements[position], named) for position, named in self._fresh.given)
        return self._fresh.snapshot(refs.prefix)

    def snapshot_of(self, node: LexborNode) -> str:
        """Return the part of the last snapshot that an element is the root of; the whole one for an element without a ref."""
        text = self.snapshot()
        ref = (attribute(node, REF) or "").partition(" ")[0]
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
        return self.document.css_first(f'[{REF}^="{ref} "]')

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
        ref, _, held = (attribute(element, REF) or "").partition(" ")
        return ref if ref and held == named else self.mark(element, named)

    def mark(self, element: LexborNode, named: str) -> str:
        """Give an element the next ref, and note its role and name."""
        self.mark_all([(element, named)])
        return f"{self.prefix}e{self._seen.page.refs}"

    def mark_all(self, elements: Iterable[tuple[LexborNode, str]]) -> None:
        """Give each element the next ref, and note its role and name."""
        page, prefix = self._seen.page, self.prefix
        number = page.refs
        for element, named in elements:
            number += 1
            put(element, REF, f"{prefix}e{number} {named}")
        page.refs = number
        page.marked()
