"""What Playwright leaves out of a tree that is written for a model: empty wrappers, nameless pictures, names that repeat what they hold."""

from collections.abc import Callable, Sequence

from simtrain.worlds.app.accessibility.document import words
from simtrain.worlds.app.accessibility.names import single_spaced
from simtrain.worlds.app.accessibility.tree import Node

# Their names tell one from another, even where they repeat what is in them.
_IDENTIFIED = words(
    "alertdialog dialog banner complementary contentinfo form main navigation region search application document "
    "figure group grid listbox menu menubar radiogroup tablist tabpanel toolbar tree treegrid table columnheader "
    "rowheader"
)


def distil(children: list[Node | str], give_ref: Callable[[Node], str]) -> list[Node | str]:
    """The tree as it is written, with refs, which nodes that are left out use up as well. Changes children and shown names of the nodes."""
    return _Distiller(give_ref).children(children, None)


class _Distiller:
    def __init__(self, give_ref: Callable[[Node], str]) -> None:
        self._give_ref = give_ref
        self._above: list[Node] = []
        # Nodes that some name repeats and that have not been written yet.
        self._repeated: set[Node] = set()

    def children(self, children: list[Node | str], node: Node | None) -> list[Node | str]:
        """What is left of the children of a node, with neighbouring texts as one; nothing where a text only repeats its name."""
        kept: list[Node | str] = []
        text = ""
        if node is not None:
            self._above.append(node)
        for child in children:
            if isinstance(child, str):
                text += child
                continue
            if child.reachable:
                self._enter(child)
            inner = child.children
            if len(inner) == 1 and isinstance(inner[0], str):
                child.children = _told_by(child, inner[0])
            elif inner:
                child.children = self.children(inner, child)
            # Most nodes stay as they are.
            plain = not child.named_by and child.role != "generic" and child.role != "img"
            for one in (child,) if plain else self._leave(child):
                if text:
                    _keep_text(text, kept)
                    text = ""
                kept.append(one)
        if text:
            _keep_text(text, kept)
        if node is None:
            return kept
        self._above.pop()
        return [] if len(kept) == 1 and kept[0] == node.shown_name else kept

    def _enter(self, node: Node) -> None:
        node.ref = self._give_ref(node)
        if node.named_by:
            self._repeated.update(node.named_by)
        if self._repeated and (node.role != "generic" or not all(isinstance(child, str) for child in node.children)):
            self._repeated.discard(node)

    def _leave(self, node: Node) -> Sequence[Node | str]:
        """What stands for a node whose children are done: itself, the nodes in it, or nothing."""
        if node.role == "img" and not node.shown_name and not node.children and not self._is_target(node):
            return ()
        if node.named_by:
            self._drop_repeated_name(node)
        if node.role != "generic":
            return (node,)
        _take_in_text(node)
        above = self._above[-1] if self._above else None
        if (
            above is not None
            and above.shown_name
            and not _has_properties(node)
            and not node.active
            and _only_text(node) == above.shown_name
        ):
            if node.reachable:
                self._repeated.add(node)
            return ()
        if not node.shown_name and _wraps_one(node) and (node.children or not self._is_target(node)):
            return node.children
        return (node,)

    def _drop_repeated_name(self, node: Node) -> None:
        if not node.reachable:
            return
        if node.role not in _IDENTIFIED and self._repeated.isdisjoint(node.named_by):
            node.shown_name = ""
        else:
            self._repeated.difference_update(node.named_by)

    def _is_target(self, node: Node) -> bool:
        """Whether it is the outermost thing to click here."""
        return node.reachable and node.pointer and not any(above.reachable and above.pointer for above in self._above)


def _keep_text(text: str, kept: list[Node | str]) -> None:
    """Add a text as it is written, unless it is nothing but white space."""
    if not text.isspace() and (single := single_spaced(text)):
        kept.append(single)


def _told_by(node: Node, text: str) -> list[Node | str]:
    """What is left of the one text in a node: nothing where it only repeats its name."""
    single = single_spaced(text)
    return [single] if single and single != node.shown_name and not text.isspace() else []


def _wraps_one(node: Node) -> bool:
    """Whether there is no more in it than one node within reach."""
    return len(node.children) <= 1 and all(not isinstance(child, str) and child.reachable for child in node.children)


def _take_in_text(node: Node) -> None:
    """A wrapper around a wrapper around a text holds the text itself."""
    if _has_properties(node) or len(node.children) != 1:
        return
    child = node.children[0]
    if isinstance(child, str) or child.role != "generic" or child.shown_name or child.active or _has_properties(child):
        return
    if len(child.children) == 1 and isinstance(child.children[0], str):
        node.children = [child.children[0]]


def _has_properties(node: Node) -> bool:
    return node.url is not None or node.placeholder is not None or " [aria-hidden]" in node.states


def _only_text(node: Node) -> str | None:
    if node.shown_name:
        return None if node.children else node.shown_name
    return node.children[0] if len(node.children) == 1 and isinstance(node.children[0], str) else None
