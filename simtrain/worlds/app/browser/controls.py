"""Controls of forms: their live values, and the entries that a form is submitted with (HTML, form submission)."""

from collections.abc import Callable, Iterator

import orjson
from selectolax.lexbor import LexborHTMLParser, LexborNode

from simtrain.worlds.app.browser.nodes import (
    FILES,
    TYPED,
    attribute,
    by_id,
    closest,
    has,
    input_type,
    is_disabled,
    is_text_field,
    put,
    same,
    text_of,
    write_text,
)
from simtrain.worlds.app.fields import Upload
from simtrain.worlds.app.web.exchange import Entries

LISTED = "input, select, textarea, button"


def form_of(document: LexborHTMLParser, control: LexborNode) -> LexborNode | None:
    """Return the form that a control belongs to."""
    named = attribute(control, "form")
    return by_id(document, named) if named is not None else closest(control, "form")


def controls_of(document: LexborHTMLParser, form: LexborNode) -> list[LexborNode]:
    """Return the controls of a form in document order."""
    return [control for control in document.css(LISTED) if same(form_of(document, control), form)]


def value_of(control: LexborNode) -> str:
    """Return the live value of a control."""
    if control.tag == "textarea":
        return text_of(control)
    if control.tag == "select":
        chosen = selected_options(control)
        return option_value(chosen[0]) if chosen else ""
    value = attribute(control, "value")
    if value is None:
        return "on" if input_type(control) in ("checkbox", "radio") else ""
    return value


def option_value(option: LexborNode) -> str:
    """Return the value of an option: its attribute, or its text."""
    value = attribute(option, "value")
    return option_label(option) if value is None else value


def option_label(option: LexborNode) -> str:
    """Return the text of an option."""
    return " ".join(text_of(option).split())


def selected_options(select: LexborNode) -> list[LexborNode]:
    """Return the selected options; a list that takes one has always one, if it has any that is enabled."""
    options = select.css("option")
    chosen = [option for option in options if has(option, "selected")]
    if has(select, "multiple"):
        return chosen
    if chosen:
        return chosen[-1:]
    return [option for option in options if not is_disabled(option)][:1]


def select_options(select: LexborNode, wanted: list[LexborNode]) -> None:
    """Select these options and no others."""
    for option in select.css("option"):
        put(option, "selected", "" if any(same(option, one) for one in wanted) else None)


def set_text(control: LexborNode, text: str) -> None:
    """Type a text in place of what a field holds, as its type takes it."""
    if control.tag != "textarea":
        text = text.replace("\r", "").replace("\n", "")
    most = attribute(control, "maxlength")
    if most is not None and most.isdecimal():
        text = text[: int(most)]
    put(control, TYPED, "")
    if control.tag == "textarea":
        write_text(control, text)
    else:
        put(control, "value", text)


def set_checked(document: LexborHTMLParser, control: LexborNode, checked: bool) -> None:
    """Tick or clear a checkbox, or choose a radio button, which clears the others of its group."""
    if checked and input_type(control) == "radio":
        form, name = form_of(document, control), attribute(control, "name")
        for other in document.css("input[type=radio]"):
            owner = form_of(document, other)
            if name and attribute(other, "name") == name and (same(owner, form) or (owner is None and form is None)):
                put(other, "checked", None)
    put(control, "checked", "" if checked else None)


def entries(
    document: LexborHTMLParser, form: LexborNode, submitter: LexborNode | None, read: Callable[[str], Upload]
) -> Entries:
    """Return what a form is submitted with. `read` gives the content of a chosen file."""
    found: list[tuple[str, str | Upload]] = []
    for control in controls_of(document, form):
        name = attribute(control, "name")
        if not name or is_disabled(control) or closest(control, "datalist") is not None:
            continue
        found += [(name, value) for value in _values(control, submitter, read)]
    return tuple(found)


def _values(control: LexborNode, submitter: LexborNode | None, read: Callable[[str], Upload]) -> Iterator[str | Upload]:
    kind = input_type(control)
    if control.tag == "select":
        yield from (option_value(option) for option in selected_options(control) if not is_disabled(option))
    elif control.tag == "textarea":
        # Line breaks travel as CRLF.
        yield "\r\n".join(value_of(control).splitlines()) if value_of(control) else ""
    elif kind in ("submit", "button", "reset", "image"):
        if same(control, submitter) and kind == "submit":
            yield value_of(control)
    elif kind in ("checkbox", "radio"):
        if has(control, "checked"):
            yield value_of(control)
    elif kind == "file":
        paths: list[str] = orjson.loads(attribute(control, FILES) or "[]")
        yield from (read(path) for path in paths) if paths else [Upload("", "", 0)]
    else:
        yield value_of(control)


def default_button(document: LexborHTMLParser, form: LexborNode) -> LexborNode | None:
    """Return the first button that submits a form."""
    found = controls_of(document, form)
    return next(
        (one for one in found if one.tag in ("button", "input") and input_type(one) in ("submit", "image")), None
    )


def blocks_implicit_submission(document: LexborHTMLParser, form: LexborNode) -> int:
    """Return how many text fields a form has: with more than one and no button, Enter does not submit it."""
    return sum(1 for control in controls_of(document, form) if control.tag == "input" and is_text_field(control))


def restore(document: LexborHTMLParser, fresh: LexborHTMLParser, form: LexborNode) -> None:
    """Give the controls of a form the values that the page was loaded with; `fresh` is the page as it was loaded."""
    place = next((index for index, one in enumerate(document.css("form")) if same(one, form)), None)
    twins = fresh.css("form")
    if place is None or place >= len(twins):
        return
    for control, loaded in zip(controls_of(document, form), controls_of(fresh, twins[place]), strict=False):
        for name in ("value", "checked"):
            put(control, name, attribute(loaded, name))
        for name in (TYPED, FILES):
            put(control, name, None)
        if control.tag == "textarea":
            write_text(control, text_of(loaded))
        for option, before in zip(control.css("option"), loaded.css("option"), strict=False):
            put(option, "selected", attribute(before, "selected"))
