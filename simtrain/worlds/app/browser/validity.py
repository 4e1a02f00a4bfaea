"""What a browser checks before it submits a form (HTML, constraint validation)."""

import math
import re
from datetime import date

from selectolax.lexbor import LexborHTMLParser, LexborNode

from simtrain.worlds.app.browser.controls import controls_of, form_of, value_of
from simtrain.worlds.app.browser.nodes import FILES, TYPED, attribute, has, input_type, is_disabled, same

# The pattern of the HTML standard.
_EMAIL = re.compile(
    r"[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
    r"(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*"
)
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:\S+")
_NUMBER = re.compile(r"-?(\d+(\.\d+)?|\.\d+)([eE][+-]?\d+)?")


def first_invalid(document: LexborHTMLParser, form: LexborNode) -> LexborNode | None:
    """Return the first control that keeps a form from being submitted; None if none does."""
    return next((one for one in controls_of(document, form) if not is_valid(document, one)), None)


def is_valid(document: LexborHTMLParser, control: LexborNode) -> bool:
    """True if a control does not keep its form from being submitted."""
    kind = input_type(control)
    if control.tag == "button" or kind in ("hidden", "submit", "button", "reset", "image") or is_disabled(control):
        return True
    if has(control, "readonly"):
        return True
    if kind == "checkbox":
        return has(control, "checked") or not has(control, "required")
    if kind == "radio":
        return _is_chosen(document, control)
    if kind == "file":
        return not has(control, "required") or bool(attribute(control, FILES))
    value = value_of(control)
    if not value:
        return not has(control, "required")
    return control.tag == "select" or _fits(control, kind, value)


def _is_chosen(document: LexborHTMLParser, control: LexborNode) -> bool:
    name, form = attribute(control, "name"), form_of(document, control)
    group = [
        other
        for other in document.css("input[type=radio]")
        if attribute(other, "name") == name and (same(form_of(document, other), form) or form is None)
    ]
    return any(has(other, "checked") for other in group) or not any(has(other, "required") for other in group)


def _fits(control: LexborNode, kind: str, value: str) -> bool:
    least = attribute(control, "minlength")
    # Only what was typed counts: a value that came with the page may be shorter.
    if least is not None and least.isdecimal() and has(control, TYPED) and len(value) < int(least):
        return False
    if kind == "email" and not _EMAIL.fullmatch(value.strip()):
        return False
    if kind == "url" and not _URL.fullmatch(value.strip()):
        return False
    if kind in ("number", "date") and not _is_within(control, kind, value):
        return False
    pattern = attribute(control, "pattern")
    if control.tag == "input" and pattern and kind in ("text", "search", "email", "url", "tel", "password"):
        try:
            return re.fullmatch(pattern, value) is not None
        except re.error:
            return True
    return True


def _is_within(control: LexborNode, kind: str, value: str) -> bool:
    number = _number(kind, value)
    if number is None:
        return True
    low, high = (_number(kind, attribute(control, name) or "") for name in ("min", "max"))
    if (low is not None and number < low) or (high is not None and number > high):
        return False
    step = attribute(control, "step") or "1"
    if step.lower() == "any" or kind == "date":
        return True
    size = _number("number", step) or 1.0
    count = (number - (low or 0.0)) / size
    return math.isclose(count, round(count), abs_tol=1e-9)


def _number(kind: str, text: str) -> float | None:
    if kind == "date":
        try:
            return float(date.fromisoformat(text).toordinal())
        except ValueError:
            return None
    return float(text) if _NUMBER.fullmatch(text) else None
