"""The accessibility tree of Chromium, as `Accessibility.getFullAXTree` gives it for a page whose elements BrowserGym has marked."""

from __future__ import annotations

from dataclasses import dataclass, field

from simtrain.worlds.app.accessibility.chromium_fields import field_parts
from simtrain.worlds.app.accessibility.chromium_names import ChromiumNames
from simtrain.worlds.app.accessibility.chromium_properties import ChromiumProperties, Properties, Value, option_text
from simtrain.worlds.app.accessibility.chromium_roles import chromium_role, find_layout_tables
from simtrain.worlds.app.accessibility.chromium_texts import Texts, is_needless_space, lay_out_texts, transformed
from simtrain.worlds.app.accessibility.document import UNRENDERED, Element, HtmlDocument, words
from simtrain.worlds.app.accessibility.form_state import FormState, type_of, value_of
from simtrain.worlds.app.accessibility.names import single_spaced
from simtrain.worlds.app.accessibility.roles import is_list_box
from simtrain.worlds.app.accessibility.states import focused_element
from simtrain.worlds.app.accessibility.tree import PageTree

# Tags that BrowserGym marks; an element of another tag gets no bid.
MARKED = words(
    "a abbr acronym address applet area article aside audio b base basefont bdi bdo big blockquote body br button "
    "canvas caption center cite code col colgroup data datalist dd del details dfn dialog dir div dl dt em embed "
    "fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i "
    "iframe img input ins kbd label legend li link main map mark menu meta meter nav noframes noscript object ol "
    "optgroup option output p param picture pre progress q rp rt ruby s samp script search section select small "
    "source span strike strong style sub summary sup svg table tbody td template textarea tfoot th thead time "
    "title tr track tt u ul var video wbr"
)

_NAMED_BY_CONTENT = words(
    "button cell checkbox columnheader DisclosureTriangle gridcell heading LayoutTableCell link menuitem "
    "menuitemcheckbox menuitemradio option radio rowheader switch tab term tooltip treeitem doc-backlink doc- "
    "biblioref doc-glossref doc-noteref"
)
_UNNAMED = words(
    "caption code definition deletion emphasis generic insertion mark paragraph strong subscript superscript "
    "LabelText Legend Figcaption time Ruby Canvas LayoutTable LayoutTableRow"
)
_LEAVES = frozenset({"audio", "embed", "iframe", "img", "meter", "object", "option", "progress", "svg", "video"})
_BULLETS = ("•", "◦", "■")


@dataclass(slots=True)
class ChromiumNode:
    """A node: its role, name, value and properties, the bid and position of its element, and its children."""

    role: str
    name: str = ""
    value: Value | None = None
    properties: Properties = field(default_factory=Properties)
    bid: str = ""
    position: int | None = None
    children: list[ChromiumNode] = field(default_factory=list["ChromiumNode"])


def bids_of(page: HtmlDocument) -> dict[int, str]:
    """The bid of each element that BrowserGym marks, by position: a number in document order."""
    marked = (element for element in page.elements if element.tag in MARKED)
    return {element.position: str(number) for number, element in enumerate(marked)}


def chromium_tree(read: PageTree, *, url: str = "about:blank", bids: dict[int, str] | None = None) -> ChromiumNode:
    """The tree of a page. `url` is its address, against which those in it are resolved; `bids` are given by position."""
    return _Builder(read.page, read.state, url, bids_of(read.page) if bids is None else bids).root()


