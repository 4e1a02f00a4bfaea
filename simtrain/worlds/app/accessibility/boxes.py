"""Which elements have an area on the screen, as far as that can be told without a layout."""

from simtrain.worlds.app.accessibility.browser_styles import REPLACED
from simtrain.worlds.app.accessibility.document import Element

_SHRINKING = frozenset({"inline-block", "inline-flex", "inline-grid", "inline-table", "table", "table-caption"})
_CELLS = frozenset({"table-cell"})


def has_area(element: Element) -> bool:
    """Whether its box is wider and higher than nothing."""
    if element.area is None:
        shown = element.rendered and (element.style.visible or element.style.display == "contents")
        element.area = shown and _takes_room(element)
    return element.area


def has_text_area(text: str, style_of: Element) -> bool:
    """Whether a text of an element takes any room: spaces between blocks take none."""
    return bool(text) if style_of.style.preserves_spaces else bool(text.strip(" \t\n\r\f"))


def is_inline(element: Element) -> bool:
    """Whether it stands in a line of text: without a box of its own, what it first shows decides."""
    style = element.style
    if style.display != "contents":
        return style.display == "inline" and element.rendered and style.visible
    for child in element.children:
        if isinstance(child, str):
            if has_text_area(child, element):
                return True
        elif has_area(child):
            return False
    return False


def _takes_room(element: Element) -> bool:
    """Whether it has an area on the page, visible or not."""
    style = element.style
    if not element.rendered or (style.zero and style.display != "contents"):
        return False
    if style.display == "contents":
        return _filled(element, floats=True)
    if element.tag in ("option", "optgroup") and (select := element.closest("select")) is not None:
        return "multiple" in select.attributes or _number(select.attributes.get("size")) > 1
    if element.tag in REPLACED:
        return True
    if element.tag in ("br", "wbr"):
        return False
    if style.display == "inline":
        return style.padded or _filled(element, floats=False)
    if style.padded or style.display in _CELLS or element.tag == "details":
        return True
    if style.display == "list-item" and style.markers and element.tag == "li":
        return True
    holds_floats = style.contains_floats or style.display in _SHRINKING or "flex" in style.display
    return _filled(element, floats=holds_floats or style.display == "flow-root")


def _filled(element: Element, *, floats: bool) -> bool:
    """Whether something within it gives it a height."""
    if (element.style.before or "").strip() or (element.style.after or "").strip():
        return True
    if not floats and element.style.after is not None and element.style.after.startswith(" "):
        # A cleared pseudo-element after the floats.
        floats = True
    for child in element.children:
        if isinstance(child, str):
            if has_text_area(child, element):
                return True
        elif (child.tag == "br" and element.style.display != "inline" and child.rendered) or (
            (not child.style.out_of_flow or (floats and child.style.floating)) and _takes_room(child)
        ):
            return True
    return False


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() else 0
