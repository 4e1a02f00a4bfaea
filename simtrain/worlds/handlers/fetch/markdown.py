"""A tree of HTML as Markdown, with the conventions of the library markdownify."""

from __future__ import annotations

import re
from collections.abc import Callable

from simtrain.worlds.handlers.fetch.html_tree import BLOCKS, Element

_BULLETS = "*+-"
_SPACES = re.compile(r"[\t ]+")
_LINES = re.compile(r" ?\r?\n[ \r\n]*")
_HEADING = re.compile(r"h([1-6])")
_MARKS = {"b": "**", "strong": "**", "em": "*", "i": "*", "del": "~~", "s": "~~"}
_CODE = frozenset({"code", "kbd", "samp"})


def markdown(root: Element) -> str:
    """Return the text of a tree, without white space around it."""
    return re.sub(r"\n{3,}", "\n\n", _inside(root)).strip()


def _inside(element: Element, *, code: bool = False) -> str:
    """Return the content of an element: its children joined, blocks apart from each other."""
    parts: list[str] = []
    for place, child in enumerate(element.children):
        if isinstance(child, Element):
            parts.append(_written(child, code=code))
            continue
        text = child if code else _escaped(_collapsed(child))
        text = text if code else _trimmed(text, element, place)
        parts.append(text)
    return _joined(parts)


def _joined(parts: list[str]) -> str:
    """Return the parts with as many line ends between two as the one that wants more of them."""
    kept: list[str] = []
    for part in filter(None, parts):
        before = kept[-1] if kept else ""
        ends = len(before) - len(before.rstrip("\n"))
        begins = len(part) - len(part.lstrip("\n"))
        if ends and begins:
            kept[-1] = before.rstrip("\n")
            kept.append("\n" * min(max(ends, begins), 2) + part.lstrip("\n"))
        else:
            kept.append(part)
    return "".join(kept)


def _collapsed(text: str) -> str:
    return _LINES.sub(" ", _SPACES.sub(" ", text))


def _escaped(text: str) -> str:
    return text.replace("*", r"\*").replace("_", r"\_")


def _trimmed(text: str, parent: Element, place: int) -> str:
    """Return a text without the white space that touches a block, or an edge of one."""

    def block(at: int) -> bool:
        if not 0 <= at < len(parent.children):
            return parent.name in BLOCKS or parent.name == "html"
        other = parent.children[at]
        return isinstance(other, Element) and other.name in {*BLOCKS, "br"}

    text = text.lstrip() if block(place - 1) else text
    return text.rstrip() if block(place + 1) else text


def _written(element: Element, *, code: bool) -> str:
    name = element.name
    heading = _HEADING.fullmatch(name)
    if heading:
        text = " ".join(_inside(element).split())
        return f"\n\n{'#' * int(heading[1])} {text}\n\n" if text else ""
    if name in _MARKS and not code:
        return _around(element, _MARKS[name])
    if name in _CODE and not code:
        return _inline_code(element)
    write = _WRITERS.get(name)
    return write(element) if write else _inside(element, code=code)


def _around(element: Element, mark: str) -> str:
    before, text, after = _chomped(_inside(element))
    return f"{before}{mark}{text}{mark}{after}" if text else ""


def _chomped(text: str) -> tuple[str, str, str]:
    """Return a space before, the text itself, and a space after, as far as there are any."""
    return (" " if text[:1] == " " else "", text.strip(), " " if text[-1:] == " " else "")


def _inline_code(element: Element) -> str:
    text = _collapsed(element.text())
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text.strip()}{pad}{fence}" if text.strip() else ""


def _link(element: Element) -> str:
    before, text, after = _chomped(_inside(element))
    href, title = element.attributes.get("href"), element.attributes.get("title")
    if not text or not href:
        return f"{before}{text}{after}"
    if text.replace(r"\_", "_") == href and not title:
        return f"{before}<{href}>{after}"
    titled = ' "' + title.replace('"', r"\"") + '"' if title else ""
    return f"{before}[{text}]({href}{titled}){after}"


