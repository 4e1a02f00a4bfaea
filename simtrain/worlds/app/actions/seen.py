"""A page as an agent sees it: its accessibility tree, and the way from what is named there back to the elements."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from selectolax.lexbor import LexborHTMLParser, LexborNode

from simtrain.worlds.app.accessibility.document import Element
from simtrain.worlds.app.accessibility.form_state import FormState
from simtrain.worlds.app.accessibility.playwright_form import Refs, write_nodes
from simtrain.worlds.app.accessibility.tree import Node, PageTree, read_tree
from simtrain.worlds.app.actions.fresh_pages import FreshPage, fresh_page
from simtrain.worlds.app.browser.nodes import attribute, elements_of, put, same
from simtrain.worlds.app.browser.page import OpenPage

REF = "simtrain-ref"
"""The attribute of an element with its ref in the last snapshot, and the role and name that it had there."""


class SeenPage:
    """One page as it stands. It is read once; whatever changes the page makes it out of date."""

    def __init__(self, page: OpenPage, stylesheets: Mapping[str, str]) -> None:
        self.page = page
        self._stylesheets = stylesheets
        self._written: str | None = None
        self._given: Sequence[tuple[int, str, str]] | None = None
        """What has each ref, from 1 on, of a page that has had no others."""

    @property
    def prefix(self) -> str:
        """What refs begin with: nothing on the first page of a tab."""
        return "" if self.page.serial <= 1 else f"f{self.page.serial - 1}"

    @property
    def document(self) -> LexborHTMLParser:
        """The document of the page, with all marks."""
        return self.page.document

    @cached_property
    def _fresh(self) -> FreshPage | None:
        """What is known of the page if nobody has changed it since it was loaded."""
        if self.page.changed:
            return None
        fresh = fresh_page(self.page.source, tuple(self._stylesheets.items()), self._focused, self.page.loaded)
        if fresh is None or self._is_own(fresh.tree):
            return fresh
        # A copy of a page was written as HTML and read again, which may give other elements where HTML is broken.
        return fresh if len(fresh.tree.page.elements) == len(self._found) else None

    @property
    def _focused(self) -> int | None:
        focused = self.page.focused
        if focused is None:
            return None
        return next((position for position, node in enumerate(self._found) if same(node, focused)), None)

    @cached_property
    def tree(self) -> PageTree:
        """The accessibility tree."""
        if self._fresh is not None:
            return self._fresh.tree
        return read_tree(self.document, stylesheets=self._stylesheets, state=FormState(focused=self._focused))

    @cached_property
    def elements(self) -> list[LexborNode]:
        """The elements of the page in document order."""
        return self.tree.page.nodes if self._is_own(self.tree) else self._found

    @cached_property
    def _found(self) -> list[LexborNode]:
        """The same, for a page that somebody else's tree is of."""
        return elements_of(self.page.parsed)

    def _is_own(self, tree: PageTree) -> bool:
        """Whether a tree was read from this very document, whose nodes it knows."""
        return tree.page.parser is self.page.parsed

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
        page = self.tree.page
        if self._is_own(self.tree):
            return page.by_memory.get(node.mem_id)
        position = self._positions.get(node.mem_id)
        return None if position is None else page.elements[position]

    def node_of(self, node: LexborNode) -> Node | None:
        """Return the node of an element; None if it is not in the tree."""
        element = self.element(node)
        return next((one for one in self.nodes if one.element is element), None)

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
            # Most pages are left before an element is added or removed, so that nobody looks for the marks.
            self._given = self._fresh.given
            self.page.refs = len(self._given)
            self.page.mark_later(REF, _written_refs(self._given, refs.prefix))
        return self._fresh.snapshot(refs.prefix)

    def snapshot_of(self, node: LexborNode) -> str:
        """Return the part of the last snapshot that an element is the root of; the whole one for an element without a ref."""
        text = self.snapshot()
        self.page.write_marks()
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
        if self._given is None:
            return self.document.css_first(f'[{REF}^="{ref} "]')
        prefix, _, digits = ref.rpartition("e")
        if prefix != self.prefix or not digits.isdecimal() or not 1 <= (number := int(digits)) <= len(self._given):
            return None
        return self.elements[self._given[number - 1][0]] if digits == str(number) else None

    def marked_with(self, name: str, value: str) -> LexborNode | None:
        """Return the element that has a mark of ours with this value."""
        return next((node for node in self.document.css(f"[{name}]") if attribute(node, name) == value), None)


def _written_refs(given: Sequence[tuple[int, str, str]], prefix: str) -> Iterator[tuple[int, str]]:
    for number, (position, role, name) in enumerate(given, 1):
        yield position, f"{prefix}e{number} {role} {name}"


class _PageRefs(Refs):
    """Refs that stay with their elements, whatever is inserted before them."""

    def __init__(self, seen: SeenPage) -> None:
        super().__init__(seen.prefix)
        self._seen = seen

    def give(self, node: Node) -> str:
        element = self._seen.elements[node.element.position]
        named = f"{node.role} {node.name}"
        ref, _, held = (attribute(element, REF) or "").partition(" ")
        return ref if ref and held == named else self.mark(element, named)

    def mark(self, element: LexborNode, named: str) -> str:
        """Give an element the next ref, and note its role and name."""
        page = self._seen.page
        page.refs += 1
        ref = f"{self.prefix}e{page.refs}"
        put(element, REF, f"{ref} {named}")
        page.marked()
        return ref
