"""A page as Playwright writes it for a model: `aria_snapshot(mode="ai")`, as the tools of @playwright/mcp return it."""

import re
from collections.abc import Sequence
from json.encoder import encode_basestring

from simtrain.worlds.app.accessibility.distilling import distil
from simtrain.worlds.app.accessibility.tree import Node, PageTree

# A longer name is left out.
_LONGEST_NAME = 900

# What YAML would not read as a plain text (`packages/isomorphic/yaml.ts`).
_QUOTED = re.compile(
    r"""
    ^\s | \s$ | ^$
    | [\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\n\r{}`]
    | ^- | :(?:\s|$) | \s\#
    | ^[&*\],?!>|@"'#%\[]
    | ^\s*(?:[-+]?(?:Infinity|\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)|0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+)\s*$
    | ^(?:[yYnN]|(?i:yes|no|true|false|on|off|null)|~)$
    | ^[-+]?\.(?i:inf|nan)$
    """,
    re.VERBOSE,
)
# Short texts that begin with a letter and mean something else to YAML, in lower case.
_WORDS = frozenset({"y", "n", "yes", "no", "true", "false", "on", "off", "null", "infinity"})
# What a text that needs quotes may begin with, beside letters and digits.
_TELLING = frozenset("&*],?!>|@\"'#%[-+.~ ")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPED = re.compile(r'[\\"\x00-\x1f\x7f-\x9f]')


class Refs:
    """The refs of a document: a node keeps its own from one snapshot to the next while its role and name stay the same."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self._last = 0
        self._given: dict[int, tuple[str, str, str]] = {}

    def give(self, node: Node) -> str:
        """The ref of a node."""
        given = self._given.get(node.element.position)
        if given is None or given[:2] != (node.role, node.name):
            self._last += 1
            given = (node.role, node.name, f"{self.prefix}e{self._last}")
            self._given[node.element.position] = given
        return given[2]


def write_snapshot(read: PageTree, refs: Refs | None = None) -> tuple[str, dict[str, int]]:
    """The page as lines of YAML, and the position of the element that each ref names."""
    return write_nodes(read.children, refs or Refs())


def write_nodes(children: list[Node | str], refs: Refs) -> tuple[str, dict[str, int]]:
    """A tree as `write_snapshot` gives it; the nodes lose what the snapshot leaves out."""
    positions: dict[str, int] = {}
    lines: list[str] = []
    for child in distil(children, refs.give):
        if isinstance(child, str):
            lines.append("- text: " + yaml_value(child))
        else:
            _write(child, "", lines, positions, False)
    return "\n".join(lines), positions


def _write(node: Node, indent: str, lines: list[str], positions: dict[str, int], pointer_above: bool) -> None:
    key = node.role
    name = node.shown_name
    # Roles, states and refs need no quotes.
    plain = True
    if name and len(name) <= _LONGEST_NAME:
        quoted = encode_basestring(name)
        plain = quoted.isprintable() and _has_no_mark(quoted)
        key += " " + quoted
    key += node.states
    if node.ref:
        positions[node.ref] = node.element.position
        key += f" [ref={node.ref}]"
        if node.pointer and not pointer_above:
            key += " [cursor=pointer]"
            pointer_above = True
    line = f"{indent}- {key if plain else yaml_key(key)}"
    children: Sequence[Node | str] = node.children
    only = children[0] if len(children) == 1 else None
    bare = node.url is None and node.placeholder is None
    if bare and not children:
        lines.append(line)
        return
    if bare and isinstance(only, str):
        lines.append(f"{line}: {yaml_value(only)}")
        return
    lines.append(line + ":")
    inner = indent + "  "
    if node.url is not None:
        lines.append(f"{inner}- /url: {yaml_value(node.url)}")
    if node.placeholder is not None:
        lines.append(f"{inner}- /placeholder: {yaml_value(node.placeholder)}")
    for child in children:
        if isinstance(child, str):
            lines.append(f"{inner}- text: {yaml_value(child)}")
        else:
            _write(child, inner, lines, positions, pointer_above)


def yaml_key(text: str) -> str:
    """A text as a key of YAML, in single quotes where it needs them."""
    if not _QUOTED.search(text):
        return text
    return "'" + text.replace("'", "''") + "'"


def yaml_value(text: str) -> str:
    """A text as a value of YAML, in double quotes where it needs them."""
    if _is_plain(text) or not _QUOTED.search(text):
        return text
    return '"' + _ESCAPED.sub(lambda found: _ESCAPES.get(found[0], f"\\x{ord(found[0]):02x}"), text) + '"'


def _is_plain(text: str) -> bool:
    """Whether a text is seen to need no quotes at a glance: most do not."""
    if not text or not text.isprintable():
        return False
    first = text[0]
    if first.isalpha():
        if len(text) <= 8 and text.lower() in _WORDS:
            return False
    elif first in _TELLING or (first.isdecimal() and " " not in text):
        return False
    return text[-1] not in " :" and _has_no_mark(text)


def _has_no_mark(text: str) -> bool:
    """Whether nothing within a printable text means something to YAML. Its only white space is the space."""
    return ": " not in text and " #" not in text and "{" not in text and "}" not in text and "`" not in text
