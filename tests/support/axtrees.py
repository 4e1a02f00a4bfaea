"""Chromium's own accessibility tree of a page, marked and written as BrowserGym does it; shares no code with the package."""

from __future__ import annotations

import re
from typing import Any

from playwright.async_api import Page

_TAGS = (
    "a abbr acronym address applet area article aside audio b base basefont bdi bdo big blockquote body br "
    "button canvas caption center cite code  col colgroup data datalist dd del details dfn dialog dir div dl dt "
    "em embed fieldset figcaption figure font footer form frame frameset h1 h2  h3 h4 h5 h6 head header hgroup "
    "hr html i iframe img input ins kbd label legend li link main map mark menu meta meter nav noframes "
    "noscript  object ol optgroup option output p param picture pre progress q rp rt ruby s samp script search "
    "section select small source span strike  strong style sub summary sup svg table tbody td template textarea "
    "tfoot th thead time title tr track tt u ul var video wbr"
)
# What BrowserGym does to a page before it reads the tree: live values become attributes, and each element of HTML tells its number.
_MARK = """tags => {
  const known = new Set(tags.split(" "));
  let number = 0;
  for (const element of document.querySelectorAll("*")) {
    if (!known.has(element.tagName.toLowerCase())) continue;
    if (element.value !== undefined) element.setAttribute("value", element.value);
    if (element.checked !== undefined) element.toggleAttribute("checked", element.checked);
    for (const name of ["aria-roledescription", "aria-description"])
      element.setAttribute(name, `bid:${number} ` + (element.getAttribute(name) || ""));
    number += 1;
  }
}"""
_BID = re.compile(r"bid:(\d+)\s?(.*)", re.DOTALL)
_UNWRITTEN = {"editable", "readonly", "level", "settable", "multiline", "invalid", "focusable"}

Node = dict[str, Any]


async def axtree_lines(tab: Page) -> list[str]:
    """The lines that BrowserGym writes of the page in a tab, one for each node."""
    await tab.evaluate(_MARK, _TAGS)
    session = await tab.context.new_cdp_session(tab)
    nodes: list[Node] = (await session.send("Accessibility.getFullAXTree"))["nodes"]
    await session.detach()
    by_id = {node["nodeId"]: node for node in nodes}
    lines: list[str] = []

    def write(node: Node, depth: int, name_above: str) -> None:
        name: str = node.get("name", {}).get("value", "")
        line = _line(node, name_above)
        if line is not None:
            lines.append("\t" * depth + line)
        for child in node["childIds"]:
            if child in by_id:
                write(by_id[child], depth + (line is not None), name)

    write(nodes[0], 0, "")
    return lines


def _line(node: Node, name_above: str) -> str | None:
    role = node["role"]["value"]
    # The boxes of lines of text repeat the text that they are in.
    if "name" not in node or role in ("LineBreak", "InlineTextBox"):
        return None
    name: str = node["name"].get("value", "")
    if role == "StaticText" and name in name_above:
        return None
    bid = _BID.fullmatch(node.get("description", {}).get("value", ""))
    attributes: list[str] = []
    for entry in node.get("properties", []):
        if "value" not in entry["value"] or entry["name"] in _UNWRITTEN:
            continue
        value = entry["value"]["value"]
        if entry["name"] == "roledescription":
            marked = _BID.fullmatch(value)
            bid, value = bid or marked, marked[2] if marked else value
            if not value:
                continue
        if entry["name"] in ("required", "focused", "atomic"):
            attributes += [entry["name"]] if value else []
        else:
            attributes.append(f"{entry['name']}={value!r}")
    if role == "generic" and not attributes:
        return None
    text = role if role == "generic" and not name else f"{role} {name.strip()!r}"
    value = node.get("value", {})
    shown = f" value={value['value']!r}" if "value" in value else ""
    return ", ".join([(f"[{bid[1]}] " if bid else "") + text + shown, *attributes])
