"""Values and properties of nodes in Chromium's accessibility tree, in the order in which the DevTools protocol lists them."""

import struct
from urllib.parse import urljoin, urlsplit, urlunsplit

from simtrain.worlds.app.accessibility.document import Element, HtmlDocument
from simtrain.worlds.app.accessibility.form_state import FormState, chosen_options, is_checked, type_of, value_of
from simtrain.worlds.app.accessibility.names import AccessibleNames, single_spaced
from simtrain.worlds.app.accessibility.roles import is_list_box
from simtrain.worlds.app.accessibility.states import CHECKED, DISABLED, invalid_state, is_disabled, is_selected

Value = str | int | float | bool
Properties = list[tuple[str, Value]]

_LIVE = {"alert": "assertive", "log": "polite", "status": "polite"}
_ORIENTED = {
    "listbox": "vertical",
    "menu": "vertical",
    "menubar": "horizontal",
    "separator": "horizontal",
    "slider": "horizontal",
    "tablist": "horizontal",
    "toolbar": "horizontal",
    "tree": "vertical",
}
_MANY = frozenset({"grid", "listbox", "tablist", "tree", "treegrid"})
_RANGES = frozenset({"meter", "progressbar", "scrollbar", "slider", "spinbutton"})
_REQUIRABLE = frozenset({"combobox", "listbox", "radiogroup", "spinbutton", "textbox", "tree"})
_DATES = frozenset({"Date", "DateTime", "InputTime", "ColorWell"})
_SELECTABLE = frozenset({"gridcell", "option", "tab", "treeitem"})


