"""The role of each element: its role attribute, else what HTML gives it (HTML-AAM 1.0), as Playwright reads both."""

from collections.abc import Callable

from simtrain.worlds.app.accessibility.document import Element, HtmlDocument, words
from simtrain.worlds.app.accessibility.form_state import type_of

# WAI-ARIA 1.2, without its abstract roles.
ROLES = words(
    "alert alertdialog application article banner blockquote button caption cell checkbox code columnheader "
    "combobox complementary contentinfo definition deletion dialog directory document emphasis feed figure form "
    "generic grid gridcell group heading img insertion link list listbox listitem log main mark marquee math menu "
    "menubar menuitem menuitemcheckbox menuitemradio meter navigation none note option paragraph presentation "
    "progressbar radio radiogroup region row rowgroup rowheader scrollbar search searchbox separator slider "
    "spinbutton status strong subscript superscript switch tab table tablist tabpanel term textbox time timer "
    "toolbar tooltip tree treegrid treeitem"
)

_BY_TAG = {
    "article": "article",
    "aside": "complementary",
    "blockquote": "blockquote",
    "button": "button",
    "caption": "caption",
    "code": "code",
    "datalist": "listbox",
    "dd": "definition",
    "del": "deletion",
    "details": "group",
    "dfn": "term",
    "dialog": "dialog",
    "dt": "term",
    "em": "emphasis",
    "fieldset": "group",
    "figure": "figure",
    "h1": "heading",
    "h2": "heading",
    "h3": "heading",
    "h4": "heading",
    "h5": "heading",
    "h6": "heading",
    "hr": "separator",
    "html": "document",
    "ins": "insertion",
    "li": "listitem",
    "main": "main",
    "mark": "mark",
    "math": "math",
    "menu": "list",
    "meter": "meter",
    "nav": "navigation",
    "ol": "list",
    "optgroup": "group",
    "option": "option",
    "output": "status",
    "p": "paragraph",
    "progress": "progressbar",
    "search": "search",
    "strong": "strong",
    "sub": "subscript",
    "sup": "superscript",
    "svg": "img",
    "table": "table",
    "tbody": "rowgroup",
    "textarea": "textbox",
    "tfoot": "rowgroup",
    "thead": "rowgroup",
    "time": "time",
    "tr": "row",
    "ul": "list",
}

_BY_INPUT_TYPE = {
    "button": "button",
    "checkbox": "checkbox",
    "file": "button",
    "image": "button",
    "number": "spinbutton",
    "radio": "radio",
    "range": "slider",
    "reset": "button",
    "search": "searchbox",
    "submit": "button",
}
_SUGGESTING = frozenset({"email", "search", "tel", "text", "url"})

# A header or footer within one of these belongs to it, not to the page.
_SECTIONS = frozenset({"article", "aside", "main", "nav", "section"})
_SECTION_ROLES = frozenset({"article", "complementary", "main", "navigation", "region"})

# Which parents pass `role="presentation"` on to which children.
_INHERITS: dict[str, frozenset[str]] = {
    "dd": frozenset({"dl", "div"}),
    "div": frozenset({"dl"}),
    "dt": frozenset({"dl", "div"}),
    "li": frozenset({"ol", "ul"}),
    "tbody": frozenset({"table"}),
    "td": frozenset({"tr"}),
    "tfoot": frozenset({"table"}),
    "th": frozenset({"tr"}),
    "thead": frozenset({"table"}),
    "tr": frozenset({"thead", "tbody", "tfoot", "table"}),
}

_GLOBAL = words(
    "aria-atomic aria-busy aria-controls aria-current aria-describedby aria-details aria-dropeffect aria-flowto "
    "aria-grabbed aria-hidden aria-keyshortcuts aria-live aria-owns aria-relevant"
)
_NAMELESS = words(
    "caption code deletion emphasis generic insertion paragraph presentation strong subscript superscript"
)


