"""Acting on elements as a user would: what cannot be seen, is disabled or takes no text is refused, and why is said."""

from collections.abc import Mapping, Sequence

from selectolax.lexbor import LexborNode

from simtrain.worlds.app.accessibility.boxes import has_area
from simtrain.worlds.app.actions.playwright_replies import outline
from simtrain.worlds.app.actions.seen import SeenPage
from simtrain.worlds.app.browser import components
from simtrain.worlds.app.browser.browser import AppBrowser
from simtrain.worlds.app.browser.controls import (
    blocks_implicit_submission,
    default_button,
    form_of,
    option_label,
    option_value,
    value_of,
)
from simtrain.worlds.app.browser.nodes import (
    attribute,
    closest,
    closest_with,
    has,
    input_type,
    is_disabled,
    is_focusable,
    is_text_field,
    same,
)

OVERLAY = "simtrain-overlay"
"""The attribute of an element that lies over the whole page: nothing below it can be clicked."""

COVERED = "intercepts pointer events"


class NotDone(Exception):
    """An action that an element does not allow; the text says why."""


def opens_aside(button: str | None, held: Sequence[str]) -> bool:
    """Return whether a click on a link opens it in a tab behind: by the middle button, or with a key held down."""
    return button == "middle" or any(key in ("Control", "ControlOrMeta", "Meta") for key in held)


