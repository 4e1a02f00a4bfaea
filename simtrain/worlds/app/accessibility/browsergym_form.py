"""A page as BrowserGym writes it for a model: one line for each node of Chromium's tree, with the bids that its actions name."""

from simtrain.worlds.app.accessibility.chromium_tree import ChromiumNode

_ONLY_WHEN_TRUE = frozenset({"required", "focused", "atomic"})


def write_axtree(root: ChromiumNode, *, clickable: frozenset[str] = frozenset()) -> str:
    """The tree as text. Bids in `clickable` are written as such, as BrowserGym does where it is asked to."""
    lines: list[str] = []
    _write(root, 0, "", lines, clickable)
    return "\n".join(lines)


def _write(node: ChromiumNode, depth: int, above: str, lines: list[str], clickable: frozenset[str]) -> None:
    line = _line(node, above, clickable)
    if line is not None:
        lines.append("\t" * depth + line)
        depth += 1
    name = "" if node.role == "none" else node.name
    for child in node.children:
        _write(child, depth, name, lines, clickable)


def _line(node: ChromiumNode, above: str, clickable: frozenset[str]) -> str | None:
    """The line of a node; None where it is left out."""
    if node.role in ("none", "LineBreak") or (node.role == "StaticText" and _is_said(node.name, above)):
        return None
    attributes: list[str] = []
    for name, value in node.properties:
        if name not in _ONLY_WHEN_TRUE:
            attributes.append(f"{name}={value!r}")
        elif value:
            attributes.append(name)
    if node.role == "generic" and not attributes:
        return None
    if node.bid in clickable:
        attributes.insert(0, "clickable")
    text = node.role if node.role == "generic" and not node.name else f"{node.role} {node.name.strip()!r}"
    if node.bid:
        text = f"[{node.bid}] {text}"
    if node.value is not None:
        text += f" value={node.value!r}"
    return ", ".join([text, *attributes])


def _is_said(text: str, above: str) -> bool:
    """Whether the name of the node above has a text already."""
    stripped = text.strip()
    return (stripped or text) in above
