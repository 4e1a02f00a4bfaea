"""Plain values back to text."""

import re

from confit.errors import ConfitError

_NAME = re.compile(r"[A-Za-z_][\w-]*")
_ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "$": "\\$"}
WIDTH = 80


def dump(values: dict, *, indent: int = 4) -> str:
    """Return a text that `load` reads back: plain keys first, then blocks."""
    return "\n".join(_lines(values, 0, indent)) + "\n" if values else ""


def _lines(values: dict, depth: int, indent: int) -> list[str]:
    pad = " " * (depth * indent)
    lines: list[str] = []
    for key, value in values.items():
        if not _NAME.fullmatch(key):
            raise ConfitError(f"{key!r} is no name")
        if not isinstance(value, dict):
            lines.append(f"{pad}{key} = {_written(value, len(pad) + len(key) + 3, pad, indent)}")
    for key, value in values.items():
        if isinstance(value, dict):
            if lines:
                lines.append("")
            inner = _lines(value, depth + 1, indent)
            lines += [f"{pad}{key} {{", *inner, f"{pad}}}"] if inner else [f"{pad}{key} {{}}"]
    return lines


def _written(value: object, used: int, pad: str, indent: int) -> str:
    if isinstance(value, list):
        flat = "[" + ", ".join(_written(item, 0, pad, indent) for item in value) + "]"
        if used + len(flat) <= WIDTH:
            return flat
        deeper = pad + " " * indent
        items = [f"{deeper}{_written(item, len(deeper), deeper, indent)}," for item in value]
        return "\n".join(["[", *items, f"{pad}]"])
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + "".join(_ESCAPED.get(letter, letter) for letter in value) + '"'
    if isinstance(value, int | float):
        return repr(value)
    raise ConfitError(f"a {type(value).__name__} cannot be written")
