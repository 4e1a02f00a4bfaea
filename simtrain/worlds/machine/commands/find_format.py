"""The format of `find -printf`."""

import re
from datetime import UTC, datetime
from posixpath import basename, dirname

from simtrain.worlds.machine.nodes import TreeNode

_PART = re.compile(r"%([-0]?\d*)(T.|[a-zA-Z%])|\\([abfnrtv\\0])|\\(\d{3})", re.DOTALL)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", "0": "\0"}
_LETTERS = {"file": "f", "directory": "d", "link": "l", "device": "c"}


def formatted(shape: str, shown: str, node: TreeNode, depth: int, start: str) -> str:
    """Return a file as a format says."""
    moment = datetime.fromtimestamp(node.modified, UTC)

    def part(found: re.Match[str]) -> str:
        if found[3] is not None:
            return _ESCAPES[found[3]]
        if found[4] is not None:
            return chr(int(found[4], 8))
        text = _directive(found[2], shown, node, depth, start, moment)
        width = found[1].lstrip("-0")
        if not width:
            return text
        return text.ljust(int(width)) if found[1].startswith("-") else text.rjust(int(width))

    return _PART.sub(part, shape)


def _directive(sign: str, shown: str, node: TreeNode, depth: int, start: str, moment: datetime) -> str:
    if sign[0] == "T":
        if sign[1:] == "@":
            return f"{node.modified:.10f}"
        if sign[1:] == "+":
            return moment.strftime("%Y-%m-%d+%H:%M:%S.0000000000")
        return moment.strftime(f"%{sign[1:]}") + (".0000000000" if sign[1:] in ("S", "T") else "")
    blocks = -(-node.size // 512)
    values = {
        "p": shown, "f": basename(shown.rstrip("/")) or "/", "h": dirname(shown) or ".", "s": str(node.size), "m": f"{node.mode:o}",
        "P": shown[len(start) :].lstrip("/"), "M": node.letters, "u": node.owner, "g": node.group, "y": _LETTERS[node.kind],
        "d": str(depth), "l": node.target, "n": "1", "i": "0", "k": str(-(-blocks // 2)), "b": str(blocks), "H": start, "%": "%",
        "t": moment.strftime("%a %b %e %H:%M:%S.0000000000 %Y"),
    }  # fmt: skip
    return values.get(sign, f"%{sign}")