def _image(element: Element) -> str:
    source, title = element.attributes.get("src", ""), element.attributes.get("title", "")
    titled = ' "' + title.replace('"', r"\"") + '"' if title else ""
    return f"![{element.attributes.get('alt', '')}]({source}{titled})"


def _paragraph(element: Element) -> str:
    text = _inside(element).strip(" \t\r\n")
    return f"\n\n{text}\n\n" if text else ""


def _block(element: Element) -> str:
    text = _inside(element).strip()
    return f"\n\n{text}\n\n" if text else ""


def _preformatted(element: Element) -> str:
    text = _inside(element, code=True)
    return f"\n\n```\n{text.removeprefix(chr(10)).removesuffix(chr(10))}\n```\n\n" if text else ""


def _quotation(element: Element) -> str:
    text = _inside(element).strip()
    quoted = "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))
    return f"\n\n{quoted}\n\n" if text else ""


def _list(element: Element) -> str:
    nested = _depth(element) > 0
    return f"\n{_inside(element).rstrip()}" if nested else f"\n\n{_inside(element).rstrip()}\n\n"


def _depth(element: Element) -> int:
    """Return how many lists of bullets an element lies in."""
    count, parent = 0, element.parent
    while parent is not None:
        count += parent.name in ("ul", "ol")
        parent = parent.parent
    return count


def _item(element: Element) -> str:
    text = _inside(element).strip()
    parent = element.parent
    if parent is not None and parent.name == "ol":
        first = parent.attributes.get("start", "1")
        number = (int(first) if first.isdigit() else 1) + [e for e in parent.elements() if e.name == "li"].index(
            element
        )
        bullet = f"{number}."
    else:
        bullet = _BULLETS[max(_depth(element) - 1, 0) % len(_BULLETS)]
    indent = " " * (len(bullet) + 1)
    lines = [line if place == 0 or not line else indent + line for place, line in enumerate(text.split("\n"))]
    return f"{bullet} {chr(10).join(lines)}\n" if text else f"{bullet}\n"


def _term(element: Element) -> str:
    text = " ".join(_inside(element).split())
    return f"\n\n{text}\n" if text else ""


def _description(element: Element) -> str:
    text = _inside(element).strip()
    lines = [f"    {line}" if line else "" for line in text.split("\n")]
    return ":" + "\n".join(lines)[1:] + "\n" if text else ""


def _table(element: Element) -> str:
    rows = [row for row in element.inside() if row.name == "tr"]
    lines: list[str] = []
    for place, row in enumerate(rows):
        cells = [cell for cell in row.elements() if cell.name in ("td", "th")]
        texts = [_inside(cell).strip().replace("|", r"\|").replace("\n", " ") for cell in cells]
        if place == 0 and not all(cell.name == "th" for cell in cells) and not _in_head(row):
            lines += [_row([""] * len(cells)), _row(["---"] * len(cells))]
        lines.append(_row(texts))
        if place == 0 and len(lines) == 1:
            lines.append(_row(["---"] * len(cells)))
    return f"\n\n{chr(10).join(lines)}\n\n" if lines else ""


def _in_head(row: Element) -> bool:
    return row.parent is not None and row.parent.name == "thead"


def _row(texts: list[str]) -> str:
    return f"| {' | '.join(texts)} |"


_WRITERS: dict[str, Callable[[Element], str]] = {
    "a": _link,
    "blockquote": _quotation,
    "br": lambda _: "  \n",
    "dd": _description,
    "dt": _term,
    "hr": lambda _: "\n\n---\n\n",
    "img": _image,
    "li": _item,
    "ol": _list,
    "p": _paragraph,
    "pre": _preformatted,
    "q": lambda element: f'"{_inside(element)}"',
    "table": _table,
    "ul": _list,
    **dict.fromkeys(("article", "div", "section", "main", "header", "figure", "figcaption", "dl"), _block),
    **dict.fromkeys(("script", "style", "template", "title", "head"), lambda _: ""),
}
