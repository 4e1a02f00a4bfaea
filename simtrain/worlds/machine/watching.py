"""What a job looks at in the files, so that it can be told later whether they still look the same to it."""

from collections.abc import Mapping
from typing import Protocol

from simtrain.worlds.machine.nodes import PROC, TreeNode


class NodesByPath(Protocol):
    """Files by absolute path, and the names in directories."""

    def get(self, path: str) -> TreeNode | None:
        """Return the node at a path; None if there is none."""
        ...

    def names(self, path: str) -> set[str] | frozenset[str]:
        """Return the names in a directory."""
        ...


class TreeWatch:
    """What is looked at in a tree and put into it, from the moment on of which `before` is a copy.

    `listed` are the names in directories that were asked for, `replaced` the paths where something else was put than what was there with
    more behind it. What is below /proc is another each time, and left out.
    """

    __slots__ = ("_before", "_glances", "_seen", "listed", "replaced")

    def __init__(self, before: NodesByPath) -> None:
        self._before = before
        self._glances: dict[str, TreeNode | None] = {}
        self._seen: dict[str, TreeNode | None] = {}
        self.listed: dict[str, frozenset[str]] = {}
        self.replaced: set[str] = set()

    @property
    def seen(self) -> Mapping[str, TreeNode | None]:
        """Return what was looked at by path, as it was at first."""
        return {**self._glances, **self._seen}

    def look(self, path: str) -> None:
        """Note that somebody looks at a path. Once is what the shell does before it writes; twice is a look."""
        if path in self._glances:
            self.read(path)
        elif not path.startswith(PROC):
            self._glances[path] = self._before.get(path)

    def read(self, path: str) -> None:
        """Note that the content at a path is read."""
        if not path.startswith(PROC):
            self._seen[path] = self._before.get(path)

    def list(self, path: str) -> None:
        """Note that the names in a directory are read."""
        if not f"{path}/".startswith(PROC):
            self.listed[path] = frozenset(self._before.names(path))

    def write(self, path: str) -> None:
        """Note that something is written whatever is there: the glance before it tells nothing."""
        self._glances.pop(path, None)
