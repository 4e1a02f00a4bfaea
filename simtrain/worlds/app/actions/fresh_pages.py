"""Pages as they were loaded, read once for all episodes that show the same one."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from selectolax.lexbor import LexborHTMLParser

from simtrain.worlds.app.accessibility.form_state import FormState
from simtrain.worlds.app.accessibility.playwright_form import Refs, write_nodes
from simtrain.worlds.app.accessibility.tree import Node, PageTree, read_tree

MOST_KEPT = 64
"""Pages that are kept, of all apps together; a page of 300 nodes takes 0.6 MB."""

LONGEST_KEPT = 60_000
"""The longest page that is kept, in characters."""

_FIRST = "[ref=e"


@dataclass(frozen=True, slots=True)
class FreshPage:
    """A page that nobody has acted on: its tree, its nodes in the order of reading, and its snapshot. Nobody changes it."""

    tree: PageTree
    nodes: Sequence[Node]
    written: str
    given: Sequence[tuple[int, str, str]]
    """The position of the element that has each ref, from 1 on, with its role and name."""

    def snapshot(self, prefix: str) -> str:
        """Return the page in the form of Playwright, with refs that begin with `prefix`."""
        return self.written.replace(_FIRST, f"[ref={prefix}e") if prefix else self.written


class _NotedRefs(Refs):
    def __init__(self) -> None:
        super().__init__()
        self.given: list[tuple[int, str, str]] = []

    def give(self, node: Node) -> str:
        self.given.append((node.element.position, node.role, node.name))
        return f"e{len(self.given)}"


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A page as it was loaded. `parsed` is its document, for whoever reads it first; None where there is none."""

    html: str
    stylesheets: tuple[tuple[str, str], ...]
    focused: int | None
    parsed: LexborHTMLParser | None = field(compare=False)


def fresh_page(
    html: str, stylesheets: Sequence[tuple[str, str]], focused: int | None, parsed: LexborHTMLParser | None = None
) -> FreshPage | None:
    """Return a page as it was loaded, with the focus at a position; None for one that is not kept."""
    if len(html) > LONGEST_KEPT:
        return None
    return _read(_Loaded(html, tuple(stylesheets), focused, parsed))


@lru_cache(maxsize=MOST_KEPT)
def _read(page: _Loaded) -> FreshPage | None:
    tree = read_tree(
        page.parsed or page.html, stylesheets=dict(page.stylesheets), state=FormState(focused=page.focused)
    )
    children, nodes = tree.build()
    refs = _NotedRefs()
    written, positions = write_nodes(children, refs)
    if written.count(_FIRST) != len(positions):
        # A text of the page looks like a ref.
        return None
    return FreshPage(tree, nodes, written, refs.given)


forget_pages = _read.cache_clear
"""Forgets all pages, so that each is read anew."""
