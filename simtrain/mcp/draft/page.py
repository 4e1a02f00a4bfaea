"""The YAML of a draft: readable and editable, and byte-identical for the same draft."""

import re
from collections.abc import Sequence

import yaml

from simtrain.values.types import JsonValue, is_list, is_object

WIDTH = 140


def block(key: str, value: JsonValue, indent: int = 0) -> list[str]:
    """Return the lines of one key: multi-line texts as blocks, short lists and objects on one line."""
    space = " " * indent
    if isinstance(value, str) and "\n" in value and _is_block(value):
        return [f"{space}{scalar(key)}: |-", *(f"{space}  {line}" if line else "" for line in value.split("\n"))]
    flat = f"{space}{scalar(key)}: {flow(value)}"
    if not (is_object(value) or is_list(value)) or not value or (len(flat) <= WIDTH and not _holds_lines(value)):
        return [flat]
    if is_object(value):
        inner = [line for name, item in value.items() for line in block(name, item, indent + 2)]
        return [f"{space}{scalar(key)}:", *inner]
    return [
        f"{space}{scalar(key)}:",
        *(line for item in value for line in entry(item, indent + 2)),
    ]


def entry(value: JsonValue, indent: int) -> list[str]:
    """Return the lines of one item of a list."""
    space = " " * indent
    if isinstance(value, str) and "\n" in value and _is_block(value):
        return [f"{space}- |-", *(f"{space}  {line}" if line else "" for line in value.split("\n"))]
    flat = f"{space}- {flow(value)}"
    if not is_object(value) or not value or (len(flat) <= WIDTH and not _holds_lines(value)):
        return [flat]
    lines = [line for name, item in value.items() for line in block(name, item, indent + 2)]
    return [f"{space}- {lines[0][indent + 2 :]}", *lines[1:]]


def flow(value: JsonValue) -> str:
    """Return a value on one line."""
    if is_object(value):
        return "{" + ", ".join(f"{scalar(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if is_list(value):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    return scalar(value)


_BARE = re.compile(r"[A-Za-z_(/.$][\w ./()*=<>+$-]*")
# YAML 1.1 reads more words as booleans than 1.2, and authors may use tools of either.
_MISREAD = re.compile(r"true|false|null|yes|no|on|off|nan|inf|y|n|~", re.IGNORECASE)


def scalar(value: JsonValue) -> str:
    """Return a scalar: bare if YAML cannot misread it, else in double quotes."""
    if isinstance(value, str):
        bare = (
            _BARE.fullmatch(value) and not value.endswith(" ") and not _MISREAD.fullmatch(value) and " #" not in value
        )
        if bare and not re.fullmatch(r"\.?\d.*|\.", value):
            return value
        return yaml.safe_dump(value, default_style='"', width=float("inf"), allow_unicode=True).strip()
    text = yaml.safe_dump(value, width=float("inf")).strip()
    # PyYAML ends a document of a single scalar with this mark.
    return text.removesuffix("...").strip()


def printable(text: str) -> str:
    """Return a text on one line, without characters that a file cannot hold or that would end a comment."""
    return "".join(letter for letter in " ".join(text.split()) if letter.isprintable())


def comment(texts: Sequence[str], indent: int = 0) -> list[str]:
    """Return comment lines, wrapped."""
    space = " " * indent
    lines: list[str] = []
    for text in texts:
        line = ""
        for word in printable(text).split(" "):
            if line and len(line) + len(word) + 1 > WIDTH - indent - 2:
                lines.append(f"{space}# {line}")
                line = word
            else:
                line = f"{line} {word}".strip()
        lines.append(f"{space}# {line}")
    return lines


def _is_block(text: str) -> bool:
    """True if a text can be written as a block: no trailing spaces, no leading space on the first line, and only
    printable characters.
    """
    lines = text.split("\n")
    plain = all(line == line.rstrip() for line in lines) and bool(lines[0].strip()) and bool(lines[-1])
    return plain and lines[0] == lines[0].lstrip() and all(char.isprintable() for line in lines for char in line)


def _holds_lines(value: JsonValue) -> bool:
    if is_object(value):
        return any(_holds_lines(item) for item in value.values())
    if is_list(value):
        return any(_holds_lines(item) for item in value)
    return isinstance(value, str) and "\n" in value
