"""What sites do by script, as declared components: played here by the engine, and on the served page by `components.js`.

Attributes of the page declare them: `data-tabs`, `data-opens`, `data-dialog`, `data-close`, `data-edit`, `data-cancel`,
`data-suggest`, `data-counter`, `data-check-all`, `data-dismiss`, `data-confirm`, `data-submit` (docs/apps.md).
"""

from collections.abc import Callable
from urllib.parse import quote

from selectolax.lexbor import LexborHTMLParser, LexborNode

from simtrain.worlds.app.browser.controls import controls_of, form_of, set_text, value_of
from simtrain.worlds.app.browser.nodes import (
    attribute,
    by_id,
    closest,
    closest_with,
    has,
    input_type,
    put,
    same,
    upwards,
    write_text,
)

Fetch = Callable[[str], str]
"""Returns the fragment at an address of the site."""


def close_menus(document: LexborHTMLParser, clicked: LexborNode) -> None:
    """Close every open menu but the one whose button was clicked."""
    for button in document.css("[data-opens]"):
        target = by_id(document, attribute(button, "data-opens"))
        if target is None or attribute(target, "role") != "menu" or has(target, "hidden"):
            continue
        if not same(closest_with(clicked, "data-opens"), button):
            _show(document, button, target, False)


def clicked(document: LexborHTMLParser, node: LexborNode) -> None:
    """Play the component that a clicked element belongs to, if it belongs to one."""
    opener = closest_with(node, "data-opens")
    if opener is not None:
        target = by_id(document, attribute(opener, "data-opens"))
        if target is not None:
            _show(document, opener, target, has(target, "hidden"))
        return
    for name, play in _CLICKS.items():
        holder = closest_with(node, name)
        if holder is not None:
            play(document, holder)
            return
    option = closest_with(node, "data-value")
    if option is not None:
        _choose(document, option)
        return
    tab = next((one for one in upwards(node) if attribute(one, "role") == "tab"), None)
    if tab is not None and closest_with(tab, "data-tabs") is not None:
        _turn(document, tab)


def _show(document: LexborHTMLParser, button: LexborNode, target: LexborNode, shown: bool) -> None:
    put(target, "hidden", None if shown else "")
    put(button, "aria-expanded", "true" if shown else "false")


def _open_dialog(document: LexborHTMLParser, button: LexborNode) -> None:
    target = by_id(document, attribute(button, "data-dialog"))
    if target is not None:
        put(target, "open", "")


def _close(document: LexborHTMLParser, button: LexborNode) -> None:
    dialog = closest(button, "dialog")
    if dialog is not None:
        put(dialog, "open", None)


def _edit(document: LexborHTMLParser, button: LexborNode) -> None:
    _swap(document, attribute(button, "data-edit"), editing=True)


def _cancel(document: LexborHTMLParser, button: LexborNode) -> None:
    _swap(document, attribute(button, "data-cancel"), editing=False)


def _swap(document: LexborHTMLParser, name: str | None, *, editing: bool) -> None:
    form = by_id(document, name)
    if form is not None:
        put(form, "hidden", None if editing else "")
    for view in document.css("[data-view]"):
        if attribute(view, "data-view") == name:
            put(view, "hidden", "" if editing else None)


def _dismiss(document: LexborHTMLParser, button: LexborNode) -> None:
    toast = closest_with(button, "data-toast")
    if toast is not None:
        toast.decompose()


_CLICKS: dict[str, Callable[[LexborHTMLParser, LexborNode], None]] = {
    "data-dialog": _open_dialog,
    "data-close": _close,
    "data-edit": _edit,
    "data-cancel": _cancel,
    "data-dismiss": _dismiss,
}


def _choose(document: LexborHTMLParser, option: LexborNode) -> None:
    """Take a suggestion over into the field that suggested it."""
    holder = closest_with(option, "id")
    for field in document.css("[data-suggest]"):
        if holder is not None and attribute(field, "data-list") == attribute(holder, "id"):
            set_text(field, attribute(option, "data-value") or "")
            _show(document, field, holder, False)


def _turn(document: LexborHTMLParser, tab: LexborNode) -> None:
    whole = closest_with(tab, "data-tabs")
    for other in whole.css("[role=tab]") if whole is not None else []:
        chosen = same(other, tab)
        put(other, "aria-selected", "true" if chosen else "false")
        panel = by_id(document, attribute(other, "aria-controls"))
        if panel is not None:
            put(panel, "hidden", None if chosen else "")


def typed(document: LexborHTMLParser, field: LexborNode, fetch: Fetch) -> None:
    """Play what a field does when its text changes: count characters, suggest."""
    counter = by_id(document, attribute(field, "data-counter"))
    if counter is not None:
        # As JavaScript counts them: in units of UTF-16.
        length = len(value_of(field).encode("utf-16-le")) // 2
        write_text(counter, f"{length} / {attribute(field, 'maxlength') or ''}")
    address, listed = attribute(field, "data-suggest"), by_id(document, attribute(field, "data-list"))
    if address is not None and listed is not None:
        text = value_of(field).strip()
        found = fetch(address + quote(text, safe="-_.!~*'()")) if text else ""
        listed.inner_html = found.strip()
        _show(document, field, listed, bool(found.strip()))


def changed(document: LexborHTMLParser, control: LexborNode) -> LexborNode | None:
    """Play what a control does when its value was changed; returns the form that is submitted at once, if any."""
    name = attribute(control, "data-check-all")
    form = form_of(document, control)
    if name is not None and form is not None:
        for other in controls_of(document, form):
            if input_type(other) == "checkbox" and attribute(other, "name") == name:
                put(other, "checked", "" if has(control, "checked") else None)
    return form if has(control, "data-submit") else None


def escape_pressed(document: LexborHTMLParser) -> None:
    """Close what Escape closes: menus and dialogs of components."""
    for button in document.css("[data-opens]"):
        target = by_id(document, attribute(button, "data-opens"))
        if target is not None and attribute(target, "role") == "menu" and not has(target, "hidden"):
            _show(document, button, target, False)
    for dialog in document.css("dialog[open]"):
        put(dialog, "open", None)