def role_of(element: Element, page: HtmlDocument) -> str | None:
    """Its role; None where it has none (a `div`)."""
    role = element.role
    if role == "":
        if "role" in element.attributes:
            role = _stated_role(element, page)
        elif element.tag == "td" and element.parent is not None:
            # What a row is in decides for all its cells.
            place = element.parent.position
            role = page.cells.get(place)
            if role is None:
                role = page.cells[place] = _emptied_above(element, page) or _data_cell(element, page)
        elif (role := role_by_tag(element, page)) is not None and element.tag in _INHERITS:
            role = _emptied_above(element, page) or role
        element.role = role
    return role


def _stated_role(element: Element, page: HtmlDocument) -> str | None:
    explicit = explicit_role(element)
    if explicit is None:
        return _native_role(element, page)
    if explicit in ("none", "presentation"):
        native = _native_role(element, page)
        if is_never_presentational(element, native):
            return native
    return explicit


def explicit_role(element: Element) -> str | None:
    """The first role of its role attribute that exists."""
    words = element.attributes.get("role", "").lower().split(" ")
    return next((word for raw in words if (word := raw.strip()) in ROLES), None)


def is_never_presentational(element: Element, role: str | None) -> bool:
    """Whether it keeps its role although it is said to have none: it has a global attribute, or takes the focus (WAI-ARIA 1.2, 5.3.3)."""
    return has_global_attribute(element, role) or takes_focus(element)


def has_global_attribute(element: Element, role: str | None) -> bool:
    """Whether it has an attribute of ARIA that counts for every role."""
    attributes = element.attributes
    if not _GLOBAL.isdisjoint(attributes):
        return True
    if role not in _NAMELESS and ("aria-label" in attributes or "aria-labelledby" in attributes):
        return True
    return role != "generic" and "aria-roledescription" in attributes


def has_tab_index(element: Element) -> bool:
    """Whether its tabindex is a number."""
    text = element.attributes.get("tabindex")
    if text is None:
        return False
    try:
        float(text.strip() or "0")
    except ValueError:
        return False
    return True


def takes_focus(element: Element) -> bool:
    """Whether the keyboard or the mouse can focus it."""
    return not is_natively_disabled(element) and (_takes_focus_natively(element) or has_tab_index(element))


def _takes_focus_natively(element: Element) -> bool:
    tag = element.tag
    if tag in ("button", "details", "select", "textarea"):
        return True
    if tag in ("a", "area"):
        return "href" in element.attributes
    return tag == "input" and "hidden" not in element.attributes


def is_natively_disabled(element: Element) -> bool:
    """Whether HTML disables it: by its own attribute, or by that of its fieldset or group of options."""
    tag = element.tag
    if tag not in ("button", "input", "select", "textarea", "option", "optgroup"):
        return False
    if "disabled" in element.attributes:
        return True
    ancestor = element.parent
    while ancestor is not None:
        if "disabled" in ancestor.attributes:
            if ancestor.tag == "optgroup" and tag == "option":
                return True
            if ancestor.tag == "fieldset":
                legend = next((child for child in ancestor.elements() if child.tag == "legend"), None)
                return legend is None or not legend.contains(element)
        ancestor = ancestor.parent
    return False


def role_by_tag(element: Element, page: HtmlDocument) -> str | None:
    """The role that HTML gives to an element, whatever is around it; None where it gives none."""
    role = _BY_TAG.get(element.tag)
    if role is not None:
        return role
    decide = _DECIDED.get(element.tag)
    return decide(element, page) if decide is not None else None


def _native_role(element: Element, page: HtmlDocument) -> str | None:
    role = role_by_tag(element, page)
    if role is None or element.tag not in _INHERITS:
        return role
    return _emptied_above(element, page) or role


