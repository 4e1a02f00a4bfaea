"""Pages as agents read them (accessibility trees as text), for plans that read values from them."""

import re

_MARK = re.compile(r" \[(?:ref=\w+|cursor=pointer|active)\]")
_LINE = re.compile(r'- (?P<role>[a-z]+)(?: "(?P<name>(?:[^"\\]|\\.)*)")?(?: \[[^\]]*\])*(?::(?: (?P<text>.*))?)?$')
_QUOTED = re.compile(r"- '(?P<node>(?:[^']|'')*)'(?P<rest>:.*)?$")
"""A line that YAML needs in quotes, such as one whose name holds a colon."""

_BID = re.compile(r"\[(?P<bid>\w+)\] (?P<node>.*)")
_CELLS = frozenset({"cell", "rowheader", "columnheader", "gridcell"})


def without_refs(text: str) -> str:
    """Return a snapshot without what differs from one to the next: refs, focus and pointer marks."""
    return _MARK.sub("", text)


def table_rows(text: str) -> list[list[str]]:
    """Return the texts of the cells of every table row in a snapshot, row by row.

    A cell without a name of its own has the names and texts of what is in it, joined by spaces.
    """
    rows: list[list[str]] = []
    row = cell = -1
    for line in without_refs(text).split("\n"):
        indent = len(line) - len(line.lstrip())
        if indent <= row:
            row = -1
        if indent <= cell:
            cell = -1
        found = _LINE.match(_plain(line.strip()))
        if found is None:
            continue
        if found["role"] == "row":
            rows.append([])
            row, cell = indent, -1
        elif row >= 0 and found["role"] in _CELLS:
            rows[-1].append(_said(found))
            cell = indent if not rows[-1][-1] else -1
        elif cell >= 0:
            rows[-1][-1] = f"{rows[-1][-1]} {_said(found)}".strip()
    return rows


def bid(text: str, node: str) -> str:
    """Return the bid of the first node in BrowserGym's form whose line begins so, such as `button 'Save'`; empty if there is none."""
    lines = (line.strip() for line in text.split("\n"))
    found = (_BID.match(line) for line in lines)
    return next((one["bid"] for one in found if one is not None and one["node"].startswith(node)), "")


def _plain(line: str) -> str:
    """Return a line without the quotes of YAML around its node."""
    found = _QUOTED.match(line)
    return line if found is None else "- " + found["node"].replace("''", "'") + (found["rest"] or "")


def _said(line: re.Match[str]) -> str:
    """Return the name of a line's node, else its text."""
    if line["name"] is not None:
        return re.sub(r"\\(.)", r"\1", line["name"])
    return (line["text"] or "").strip().strip("\"'")
