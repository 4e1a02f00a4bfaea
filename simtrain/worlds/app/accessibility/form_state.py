"""What a form holds: the page's own values, and what has been typed, ticked, chosen and focused since."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from simtrain.worlds.app.accessibility.document import Element, words

_TYPES = words(
    "button checkbox color date datetime-local email file hidden image month number password radio range reset "
    "search submit tel text time url week"
)
_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_SHAPES = {
    "date": re.compile(r"\d{4,}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"),
    "month": re.compile(r"\d{4,}-(0[1-9]|1[0-2])"),
    "week": re.compile(r"\d{4,}-W(0[1-9]|[1-4]\d|5[0-3])"),
    "time": re.compile(r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,3})?)?"),
    "datetime-local": re.compile(
        r"\d{4,}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,3})?)?"
    ),
    "color": re.compile(r"#[0-9a-fA-F]{6}"),
}


@dataclass(frozen=True, slots=True)
class FormState:
    """What differs from the page as it was served. Elements are named by their position in document order."""

    values: Mapping[int, str] = field(default_factory=dict[int, str])
    checked: Mapping[int, bool] = field(default_factory=dict[int, bool])
    # The positions of the options that are chosen, for each select that was touched.
    chosen: Mapping[int, frozenset[int]] = field(default_factory=dict[int, frozenset[int]])
    focused: int | None = None


UNTOUCHED = FormState()


def type_of(element: Element) -> str:
    """The type of an input; `text` where it is missing or unknown."""
    kind = element.attributes.get("type", "text").lower()
    return kind if kind in _TYPES else "text"


def value_of(element: Element, state: FormState) -> str:
    """The value of an input or textarea, as a script of the page would read it."""
    typed = state.values.get(element.position)
    if element.tag == "textarea":
        return (element.text() if typed is None else typed).replace("\r\n", "\n").replace("\r", "\n")
    kind = type_of(element)
    raw = element.attributes.get("value", "") if typed is None else typed
    if kind in ("checkbox", "radio"):
        return raw if "value" in element.attributes else "on"
    return raw if kind in ("hidden", "submit", "image", "reset", "button") else _sanitized(kind, raw, element)


def _sanitized(kind: str, raw: str, element: Element) -> str:
    """The value after the type's sanitization (HTML, "value sanitization algorithm")."""
    if kind == "number":
        return raw if _NUMBER.fullmatch(raw) else ""
    if kind == "range":
        return _in_range(raw, element)
    shape = _SHAPES.get(kind)
    if shape is not None:
        if not shape.fullmatch(raw):
            return "#000000" if kind == "color" else ""
        return raw.lower() if kind == "color" else raw.replace(" ", "T")
    if kind == "file":
        return raw if raw and element.attributes.get("value") != raw else ""
    text = raw.replace("\r", "").replace("\n", "")
    return text.strip(" \t\f") if kind in ("email", "url") else text


def _in_range(raw: str, element: Element) -> str:
    def number(name: str, default: float) -> float:
        text = element.attributes.get(name, "")
        return float(text) if _NUMBER.fullmatch(text) else default

    low, high = number("min", 0), number("max", 100)
    value = float(raw) if _NUMBER.fullmatch(raw) else (low + (high - low) / 2 if high >= low else low)
    value = max(low, min(value, high)) if high >= low else low
    step = number("step", 1)
    if element.attributes.get("step", "").lower() != "any" and step > 0:
        value = low + round((value - low) / step) * step
        if value > high:
            value -= step
    return f"{value:g}"


def is_checked(element: Element, state: FormState) -> bool:
    """Whether a checkbox or radio button is ticked."""
    ticked = state.checked.get(element.position)
    return "checked" in element.attributes if ticked is None else ticked


def chosen_options(select: Element, state: FormState) -> list[Element]:
    """The options of a select that are chosen; a list that drops down always has one, unless it is empty."""
    options = [inner for inner in select.descendants() if inner.tag == "option"]
    touched = state.chosen.get(select.position)
    if touched is not None:
        return [option for option in options if option.position in touched]
    chosen = [option for option in options if "selected" in option.attributes]
    if "multiple" in select.attributes:
        return chosen
    if chosen:
        return chosen[-1:]
    size = select.attributes.get("size", "")
    if size.isdecimal() and int(size) > 1:
        return []
    usable = [option for option in options if not _is_off(option)]
    return usable[:1] or options[:0]


def _is_off(option: Element) -> bool:
    group = option.parent
    return "disabled" in option.attributes or (
        group is not None and group.tag == "optgroup" and "disabled" in group.attributes
    )
