"""What devices below /dev give to whoever reads them to their end, which some of them do not have."""

from hashlib import shake_256

from simtrain.worlds.machine.file_tree import FileTree

ENDLESS = 65_536
"""Bytes that a device of chance gives at once."""
ZEROS = 4_000_000
"""Bytes that `/dev/zero` gives at once: more than the largest file, so that a longer copy of it ends in an error."""


def drawn(device: str, tree: FileTree, moment: float) -> bytes:
    """Return what a device gives at a moment, in Unix seconds. Chance goes by the moment, and by how often the tree was asked for it."""
    if device in ("/dev/zero", "/dev/full"):
        return bytes(ZEROS)
    if device not in ("/dev/random", "/dev/urandom"):
        return b""
    tree.draws += 1
    return shake_256(f"{moment} {tree.draws}".encode()).digest(ENDLESS)