class Acting:
    """Acts on the page in front of a browser."""

    def __init__(self, browser: AppBrowser, stylesheets: Mapping[str, str]) -> None:
        self.browser = browser
        self._stylesheets = stylesheets

    def seen(self) -> SeenPage:
        """Return the page in front as it stands."""
        page = self.browser.page
        if not isinstance(page.kept, SeenPage):
            page.kept = SeenPage(page, self._stylesheets)
        return page.kept

    def _check(self, seen: SeenPage, node: LexborNode, *, enabled: bool = True) -> None:
        element = seen.element(node)
        # An option is drawn by the system; the list that it is in counts.
        shown = closest(node, "select") or node if node.tag in ("option", "optgroup") else node
        element = seen.element(shown)
        if element is None or not has_area(element):
            raise NotDone("element is not visible")
        if enabled and is_disabled(node):
            raise NotDone("element is not enabled")

    def click(self, seen: SeenPage, node: LexborNode, *, new_tab: bool = False) -> None:
        """Click an element. Raises NotDone."""
        self._check(seen, node)
        self._reach(seen, node)
        self.browser.click(node, new_tab=new_tab)

    def _reach(self, seen: SeenPage, node: LexborNode) -> None:
        cover = seen.page.parsed.css_first(f"[{OVERLAY}]")
        if cover is not None and closest_with(node, OVERLAY) is None:
            raise NotDone(f"{outline(cover)} {COVERED}")

    def fill(self, seen: SeenPage, node: LexborNode, text: str) -> None:
        """Replace the text of a field. Raises NotDone."""
        target = self._field(node)
        self._check(seen, target)
        if has(target, "readonly"):
            raise NotDone("element is not editable")
        kind = input_type(target)
        if kind == "number" and text and not _is_number(text):
            raise NotDone("Cannot type text into input[type=number]")
        if kind == "date" and text and not _is_date(text):
            raise NotDone("Malformed value")
        self.browser.fill(target, text)

    def _field(self, node: LexborNode) -> LexborNode:
        if node.tag == "label":
            inner = node.css_first("input, textarea")
            node = inner if inner is not None else node
        if not is_text_field(node):
            kind = f'input of type "{input_type(node)}" cannot be filled' if node.tag == "input" else _NOT_TEXT
            raise NotDone(kind)
        return node

    def check(self, seen: SeenPage, node: LexborNode, checked: bool) -> None:
        """Tick or clear a box, or choose a radio button. Raises NotDone."""
        if input_type(node) not in ("checkbox", "radio"):
            raise NotDone("Not a checkbox or radio button")
        self._check(seen, node)
        if has(node, "checked") is checked:
            return
        if input_type(node) == "radio" and not checked:
            raise NotDone(
                "Cannot uncheck radio button. Radio buttons can only be unchecked by selecting another radio button in the same group."
            )
        self._reach(seen, node)
        self.browser.click(node)

    def select(self, seen: SeenPage, node: LexborNode, wanted: list[str]) -> None:
        """Select the options of a list with these values or labels. Raises NotDone."""
        if node.tag != "select":
            raise NotDone("Element is not a <select> element")
        self._check(seen, node)
        options = [option for option in node.css("option") if not is_disabled(option)]
        chosen: list[LexborNode] = []
        for text in wanted if has(node, "multiple") else wanted[:1]:
            found = next((one for one in options if text in (option_value(one), option_label(one))), None)
            if found is None:
                raise NotDone("did not find some options")
            chosen.append(found)
        self.browser.select(node, chosen)

    def type(self, seen: SeenPage, node: LexborNode, text: str) -> None:
        """Type a text behind what a field holds. Raises NotDone."""
        target = self._field(node)
        self.fill(seen, target, value_of(target) + text)

    def press(self, key: str) -> bool:
        """Press a key where the focus is; False for a key that does nothing here."""
        page = self.browser.page
        focused, document = page.focused, page.document
        if key == "Escape":
            components.escape_pressed(document)
            page.touch()
        elif key in ("Tab", "Shift+Tab"):
            self._move_focus(-1 if key.startswith("Shift") else 1)
        elif focused is None:
            return False
        elif key == "Enter":
            return self._enter(focused)
        elif key in (" ", "Space") and not is_text_field(focused):
            if focused.tag in ("button", "summary") or input_type(focused) in ("checkbox", "radio", "submit", "button"):
                self.browser.click(focused)
        elif key in ("Backspace", "Delete") and is_text_field(focused):
            if key == "Backspace":
                self.browser.fill(focused, value_of(focused)[:-1])
        elif key.lower() in ("control+a", "meta+a", "controlormeta+a"):
            return True
        elif is_text_field(focused) and (len(key) == 1 or key == "Space"):
            self.browser.fill(focused, value_of(focused) + (" " if key == "Space" else key))
        else:
            return False
        return True

    def _enter(self, focused: LexborNode) -> bool:
        if focused.tag == "textarea":
            self.browser.fill(focused, value_of(focused) + "\n")
            return True
        if is_text_field(focused) or input_type(focused) in ("checkbox", "radio"):
            document = self.browser.page.document
            form = form_of(document, focused)
            if form is None:
                return False
            button = default_button(document, form)
            if button is not None and not is_disabled(button):
                self.browser.click(button)
            elif button is None and blocks_implicit_submission(document, form) <= 1:
                self.browser.submit(form, None)
            return True
        if focused.tag in ("a", "button", "summary", "input") and has_activation(focused):
            self.browser.click(focused)
            return True
        return False

    def _move_focus(self, step: int) -> None:
        seen = self.seen()
        stops = [
            node
            for node in seen.elements
            if is_focusable(node)
            and (attribute(node, "tabindex") or "0") != "-1"
            and (element := seen.element(node)) is not None
            and has_area(element)
        ]
        if not stops:
            return
        focused = self.browser.page.focused
        place = next((index for index, node in enumerate(stops) if same(node, focused)), -1 if step > 0 else 0)
        self.browser.page.focus(stops[(place + step) % len(stops)])


def has_activation(node: LexborNode) -> bool:
    """True for an element that Enter activates."""
    return node.tag != "a" or has(node, "href")


_NOT_TEXT = "Element is not an <input>, <textarea>, <select> or [contenteditable] and does not have a role allowing [aria-readonly]"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text and text.strip() == text


def _is_date(text: str) -> bool:
    parts = text.split("-")
    return len(parts) == 3 and [len(part) for part in parts] == [4, 2, 2] and all(part.isdecimal() for part in parts)
