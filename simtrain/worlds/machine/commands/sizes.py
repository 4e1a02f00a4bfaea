"""Sizes as commands write them: blocks of 1 KiB, and short forms such as 1.5K."""

from simtrain.worlds.machine.nodes import TreeNode

_BLOCK = 4096
_FAST_LINK = 60
"""The longest target, in bytes, that ext4 keeps in the inode."""


def blocks(node: TreeNode) -> int:
    """Return the blocks of 1 KiB that ext4 occupies for a node."""
    if node.kind == "device" or (node.kind == "link" and node.size < _FAST_LINK):
        return 0
    return -(-node.size // _BLOCK) * _BLOCK // 1024


def human(size: int, unit: int) -> str:
    """Return a size as `-h` (unit 1024) or `--si` (1000) writes it, rounded up."""
    if size < unit:
        return str(size)
    letters = "KMGTPE" if unit == 1024 else "kMGTPE"
    power = 0
    whole = unit
    while size >= whole * unit and power < len(letters) - 1:
        whole *= unit
        power += 1
    tenths = -(-size * 10 // whole)
    if tenths < 100:
        return f"{tenths // 10}.{tenths % 10}{letters[power]}"
    rounded = -(-size // whole)
    if rounded >= unit and power < len(letters) - 1:
        return f"1.0{letters[power + 1]}"
    return f"{rounded}{letters[power]}"
