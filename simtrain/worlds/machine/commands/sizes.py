"""Sizes as commands write them: blocks of 1 KiB, and short forms such as 1.5K."""

import re

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


class NumberRefused(ValueError):
    """Raised for a number that coreutils refuse; the text is what they say behind the number itself."""


_NUMBER = re.compile(r"[ \t\n\v\f\r]*\+?(?P<digits>\d*)(?P<unit>b|(?P<letter>[kKmMGTPEZY])(?P<kind>iB|B)?)?", re.ASCII)
_LARGEST = 2**63 - 1


def whole_number(text: str, *, least: int = 0, units: bool = False) -> int:
    """Return the number that a word means, with `units` such as 2K, 2kB or 2b as well. Raises NumberRefused."""
    found = _NUMBER.fullmatch(text)
    if found is None or (found["unit"] and not units) or not (found["digits"] or found["unit"]):
        raise NumberRefused
    digits = found["digits"].lstrip("0") or ("0" if found["digits"] else "1")
    size = 512
    if found["letter"]:
        size = (1000 if found["kind"] == "B" else 1024) ** ("KMGTPEZY".index(found["letter"].upper()) + 1)
    number = int(digits) * (size if found["unit"] else 1) if len(digits) < 20 else _LARGEST + 1
    if number > _LARGEST:
        raise NumberRefused(": Value too large for defined data type")
    if number < least:
        raise NumberRefused(": Numerical result out of range")
    return number