class _Builder:
    def __init__(self, page: HtmlDocument, state: FormState, url: str, bids: dict[int, str]) -> None:
        self._page = page
        self._state = state
        self._names = ChromiumNames(page, state)
        self._url = url
        self._bids = bids
        self._properties = ChromiumProperties(page, state, self._names, url)
        self._layout_tables = find_layout_tables(page)
        self._texts: Texts = lay_out_texts(page)
        self._focused = focused_element(page, state)

    def root(self) -> ChromiumNode:
        title = next((element.text() for element in self._page.elements if element.tag == "title"), "")
        found: Properties = [("focused", True), ("url", self._url)]
        return ChromiumNode("RootWebArea", single_spaced(title), None, found, children=self._visit(self._page.body))

    def _visit(self, element: Element) -> list[ChromiumNode]:
        """The nodes that stand for an element: one, or those of its children where it has none of its own."""
        if element.tag in UNRENDERED or element.tag in ("rt", "rp") or "inert" in element.attributes:
            return []
        if (element.hidden and not self._is_listed(element)) or not self._is_there(element):
            return []
        if not element.style.visible and not self._is_listed(element):
            return [node for child in element.elements() for node in self._visit(child)]
        bid = self._bids.get(element.position)
        return self._children(element) if bid is None else [self._node(element, bid)]

    def _node(self, element: Element, bid: str) -> ChromiumNode:
        role = chromium_role(element, self._page, self._layout_tables)
        focused = element is self._focused and element is not self._page.body
        return ChromiumNode(
            role,
            self._name(element, role),
            self._properties.value_of(element, role),
            self._properties.properties_of(element, role, focused=focused),
            bid,
            element.position,
            self._inside(element, role),
        )

    def _is_there(self, element: Element) -> bool:
        return element.rendered or self._is_listed(element)

    def _is_listed(self, element: Element) -> bool:
        """Whether it is in the list of a select that drops down, where even a hidden option stands."""
        if element.tag not in ("option", "optgroup", "hr"):
            return False
        select = element.closest("select")
        return select is not None and select.rendered and not select.hidden and not is_list_box(select)

    def _name(self, element: Element, role: str) -> str:
        if role == "generic" and ("aria-label" in element.attributes or "aria-labelledby" in element.attributes):
            return self._names.text_of(element, from_content=False)
        if role in _UNNAMED:
            return ""
        if role == "option" and element.tag == "option":
            return option_text(element)
        if role == "Abbr":
            return element.attributes.get("title", "")
        if role == "group" and element.tag == "optgroup":
            return element.attributes.get("label", "")
        within_grid = role == "row" and any(True for _ in self._grids_around(element))
        return self._names.text_of(element, from_content=role in _NAMED_BY_CONTENT or within_grid)

    def _grids_around(self, element: Element) -> list[Element]:
        found: list[Element] = []
        above = element.parent
        while above is not None:
            if above.attributes.get("role") in ("grid", "treegrid"):
                found.append(above)
            above = above.parent
        return found

    def _inside(self, element: Element, role: str) -> list[ChromiumNode]:
        """The children of a node."""
        tag = element.tag
        if tag == "select":
            options = [node for child in element.elements() for node in self._visit(child)]
            return options if is_list_box(element) else [ChromiumNode("MenuListPopup", children=options)]
        if tag == "input":
            return self._in_input(element)
        if tag == "textarea":
            return _typed(value_of(element, self._state).split("\n"))
        if tag == "img" and "usemap" in element.attributes:
            return self._areas(element.attributes["usemap"].removeprefix("#"))
        if tag in _LEAVES:
            return []
        children = self._children(element)
        marker = self._marker(element, role)
        return children if marker is None else [marker, *children]

    def _areas(self, name: str) -> list[ChromiumNode]:
        """The links in a map, which belong to its picture."""
        maps = [each for each in self._page.elements if each.tag == "map" and each.attributes.get("name") == name]
        areas = [
            each
            for found in maps[:1]
            for each in found.descendants()
            if each.tag == "area" and "href" in each.attributes
        ]
        return [self._node(area, self._bids.get(area.position, "")) for area in areas]

    def _in_input(self, element: Element) -> list[ChromiumNode]:
        kind = type_of(element)
        value = value_of(element, self._state)
        if kind in ("date", "datetime-local", "month", "time", "week"):
            return field_nodes(kind, value, element, self._bids.get(element.position, ""))
        if kind in ("button", "submit", "reset"):
            return [ChromiumNode("StaticText", transformed(value, element))] if value else []
        if kind in ("checkbox", "radio", "file", "image", "range", "color"):
            return []
        return _typed(["•" * len(value) if kind == "password" else value])

    def _children(self, element: Element) -> list[ChromiumNode]:
        found: list[ChromiumNode] = []
        if (before := element.style.before) and before.strip():
            found.append(ChromiumNode("none", children=[ChromiumNode("StaticText", before.strip())]))
        elif element.tag == "q":
            found.append(ChromiumNode("none", children=[ChromiumNode("StaticText", "“")]))
        folded = element.tag == "details" and "open" not in element.attributes
        if element.tag == "details" and not any(child.tag == "summary" for child in element.elements()):
            found.append(
                ChromiumNode("DisclosureTriangle", "Details", children=[ChromiumNode("StaticText", "Details")])
            )
        for index, child in enumerate(element.children):
            if not isinstance(child, str):
                found.extend(self._visit(child))
            elif not folded and (text := self._text(element, index)) is not None:
                found.append(ChromiumNode("StaticText", text))
        if (after := element.style.after) and after.strip():
            found.append(ChromiumNode("none", children=[ChromiumNode("StaticText", after.strip())]))
        elif element.tag == "q":
            found.append(ChromiumNode("none", children=[ChromiumNode("StaticText", "”")]))
        return found

    def _text(self, element: Element, index: int) -> str | None:
        if not element.style.visible:
            return None
        text = self._texts.get((element.position, index))
        if text is None or (text.isspace() and "\u00a0" not in text and is_needless_space(element, index, self._texts)):
            return None
        return text

    def _marker(self, element: Element, role: str) -> ChromiumNode | None:
        """The bullet or number of an item of a list; the triangle before a summary that starts with a block."""
        if element.tag == "summary" and role == "DisclosureTriangle":
            first = next((child for child in element.elements()), None)
            if first is None or first.style.display == "inline" or element.style.display != "list-item":
                return None
            opened = element.parent is not None and "open" in element.parent.attributes
            return ChromiumNode("ListMarker", "▾" if opened else "▸")
        if element.tag != "li" or element.style.display != "list-item" or not _marks(element):
            return None
        mark = _mark(element)
        if role == "listitem":
            return ChromiumNode("ListMarker", mark)
        return ChromiumNode("none", children=[ChromiumNode("StaticText", mark)])


