"""Elements of a page: the few questions about a DOM that all of the browser asks. The live state of a page is in its attributes."""

from collections.abc import Iterator
from html import escape

from selectolax.lexbor import LexborHTMLParser, LexborNode

FOCUS = "simtrain-focus"
"""The attribute of the element that has the focus."""

TYPED = "simtrain-typed"
"""The attribute of a text field that was typed into since the page was loaded."""

FILES = "simtrain-files"
"""The attribute of a file field with the paths that were chosen, as JSON."""

PENDING = "simtrain-pending"
"""The attribute of the element that a dialog or a file chooser waits for."""

TEXTS = frozenset(
    {"text", "search", "email", "url", "tel", "password", "number", "date", "month", "time", "datetime-local"}
)
BUTTONS = frozenset({"submit", "button", "reset", "image"})


def attribute(node: LexborNode, name: str) -> str | None:
    """Return an attribute's value, empty if it is present without one; None if it is absent."""
    attributes = node.attributes
    if name not in attributes:
        return None
    return attributes[name] or ""


def has(node: LexborNode, name: str) -> bool:
    """True if the element has the attribute."""
    return name in node.attributes


def put(node: LexborNode, name: str, value: str | None) -> None:
    """Set an attribute; None removes it."""
    if value is not None:
        node.attrs[name] = value  # pyright: ignore[reportIndexIssue]
    elif has(node, name):
        del node.attrs[name]  # pyright: ignore[reportIndexIssue]


def same(one: LexborNode | None, other: LexborNode | None) -> bool:
    """True if both are the same element."""
    return one is not None and other is not None and one.mem_id == other.mem_id


def upwards(node: LexborNode) -> Iterator[LexborNode]:
    """Yield the element and its ancestors."""
    current: LexborNode | None = node
    while current is not None and current.is_element_node:
        yield current
        current = current.parent


def elements_of(document: LexborHTMLParser) -> list[LexborNode]:
    """Return the elements of a document in order; an element's place is its position in the tree."""
    found = document.css("*")
    if document.css_first("noscript") is None:
        return found
    # What is in a noscript element is no element for the tree.
    return [node for node in found if all(above.tag != "noscript" for above in upwards(node) if not same(above, node))]


def closest(node: LexborNode, *tags: str) -> LexborNode | None:
    """Return the element or the nearest ancestor with one of the tags."""
    return next((one for one in upwards(node) if one.tag in tags), None)


def closest_with(node: LexborNode, name: str) -> LexborNode | None:
    """Return the element or the nearest ancestor that has the attribute."""
    return next((one for one in upwards(node) if has(one, name)), None)


def by_id(document: LexborHTMLParser, given: str | None) -> LexborNode | None:
    """Return the element with an id; None if there is none."""
    if not given:
        return None
    return next((node for node in document.css("[id]") if attribute(node, "id") == given), None)


def input_type(node: LexborNode) -> str:
    """Return the type of an input or button as the browser takes it; the tag of any other element."""
    if node.tag == "input":
        return (attribute(node, "type") or "text").lower()
    if node.tag == "button":
        kind = (attribute(node, "type") or "submit").lower()
        return kind if kind in BUTTONS else "submit"
    return node.tag or ""


def is_text_field(node: LexborNode) -> bool:
    """True for an input or a text area that takes text."""
    if node.tag == "textarea":
        return True
    kind = input_type(node)
    return node.tag == "input" and (
        kind in TEXTS or kind not in {*BUTTONS, "checkbox", "radio", "file", "hidden", "range", "color"}
    )


def is_submit(node: LexborNode) -> bool:
    """True for a button that submits its form."""
    return node.tag in ("button", "input") and input_type(node) in ("submit", "image")


def is_disabled(node: LexborNode) -> bool:
    """True for a control that is disabled, by itself or by a fieldset around it."""
    if node.tag not in ("button", "input", "select", "textarea", "option", "optgroup", "fieldset"):
        return False
    if has(node, "disabled"):
        return True
    below = node
    for above in upwards(node):
        if above.tag == "fieldset" and has(above, "disabled") and not same(above, node):
            first = next((child for child in above.iter() if child.tag == "legend"), None)
            if not same(first, below):
                return True
        below = above
    return False


def is_focusable(node: LexborNode) -> bool:
    """True for an element that takes the focus when it is clicked."""
    if has(node, "tabindex"):
        return True
    if node.tag in ("a", "area"):
        return has(node, "href")
    if node.tag == "summary":
        return True
    return (
        node.tag in ("button", "input", "select", "textarea") and not is_disabled(node) and input_type(node) != "hidden"
    )


def text_of(node: LexborNode) -> str:
    """Return all the text within an element, as it stands."""
    return node.text(deep=True)


def write_text(node: LexborNode, text: str) -> None:
    """Replace what an element holds with text."""
    # A line break right after the tag of a text area does not count in HTML.
    begin = "\n" if node.tag == "textarea" and text.startswith("\n") else ""
    node.inner_html = begin + escape(text, quote=False)
