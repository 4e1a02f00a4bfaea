"""The states of each element: ticked, disabled, expanded and the like, for the roles that have them."""

from simtrain.worlds.app.accessibility.document import Element, HtmlDocument, words
from simtrain.worlds.app.accessibility.form_state import FormState, chosen_options, is_checked, type_of
from simtrain.worlds.app.accessibility.roles import is_natively_disabled, role_of

CHECKED = frozenset(["checkbox", "menuitemcheckbox", "option", "radio", "switch", "menuitemradio", "treeitem"])
DISABLED = words(
    "application button composite gridcell group input link menuitem scrollbar separator tab checkbox "
    "columnheader combobox grid listbox menu menubar menuitemcheckbox menuitemradio option radio radiogroup row "
    "rowheader searchbox select slider spinbutton switch tablist textbox toolbar tree treegrid treeitem"
)
EXPANDED = words(
    "application button checkbox combobox gridcell link listbox menuitem row rowheader tab treeitem columnheader "
    "menuitemcheckbox menuitemradio switch"
)
INVALID = words(
    "application checkbox columnheader combobox gridcell listbox radiogroup rowheader searchbox slider spinbutton "
    "switch textbox tree"
)
LEVEL = frozenset({"heading", "listitem", "row", "treeitem"})
SELECTED = frozenset({"gridcell", "option", "row", "tab", "rowheader", "columnheader", "treeitem"})

# Elements that have states without an attribute of ARIA, and the attributes by which any element has them.
STATEFUL = words("button details h1 h2 h3 h4 h5 h6 input optgroup option select textarea")
_BY_ATTRIBUTE = words("aria-checked aria-expanded aria-hidden aria-invalid aria-level aria-pressed aria-selected")

_HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}


def written_states(element: Element, role: str, page: HtmlDocument, state: FormState, *, focused: bool) -> str:
    """The states in square brackets, in Playwright's order and wording, each after a space."""
    attributes = element.attributes
    stateless = not focused and element.tag not in STATEFUL and element.disabling != "true"
    if stateless and (not attributes or _BY_ATTRIBUTE.isdisjoint(attributes)):
        return ""
    parts: list[str] = []
    if role in CHECKED and (checked := checked_state(element, state)):
        parts.append(" [checked=mixed]" if checked == "mixed" else " [checked]")
    if role in DISABLED and is_disabled(element, role):
        parts.append(" [disabled]")
    if is_expanded(element, role):
        parts.append(" [expanded]")
    if focused:
        parts.append(" [active]")
    if role in INVALID and (invalid := invalid_state(element)) != "false":
        parts.append(" [invalid]" if invalid == "true" else f" [invalid={invalid}]")
    if role in LEVEL and (level := level_of(element)):
        parts.append(f" [level={level}]")
    if role == "button" and (pressed := attributes.get("aria-pressed", "").lower()) in ("true", "mixed"):
        parts.append(" [pressed]" if pressed == "true" else " [pressed=mixed]")
    if role in SELECTED and is_selected(element, state):
        parts.append(" [selected]")
    if attributes.get("aria-hidden", "").lower() == "true":
        parts.append(" [aria-hidden]")
    return "".join(parts)


def checked_state(element: Element, state: FormState) -> str:
    """`true`, `mixed`, or the empty text."""
    if element.tag == "input" and type_of(element) in ("checkbox", "radio"):
        return "true" if is_checked(element, state) else ""
    stated = element.attributes.get("aria-checked", "").lower()
    return stated if stated in ("true", "mixed") else ""


def is_disabled(element: Element, role: str) -> bool:
    """Whether it is disabled, by HTML or by ARIA on it or around it."""
    if is_natively_disabled(element):
        return True
    return element.disabling == "true"


def is_expanded(element: Element, role: str) -> bool:
    """Whether it shows what it can fold away."""
    if role not in EXPANDED:
        return False
    if element.tag == "details":
        return "open" in element.attributes
    return element.attributes.get("aria-expanded", "").lower() == "true"


def invalid_state(element: Element) -> str:
    """`false`, `true`, `grammar` or `spelling`."""
    stated = element.attributes.get("aria-invalid", "").lower()
    if not stated.strip() or stated == "false":
        return "false"
    return stated if stated in ("grammar", "spelling") else "true"


def level_of(element: Element) -> int:
    """The level of a heading or an item; 0 where it has none."""
    native = _HEADINGS.get(element.tag)
    if native is not None:
        return native
    stated = element.attributes.get("aria-level", "")
    return int(stated) if stated.isdecimal() else 0


def is_selected(element: Element, state: FormState) -> bool:
    """Whether an option, a tab or a row is chosen."""
    if element.tag == "option":
        select = element.closest("select")
        return "selected" in element.attributes if select is None else element in chosen_options(select, state)
    return element.attributes.get("aria-selected", "").lower() == "true"


def focused_element(page: HtmlDocument, state: FormState) -> Element:
    """The element that has the focus: the one said, else the first that asks for it, else the body."""
    if state.focused is not None:
        return page.elements[state.focused]
    for element in page.elements:
        if (
            "autofocus" in element.attributes
            and element.rendered
            and element.style.visible
            and not is_natively_disabled(element)
        ):
            return element
    return page.body


def role_name(element: Element, page: HtmlDocument) -> str:
    """Its role; `generic` where it has none."""
    return role_of(element, page) or "generic"
