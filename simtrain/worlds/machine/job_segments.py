"""What a job in the background does, one segment for each moment at which it goes on after it has let time pass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from simtrain.worlds.machine.file_tree import FileTree
from simtrain.worlds.machine.nodes import TreeNode
from simtrain.worlds.machine.printed import Printed
from simtrain.worlds.machine.watching import TreeWatch

FIRST_PAUSES = 20
"""Times that a job may sleep before it is looked no further ahead."""


@dataclass(frozen=True, slots=True)
class Segment:
    """What a job does between two pauses, at one moment; segment 0, before the first pause, is done at once and is none of these.

    `nodes` is what it leaves at each path, `before` what it found there, `replaced` where it did not only add to that. `seen` and `listed`
    are what it looked at. `asked` counts what the tables had been asked before. One that is `open` has not been run: it is known only
    when it begins.
    """

    number: int
    moment: float
    asked: int
    nodes: Mapping[str, TreeNode | None] = field(default_factory=dict[str, "TreeNode | None"])
    before: Mapping[str, TreeNode | None] = field(default_factory=dict[str, "TreeNode | None"])
    replaced: frozenset[str] = frozenset()
    seen: Mapping[str, TreeNode | None] = field(default_factory=dict[str, "TreeNode | None"])
    listed: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    output: tuple[Printed, ...] = ()
    open: bool = False

    def holds(self, tree: FileTree) -> bool:
        """Return whether the job would do this in a tree: whether all that it looked at is the same there."""
        if self.open:
            return False
        same = all((found := tree.get(path)) is node or found == node for path, node in self.seen.items())
        return same and all(tree.names(path) == names for path, names in self.listed.items())

    def apply(self, tree: FileTree) -> None:
        """Do it to a tree."""
        for path in sorted(path for path, node in self.nodes.items() if node is None)[::-1]:
            if tree.get(path) is not None and not tree.names(path):
                tree.drop(path)
        for path in sorted(self.nodes):
            node = self.nodes[path]
            above = tree.get(path.rpartition("/")[0] or "/")
            if node is not None and above is not None and above.kind == "directory":
                before = self.before[path]
                # A new file that was not only added to replaces what others have made at its path meanwhile.
                new = path in self.replaced and (before is None or not before.content)
                tree.put(path, node if new else _grown(node, before, tree.get(path)))


def _grown(node: TreeNode, before: TreeNode | None, now: TreeNode | None) -> TreeNode:
    """Return a file that a job added to, with what others have added since."""
    if now is None or now is before or now.kind != "file" or node.kind != "file":
        return node
    found = b"" if before is None else before.content
    if not node.content.startswith(found):
        return node
    return now._replace(content=now.content + node.content[len(found) :], modified=node.modified)


@dataclass(slots=True)
class Recording:
    """A job that the engine is running: the machine as it was, and what the job has done so far.

    `level` is that of the shell which has started it: how many shells are within each other, -1 for none. `found` are the files that it
    meets after some of its pauses, where others have changed them. It is looked ahead up to `most` pauses; then, or where it asks the
    tables ahead of the time, it is `cut`: all that it does from there on is left out.
    """

    level: int
    command: str
    user: str
    started: float
    last: FileTree
    answers: Sequence[object]
    found: Mapping[int, FileTree] = field(default_factory=dict[int, FileTree])
    most: int = FIRST_PAUSES
    first: FileTree | None = None
    segments: list[Segment] = field(default_factory=list[Segment])
    pauses: int = 0
    started_within: int = 0
    output: list[Printed] = field(default_factory=list[Printed])
    cut: bool = False
    moment: float = 0.0
    asked: int = 0

    def pause(self, tree: FileTree) -> None:
        """Note what was done until now, before time passes."""
        self.close(tree)
        self.pauses += 1

    def close(self, tree: FileTree) -> None:
        """Note what was done since the last pause."""
        if self.cut:
            return
        if self.first is None:
            self.first = tree.copy()
            return
        found = self.changes(tree)
        if found.nodes or found.output or found.seen or found.listed:
            self.segments.append(found)
            self.output.clear()

    def changes(self, tree: FileTree) -> Segment:
        """Return what was done since the last pause."""
        nodes, watch = tree.changed_since(self.last), tree.watch
        assert watch is not None, "it is watched while a job is run ahead of the time"
        before = {path: self.last.get(path) for path in nodes}
        return Segment(
            self.pauses, self.moment, self.asked, nodes, before, frozenset(watch.replaced) & nodes.keys(),
            watch.seen, watch.listed, tuple(self.output),
        )  # fmt: skip

    def wake(self, tree: FileTree, now: float) -> None:
        """Note that time has passed."""
        if self.cut:
            return
        if self.pauses in self.found:
            tree.become(self.found[self.pauses])
        self.moment, self.asked = now, len(self.answers)
        self.last = tree.copy()
        tree.watch = TreeWatch(self.last)
        if self.pauses > self.most:
            self.put_off()

    def put_off(self) -> None:
        """Look no further ahead: what begins with the present segment is run when its time has come."""
        self.cut = True
        self.output.clear()
        self.segments.append(Segment(self.pauses, self.moment, self.asked, open=True))
