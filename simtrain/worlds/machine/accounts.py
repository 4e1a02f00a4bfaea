"""Users and groups of a machine, and what a user may do with a node."""

from dataclasses import dataclass

from simtrain.worlds.machine.nodes import TreeNode

READ, WRITE, SEARCH = 4, 2, 1
"""Bits of an access: to read, to write, and to run a file or to go through a directory."""


@dataclass(frozen=True, slots=True)
class User:
    """Who acts: name, number, home, login shell, and groups, the primary one first. `sudo` says whether sudo obeys without a password."""

    name: str
    uid: int
    home: str
    groups: tuple[str, ...]
    shell: str = "/bin/bash"
    sudo: bool = False

    @property
    def group(self) -> str:
        """Return the primary group."""
        return self.groups[0]

    def may(self, access: int, node: TreeNode) -> bool:
        """True if the user may access a node in all ways that the bits name."""
        if self.uid == 0:
            # root reads and writes everything, but runs only what somebody may run.
            return not (access & SEARCH and node.kind == "file" and not node.mode & 0o111)
        if node.owner == self.name:
            return (node.mode >> 6) & access == access
        shift = 3 if node.group in self.groups else 0
        return (node.mode >> shift) & access == access


ROOT = User("root", 0, "/root", ("root",), sudo=True)
