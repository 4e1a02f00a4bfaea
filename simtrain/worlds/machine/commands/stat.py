"""stat: what is known of a file."""

import re
from dataclasses import dataclass

from simtrain.worlds.machine.commands.ls import inode, link_count, quoted
from simtrain.worlds.machine.commands.options import parsed, usage
from simtrain.worlds.machine.commands.sizes import blocks
from simtrain.worlds.machine.commands.zones import local
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.nodes import TreeNode
from simtrain.worlds.machine.problems import attempt

_FIELD = re.compile(r"%([-0#+ ]*)(\d*)(?:\.(\d+))?([A-Za-z%])")
_KINDS = {"directory": "directory", "link": "symbolic link", "device": "character special file"}
_TYPE_BITS = {"file": 0o100000, "directory": 0o040000, "link": 0o120000, "device": 0o020000}
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "0": "\0", "a": "\a", "b": "\b", "r": "\r"}


@dataclass(frozen=True, slots=True)
class _Subject:
    name: str
    path: str
    node: TreeNode


def stat(call: Invocation) -> Result:
    """Print what is known of each file, in a format or in full."""
    long = {"dereference": "L", "format=": "c", "printf=": "printf", "terse": "t", "file-system": "f"}
    options = parsed(call, "Lc:tf", long)
    if isinstance(options, Result):
        return options
    if not options.operands:
        return usage(call, "missing operand")
    output, errors = "", ""
    for name in options.operands:
        path = call.path(name)
        node = attempt(lambda path=path: call.files.node(path, follow=options.has("L")))
        if isinstance(node, OSError):
            errors += f"stat: cannot statx {quoted(name)}: {node.strerror}\n"
            continue
        subject = _Subject(name, path, node)
        if options.has("c"):
            output += _put(call, subject, options.value("c") or "") + "\n"
        elif options.has("printf"):
            form = re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[0]), options.value("printf") or "")
            output += _put(call, subject, form)
        else:
            shown = f"{name} -> {node.target}" if node.kind == "link" else name
            head = "" if options.has("t") else f"  File: {shown}\n"
            output += head + _put(call, subject, _TERSE if options.has("t") else _FULL) + "\n"
    return Result(output, errors, 1 if errors else 0)


_TERSE = "%n %s %b %f %u %g %D %i %h %t %T %X %Y %Z %W %o"
_FULL = (
    "  Size: %-10s\tBlocks: %-10b IO Block: %-6o %F\nDevice: 254,1\tInode: %-11i Links: %h\n"
    "Access: (%04a/%10.10A)  Uid: (%5u/%8U)   Gid: (%5g/%8G)\nAccess: %x\nModify: %y\nChange: %z\n Birth: %w"
)


def _put(call: Invocation, subject: _Subject, form: str) -> str:
    def field(found: re.Match[str]) -> str:
        flags, width, _, letter = found.groups()
        if letter == "%":
            return "%"
        text = _value(call, subject, letter)
        if not width:
            return text
        if "-" in flags:
            return text.ljust(int(width))
        return text.rjust(int(width), "0" if "0" in flags else " ")

    return _FIELD.sub(field, form)


def _value(call: Invocation, subject: _Subject, letter: str) -> str:
    node = subject.node
    users, groups = call.machine.users, call.machine.groups
    moment = local(node.modified, call.environment)
    full = f"{moment:%Y-%m-%d %H:%M:%S}.{round(node.modified % 1 * 1e9):09d} {moment:%z}"
    kind = _KINDS.get(node.kind) or ("regular file" if node.size else "regular empty file")
    values = {
        "n": subject.name, "s": str(node.size), "a": f"{node.mode:o}", "A": node.letters, "F": kind,
        "f": f"{_TYPE_BITS[node.kind] | node.mode:x}", "U": node.owner, "G": node.group,
        "u": str(users[node.owner].uid if node.owner in users else 65534), "g": str(groups.get(node.group, 65534)),
        "i": str(inode(subject.path)), "b": str(blocks(node) * 2), "B": "512", "o": "4096", "d": "65025", "D": "fe01",
        "t": "0", "T": "0", "m": "/", "C": "?",
        "N": quoted(subject.name) + (f" -> {quoted(node.target)}" if node.kind == "link" else ""),
    }  # fmt: skip
    if letter in values:
        return values[letter]
    if letter == "h":
        return str(link_count(call, subject.path, node))
    if letter in "xyzw":
        return full
    if letter in "XYZW":
        return str(int(node.modified))
    return "?"
