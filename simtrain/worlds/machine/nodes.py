"""What lies at one path of a machine: a file, a directory, a link or a device. Nodes never change; a write puts a new one."""

from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["file", "directory", "link", "device"]

PROC = "/proc/"
"""Where files lie that are made when somebody looks."""
DIRECTORY_SIZE = 4096
"""The size that ext4 tells of a small directory, in bytes."""

_LETTERS: dict[Kind, str] = {"file": "-", "directory": "d", "link": "l", "device": "c"}


class TreeNode(NamedTuple):
    """One entry of the file tree. `mode` holds the permission bits only, `modified` is Unix time in seconds.

    `claimed` is the size that a file tells and occupies if it is more than its content: a log of 30 GB whose content is its
    first lines.
    """

    kind: Kind
    mode: int
    owner: str
    group: str
    modified: float
    content: bytes = b""
    target: str = ""
    claimed: int = 0

    @property
    def size(self) -> int:
        """Return the size in bytes, as `ls -l` shows it."""
        if self.kind == "directory":
            return DIRECTORY_SIZE
        return len(self.target.encode()) if self.kind == "link" else max(len(self.content), self.claimed)

    @property
    def letters(self) -> str:
        """Return kind and permissions as `ls -l` shows them, such as `-rw-r--r--`."""
        bits = "".join(letter if self.mode >> (8 - place) & 1 else "-" for place, letter in enumerate("rwxrwxrwx"))
        for bit, place, letter in ((0o4000, 2, "s"), (0o2000, 5, "s"), (0o1000, 8, "t")):
            if self.mode & bit:
                shown = letter if bits[place] == "x" else letter.upper()
                bits = bits[:place] + shown + bits[place + 1 :]
        return _LETTERS[self.kind] + bits


class ComputedNode(TreeNode):
    """What lies below /proc: it takes no space."""

    __slots__ = ()

    @property
    def size(self) -> int:
        """Return 0, whatever can be read."""
        return 0