class ChromiumProperties:
    """Reads the values and properties of the elements of a page."""

    def __init__(self, page: HtmlDocument, state: FormState, names: AccessibleNames, url: str) -> None:
        self._page = page
        self._state = state
        self._names = names
        self._url = url

    def value_of(self, element: Element, role: str) -> Value | None:
        """What a control holds; None where it holds nothing."""
        tag = element.tag
        if role in _RANGES:
            return self._number(element)
        if tag == "select":
            chosen = chosen_options(element, self._state)
            return None if is_list_box(element) or not chosen else option_text(chosen[0]) or None
        if tag == "input":
            kind = type_of(element)
            if kind == "file":
                return value_of(element, self._state) or "No file chosen"
            if kind in ("button", "submit", "reset", "image", "checkbox", "radio"):
                return None
            value = value_of(element, self._state)
            return ("•" * len(value) if kind == "password" else value) or None
        if tag == "textarea":
            return value_of(element, self._state) or None
        if role in ("textbox", "searchbox", "combobox"):
            return single_spaced(element.text()) or None
        return None

    def _number(self, element: Element) -> Value | None:
        attributes = element.attributes
        if element.tag == "input":
            text = value_of(element, self._state)
        elif element.tag in ("progress", "meter"):
            text = attributes.get("value", "0")
        else:
            text = attributes.get("aria-valuenow", "")
        number = _float(text)
        return None if number is None else as_number(number)

    def properties_of(self, element: Element, role: str, *, focused: bool) -> Properties:
        """Its properties that are written, without those that are left out for every node."""
        found: Properties = []
        attributes = element.attributes
        if (live := attributes.get("aria-live", _LIVE.get(role, ""))) and live != "off":
            found.append(("live", live))
            found.append(
                (
                    "atomic",
                    attributes.get("aria-atomic", "true" if role in ("alert", "status") else "").lower() == "true",
                )
            )
            found.append(("relevant", attributes.get("aria-relevant", "additions text")))
        disabled = self._is_disabled(element, role)
        if disabled:
            found.append(("disabled", True))
        if focused:
            found.append(("focused", True))
        self._widget(element, role, found)
        self._states(element, role, found, disabled=disabled)
        self._relations(element, found)
        if (address := self._address(element, role)) is not None:
            found.append(("url", address))
        return found

    def _is_disabled(self, element: Element, role: str) -> bool:
        if (
            element.tag == "option"
            and (select := element.closest("select")) is not None
            and is_disabled(select, "listbox")
        ):
            return True
        if role == "generic":
            return element.attributes.get("aria-disabled", "").lower() == "true"
        return element.tag != "optgroup" and (role in DISABLED or role in _DATES) and is_disabled(element, role)

    def _widget(self, element: Element, role: str, found: Properties) -> None:
        attributes = element.attributes
        suggests = element.tag == "input" and "list" in attributes and role == "combobox"
        if (completes := attributes.get("aria-autocomplete", "list" if suggests else "")) not in ("", "none"):
            found.append(("autocomplete", completes))
        if (popup := self._popup(element, role, suggests)) is not None:
            found.append(("hasPopup", popup))
        if role in _MANY:
            stated = attributes.get("aria-multiselectable", "").lower() == "true"
            found.append(("multiselectable", stated or (element.tag == "select" and "multiple" in attributes)))
        orientation = attributes.get("aria-orientation", "").lower() or _ORIENTED.get(role)
        if orientation in ("horizontal", "vertical"):
            found.append(("orientation", orientation))
        required = "required" in attributes or attributes.get("aria-required", "").lower() == "true"
        if required and role in _REQUIRABLE and not (element.tag == "select" and not is_list_box(element)):
            found.append(("required", True))
        if role in _RANGES:
            self._range(element, role, found)

    def _popup(self, element: Element, role: str, suggests: bool) -> str | None:
        stated = element.attributes.get("aria-haspopup", "").lower()
        if stated in ("menu", "listbox", "tree", "grid", "dialog"):
            return stated
        if stated == "true" or (element.tag == "select" and not is_list_box(element)):
            return "menu"
        return "listbox" if suggests or role == "combobox" else None

    def _range(self, element: Element, role: str, found: Properties) -> None:
        attributes = element.attributes
        native = element.tag in ("input", "progress", "meter")
        low_name, high_name = ("min", "max") if native else ("aria-valuemin", "aria-valuemax")
        default = {"spinbutton": 0.0, "progressbar": 1.0 if native else 100.0, "meter": 1.0 if native else 100.0}.get(
            role, 100.0
        )
        low, high = _float(attributes.get(low_name, "")), _float(attributes.get(high_name, ""))
        found.append(("valuemin", as_number(low if low is not None else 0.0)))
        found.append(("valuemax", as_number(high if high is not None else default)))
        text = value_of(element, self._state) if element.tag == "input" else attributes.get("aria-valuetext", "")
        found.append(("valuetext", text))

    def _states(self, element: Element, role: str, found: Properties, *, disabled: bool) -> None:
        attributes = element.attributes
        if role in CHECKED and role not in ("option", "treeitem"):
            found.append(("checked", self._checked(element)))
        if (expanded := self._expanded(element, role)) is not None:
            found.append(("expanded", expanded))
        if role == "button" and (pressed := attributes.get("aria-pressed", "").lower()) in ("true", "false", "mixed"):
            found.append(("pressed", pressed))
        says_selected = element.tag == "option" or role == "treeitem" or "aria-selected" in attributes
        if role in _SELECTABLE and says_selected and not disabled:
            found.append(("selected", is_selected(element, self._state)))
        if role in ("dialog", "alertdialog"):
            found.append(("modal", attributes.get("aria-modal", "").lower() == "true"))

    def _checked(self, element: Element) -> str:
        if element.tag == "input" and type_of(element) in ("checkbox", "radio"):
            return "true" if is_checked(element, self._state) else "false"
        stated = element.attributes.get("aria-checked", "").lower()
        return stated if stated in ("true", "mixed") else "false"

    def _expanded(self, element: Element, role: str) -> bool | None:
        if element.tag == "select":
            return None if is_list_box(element) else False
        if role == "DisclosureTriangle":
            return element.parent is not None and "open" in element.parent.attributes
        stated = element.attributes.get("aria-expanded", "").lower()
        if stated in ("true", "false"):
            return stated == "true"
        return False if "popovertarget" in element.attributes else None

    def _relations(self, element: Element, found: Properties) -> None:
        attributes = element.attributes
        for name in ("describedby", "controls", "details", "errormessage", "flowto", "owns"):
            ids = attributes.get(f"aria-{name}")
            if ids is None or (name == "errormessage" and invalid_state(element) == "false"):
                continue
            present = [
                each for each in self._page.referred(ids) if name == "describedby" or not self._names.is_hidden(each)
            ]
            if present:
                found.append((name, " ".join(each.attributes["id"] for each in present)))

    def _address(self, element: Element, role: str) -> str | None:
        attributes = element.attributes
        if element.tag in ("a", "area") and "href" in attributes and role in ("link", *_DOC_LINKS):
            return self.resolved(attributes["href"])
        if element.tag == "img" or (element.tag == "input" and type_of(element) == "image"):
            return self.resolved(attributes["src"]) if "src" in attributes and role in ("image", "button") else None
        return None

    def resolved(self, address: str) -> str:
        """An address of the page, in full."""
        address = address.strip()
        joined = urljoin(self._url, address) if address else self._url
        if address.endswith("?") and not joined.endswith("?"):
            joined += "?"
        parts = urlsplit(joined)
        if parts.scheme in ("http", "https") and not parts.path:
            joined = urlunsplit(parts._replace(path="/"))
        return joined + "#" if address == "#" else joined


_DOC_LINKS = ("doc-backlink", "doc-biblioref", "doc-glossref", "doc-noteref")


def option_text(option: Element) -> str:
    """What a select shows of an option."""
    return single_spaced(option.attributes.get("label") or option.text())


def as_number(number: float) -> int | float:
    """A number as the protocol sends it: of single precision, and whole where it is."""
    single = struct.unpack("f", struct.pack("f", number))[0]
    return int(single) if single == int(single) else single


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