def _marks(item: Element) -> bool:
    parent = item.parent
    return item.style.markers and (parent is None or parent.style.markers)


def _mark(item: Element) -> str:
    parent = item.parent
    if parent is not None and parent.tag == "ol":
        # BrowserGym writes the value of each item into the page, and that of an item without one is 0.
        value = item.attributes.get("value", "0")
        return f"{value if value.lstrip('-').isdecimal() else '0'}."
    depth = 0
    above = parent.parent if parent is not None else None
    while above is not None:
        depth += above.tag in ("ul", "ol", "menu", "dir")
        above = above.parent
    return _BULLETS[min(depth, 2)]


def _typed(lines: list[str]) -> list[ChromiumNode]:
    texts = [ChromiumNode("StaticText", line) for line in lines if line]
    return [ChromiumNode("generic", children=texts)]


def field_nodes(kind: str, value: str, element: Element, bid: str) -> list[ChromiumNode]:
    """What Chromium shows within a field for a date or a time; its parts have the bid of the field."""
    found: list[ChromiumNode] = []
    parts, button = field_parts(kind, value, element.attributes.get("min", ""), element.attributes.get("max", ""))
    for part in parts:
        if isinstance(part, str):
            found.append(ChromiumNode("StaticText", part))
            continue
        limits: Properties = [("valuemin", part.low), ("valuemax", part.high), ("valuetext", "")]
        name = f"{part.name} {part.name}"
        found.append(
            ChromiumNode("spinbutton", name, part.value, limits, bid, children=[ChromiumNode("StaticText", part.shown)])
        )
    name = f"Show {button} picker"
    return [
        ChromiumNode("generic", children=found),
        ChromiumNode("button", f"{name} {name}", None, [("hasPopup", "menu")], bid),
    ]
