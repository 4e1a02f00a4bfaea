"""The files of one machine: an immutable base that all episodes share, and what one episode changed, copied at the first write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from posixpath import dirname
from typing import Protocol

from simtrain.worlds.machine.nodes import PROC, TreeNode
from simtrain.worlds.machine.watching import TreeWatch

_NONE: frozenset[str] = frozenset()


class ComputedFiles(Protocol):
    """Files that are made when somebody looks."""

    def node(self, path: str) -> TreeNode | None:
        """Return what is at a path; None if there is nothing."""
        ...

    def names(self, path: str) -> frozenset[str]:
        """Return the names in a directory."""
        ...


class BaseTree:
    """The files that a machine begins with, by absolute path; never changed after it is made."""

    __slots__ = ("found", "names", "nodes", "used")

    def __init__(self, nodes: Mapping[str, TreeNode]) -> None:
        """Make the base of nodes by absolute path. Each directory on the way to a node must be among them."""
        self.nodes = nodes
        listed: dict[str, set[str]] = {path: set() for path, node in nodes.items() if node.kind == "directory"}
        for path in nodes:
            if path != "/":
                listed[dirname(path)].add(path[path.rindex("/") + 1 :])
        self.names: dict[str, frozenset[str]] = {path: frozenset(names) for path, names in listed.items()}
        self.used = sum(node.size for node in nodes.values())
        self.found: dict[Callable[[bytes], bool], list[str]] = {}


class FileTree:
    """The files of a machine in one episode. Paths are absolute, without links, `.` and `..`; nothing is checked here.

    `touched` are the paths written or removed since somebody last emptied it, in that order; `used` is the size of all files in bytes,
    `draws` how often a device was asked for chance, `shape` how often a directory was changed, replaced or dropped. `watch` is told what
    is looked at and replaced; None if nobody wants to know. `proc` is what is seen below /proc.
    """

    __slots__ = ("_base", "_names", "_nodes", "draws", "proc", "shape", "touched", "used", "watch")

    def __init__(self, base: BaseTree) -> None:
        self._base = base
        self._nodes: dict[str, TreeNode | None] = {}
        self._names: dict[str, set[str]] = {}
        self.touched: dict[str, None] = {}
        self.used = base.used
        self.draws = self.shape = 0
        self.watch: TreeWatch | None = None
        self.proc: ComputedFiles | None = None

    def any_content(self, fits: Callable[[bytes], bool]) -> bool:
        """True if the content of a file fits; what the base says is asked once for each function."""
        base = self._base
        if fits not in base.found:
            base.found[fits] = [path for path, node in base.nodes.items() if node.content and fits(node.content)]
        if any(path not in self._nodes for path in base.found[fits]):
            return True
        return any(node is not None and node.content and fits(node.content) for node in self._nodes.values())

    def copy(self) -> FileTree:
        """Return an independent copy; its cost grows with what the episode changed, not with the tree."""
        other = FileTree(self._base)
        other._nodes = dict(self._nodes)
        other._names = {path: set(names) for path, names in self._names.items()}
        other.touched, other.used, other.draws = dict(self.touched), self.used, self.draws
        other.proc = self.proc
        return other

    def become(self, other: FileTree) -> None:
        """Take over the files of a copy; what differs from it counts as touched."""
        for path in self.changed_since(other):
            self.touched[path] = None
        self._base, self._nodes = other._base, dict(other._nodes)
        self._names = {path: set(names) for path, names in other._names.items()}
        self.used, self.draws = other.used, other.draws
        self.shape += 1

    def changed_since(self, other: FileTree) -> dict[str, TreeNode | None]:
        """Return what was written or removed since a copy was made."""
        return {path: node for path, node in self._nodes.items() if other.get(path) is not node}

    def get(self, path: str) -> TreeNode | None:
        """Return the node at a path; None if there is none."""
        nodes = self._nodes
        found = nodes[path] if path in nodes else self._base.nodes.get(path)
        if found is None and path.startswith(PROC) and self.proc is not None:
            return self.proc.node(path)
        return found

    def names(self, path: str) -> set[str] | frozenset[str]:
        """Return the names in a directory, in no order."""
        if self.proc is not None and f"{path}/".startswith(PROC):
            return self.proc.names(path)
        found = self._names.get(path)
        return self._base.names.get(path, _NONE) if found is None else found

    def put(self, path: str, node: TreeNode, *, grows: bool = False) -> None:
        """Put a node at a path, whose directory exists. `grows` says that it is what is there with more behind it."""
        before = self.get(path)
        self.set(path, before, node, more=node.size - (0 if before is None else before.size), grows=grows)

    def set(self, path: str, before: TreeNode | None, node: TreeNode, *, more: int, grows: bool = False) -> None:
        """Do the same where it is known what is there, and by how many bytes the new one is larger."""
        if self.watch is not None and not grows:
            self.watch.replaced.add(path)
        self.used += more
        self._nodes[path] = node
        self.touched[path] = None
        if before is None:
            if path != "/":
                above, _, name = path.rpartition("/")
                self._listed(above or "/").add(name)
        elif before.kind == "directory":
            self.shape += 1

    def drop(self, path: str) -> None:
        """Remove the node at a path, which has no names of its own left."""
        before = self.get(path)
        if before is None:
            return
        if self.watch is not None:
            self.watch.replaced.add(path)
        self.used -= before.size
        self._nodes[path] = None
        if before.kind == "directory":
            self.shape += 1
        self._names.pop(path, None)
        if path in self._base.names:
            # Otherwise a new directory at the path would list what the base has there.
            self._names[path] = set()
        self.touched[path] = None
        self._listed(dirname(path)).discard(path[path.rindex("/") + 1 :])

    def take_over(self, before: FileTree, after: FileTree) -> bool:
        """Make the changes here that lead from one copy of this tree to a later one; return whether there are any."""
        paths = sorted(before._nodes.keys() | after._nodes.keys())
        changed = [path for path in paths if before.get(path) is not after.get(path)]
        # What is in a directory goes before it, and comes after it.
        for path in reversed(changed):
            if after.get(path) is None and not self.names(path):
                self.drop(path)
        for path in changed:
            node = after.get(path)
            if node is not None and (path == "/" or self.get(dirname(path)) is not None):
                self.put(path, node)
        return bool(changed)

    def count(self) -> int:
        """Return how many files, links and directories there are; those of /proc take no place on a disk."""
        base = self._base.nodes
        more = sum((node is not None) - (path in base) for path, node in self._nodes.items())
        return len(base) + more

    def below(self, path: str) -> Iterator[str]:
        """Yield a path and all paths below it, a directory before what is in it, names sorted."""
        yield path
        node = self.get(path)
        if node is not None and node.kind == "directory":
            for name in sorted(self.names(path)):
                yield from self.below(f"{path.rstrip('/')}/{name}")

    def _listed(self, path: str) -> set[str]:
        found = self._names.get(path)
        if found is None:
            found = self._names[path] = set(self._base.names.get(path, _NONE))
        return found