def _emptied_above(element: Element, page: HtmlDocument) -> str:
    """`none` or `presentation` where a parent that it belongs to passes this on; else the empty text."""
    parent = element.parent
    if parent is None or parent.tag not in _INHERITS.get(element.tag, ()):
        return ""
    passed = page.passed_on.get(parent.position)
    if passed is None:
        stated = explicit_role(parent) if "role" in parent.attributes else None
        if stated in ("none", "presentation") and not is_never_presentational(parent, stated):
            passed = stated
        else:
            passed = _emptied_above(parent, page)
        page.passed_on[parent.position] = passed
    return passed


def _link(element: Element, page: HtmlDocument) -> str | None:
    return "link" if "href" in element.attributes else None


def _named(role: str) -> Callable[[Element, HtmlDocument], str | None]:
    def decide(element: Element, page: HtmlDocument) -> str | None:
        return role if "aria-label" in element.attributes or "aria-labelledby" in element.attributes else None

    return decide


def _of_the_page(role: str) -> Callable[[Element, HtmlDocument], str | None]:
    def decide(element: Element, page: HtmlDocument) -> str | None:
        ancestor: Element | None = element
        while ancestor is not None:
            stated = ancestor.attributes.get("role")
            if stated in _SECTION_ROLES or (stated is None and ancestor.tag in _SECTIONS):
                return None
            ancestor = ancestor.parent
        return role

    return decide


def _image(element: Element, page: HtmlDocument) -> str | None:
    attributes = element.attributes
    decorative = attributes.get("alt") == "" and not attributes.get("title")
    return (
        "presentation"
        if decorative and not has_global_attribute(element, None) and not has_tab_index(element)
        else "img"
    )


def _input(element: Element, page: HtmlDocument) -> str | None:
    kind = type_of(element)
    if kind == "hidden":
        return None
    if kind in _SUGGESTING and "list" in element.attributes:
        suggestions = page.referred(element.attributes["list"])
        if suggestions and suggestions[0].tag == "datalist":
            return "combobox"
    return _BY_INPUT_TYPE.get(kind, "textbox")


def is_list_box(select: Element) -> bool:
    """Whether a select shows its options as a list."""
    size = select.attributes.get("size", "")
    return "multiple" in select.attributes or (size.isdecimal() and int(size) > 1)


def _select(element: Element, page: HtmlDocument) -> str | None:
    return "listbox" if is_list_box(element) else "combobox"


def _data_cell(element: Element, page: HtmlDocument) -> str:
    table = element.closest("table")
    if table is None or "role" not in table.attributes:
        return "cell"
    return "gridcell" if explicit_role(table) in ("grid", "treegrid") else "cell"


def _header_cell(element: Element, page: HtmlDocument) -> str | None:
    scope = element.attributes.get("scope")
    if scope in ("col", "colgroup"):
        return "columnheader"
    if scope in ("row", "rowgroup"):
        return "rowheader"
    row = element.parent
    siblings = list(row.elements()) if row is not None else [element]
    index = siblings.index(element)
    before = siblings[index - 1] if index else None
    after = siblings[index + 1] if index + 1 < len(siblings) else None
    if before is None and after is None:
        table = element.closest("table")
        if (
            row is not None
            and row.tag == "tr"
            and table is not None
            and sum(1 for inner in table.descendants() if inner.tag == "tr") <= 1
        ):
            return None
        return "columnheader"
    if before is not None and after is not None and before.tag == after.tag == "th":
        return "columnheader"
    return "rowheader" if _has_data(before) or _has_data(after) else "columnheader"


def _has_data(cell: Element | None) -> bool:
    return (
        cell is not None and cell.tag == "td" and bool(cell.text().strip() or next(cell.elements(), None) is not None)
    )


_DECIDED: dict[str, Callable[[Element, HtmlDocument], str | None]] = {
    "a": _link,
    "area": _link,
    "footer": _of_the_page("contentinfo"),
    "form": _named("form"),
    "header": _of_the_page("banner"),
    "img": _image,
    "input": _input,
    "section": _named("region"),
    "select": _select,
    "td": _data_cell,
    "th": _header_cell,
}
