"""The cascade: what the stylesheets of a page come to for each of its elements."""

from collections.abc import Sequence

from simtrain.worlds.app.accessibility.browser_styles import OWN_CURSOR, OWN_LETTERS, PADDED, display_of, has_pointer
from simtrain.worlds.app.accessibility.document import UNRENDERED, Element, HtmlDocument, Style
from simtrain.worlds.app.accessibility.stylesheets import (
    FOR_ALL,
    Declaration,
    PassedOver,
    StyleRule,
    Stylesheet,
    read_style_attribute,
)

# The winner of each property for an element and its pseudo-elements, with the weight it won by.
_Won = dict[tuple[str, str], tuple[tuple[bool, bool, tuple[int, int, int], int], str]]

# What a child of a flex or grid container becomes.
_BLOCKIFIED = {
    "inline": "block",
    "inline-block": "block",
    "inline-flex": "flex",
    "inline-grid": "grid",
    "inline-table": "table",
    "contents": "contents",
}
_CONTAINERS = frozenset({"flex", "inline-flex", "grid", "inline-grid"})


def apply_styles(page: HtmlDocument, stylesheets: Sequence[Stylesheet]) -> list[PassedOver]:
    """Give each element its style, and say whether it is rendered; returns what style attributes had outside the subset."""
    rules = [rule for stylesheet in stylesheets for rule in stylesheet.rules]
    matches = _matches(page, rules)
    passed_over: list[PassedOver] = []
    # Elements of one tag below the same style that the same rules match share theirs: most of a page does.
    shared: dict[tuple[object, ...], Style] = {}
    for element in page.elements:
        attributes, parent = element.attributes, element.parent
        above = parent.style if parent is not None else None
        matched = matches.get(element.position, ())
        own, key = "", (above, element.tag, matched)
        if attributes:
            own = attributes.get("style", "")
            if own:
                passed_over.extend(read_style_attribute(own)[1])
            if own or not _TELLING.isdisjoint(attributes):
                key = (above, element.tag, matched, own, _TELLING.intersection(attributes))
        style = shared.get(key)
        if style is None:
            style = _style(element, above, _won(rules, matched, own))
            plain = not own and "hidden" not in attributes and element.tag not in _TYPED
            if plain and not any(rules[number].selector.pseudo for number in matched):
                shared[key] = style
        element.style = style
        _place(element, parent, style)
    return passed_over


# The attributes by whose presence the browser's own styles differ; of these tags by their values as well.
_TELLING = frozenset({"hidden", "href", "open", "popover"})
_TYPED = frozenset({"input", "hr"})


def _matches(page: HtmlDocument, rules: Sequence[StyleRule]) -> dict[int, tuple[int, ...]]:
    """The numbers of the rules that match each element, by its position."""
    found: dict[int, tuple[int, ...]] = {}
    by_memory, find = page.by_memory, page.parser.css
    for number, rule in enumerate(rules):
        for node in find(rule.selector.text):
            element = by_memory.get(node.mem_id)
            if element is not None:
                found[element.position] = (*found.get(element.position, ()), number)
    return found


def _won(rules: Sequence[StyleRule], matched: Sequence[int], own: str) -> _Won | None:
    """The winners of the cascade among the rules that match an element and its own style attribute."""
    if not matched and not own:
        return None
    won: _Won = {}
    for number in matched:
        selector = rules[number].selector
        _add(won, rules[number].declarations, selector.specificity, number, selector.pseudo, in_attribute=False)
    if own:
        _add(won, read_style_attribute(own)[0], (0, 0, 0), 0, "", in_attribute=True)
    return won


def _add(
    won: _Won,
    declarations: Sequence[Declaration],
    specificity: tuple[int, int, int],
    order: int,
    pseudo: str,
    *,
    in_attribute: bool,
) -> None:
    for declaration in declarations:
        weight = (declaration.important, in_attribute, specificity, order)
        key = (pseudo, declaration.name)
        held = won.get(key)
        if held is None or held[0] <= weight:
            won[key] = (weight, declaration.value)


def _style(element: Element, above: Style | None, won: _Won | None) -> Style:
    """Work out the style of an element below one with the style `above`."""
    tag = element.tag
    style = Style(
        display_of(element),
        visible=above is None or above.visible,
        pointer=has_pointer(element) or (above is not None and above.pointer and tag not in OWN_CURSOR),
        events=above is None or above.events,
        preserves_spaces=tag in ("pre", "textarea") or (above is not None and above.preserves_spaces),
        transform="" if above is None or tag in OWN_LETTERS else above.transform,
    )
    style.padded = tag in PADDED
    if won is not None:
        _author(element, style, won)
    if above is not None and (above.display in _CONTAINERS or style.out_of_flow) and style.display in _BLOCKIFIED:
        style.display = _BLOCKIFIED[style.display]
    return style


def _place(element: Element, parent: Element | None, style: Style) -> None:
    """Say whether an element is rendered, and whether it is hidden from assistive technology."""
    gone = style.display == "none"
    if parent is None:
        element.rendered = not gone
        element.hidden = gone
        return
    rendered = parent.rendered and not gone and (parent.tag not in _FOLDING or not _folded(element, parent))
    attributes = element.attributes
    hidden = parent.hidden or gone or ("aria-hidden" in attributes and attributes["aria-hidden"].lower() == "true")
    element.rendered, element.hidden = rendered, hidden
    if style.display != "contents" and element.tag not in _SPECIAL:
        element.concealed = hidden or not (rendered and style.visible)


# What else hides these is for whoever asks.
_SPECIAL = UNRENDERED | {"option", "optgroup"}
_FOLDING = frozenset({"details", "option"})


def _folded(element: Element, parent: Element) -> bool:
    """Whether it is in the closed part of a details element, or is markup within an option, of which only the text is shown."""
    if parent.tag == "option":
        return True
    if parent.tag != "details" or "open" in parent.attributes:
        return False
    return element is not next((child for child in parent.elements() if child.tag == "summary"), None)


def _author(element: Element, style: Style, won: _Won) -> None:
    """Apply what the author's stylesheets say."""
    values = {name: value for (pseudo, name), (_, value) in won.items() if not pseudo}
    if (display := values.get("display")) is not None:
        style.display = display if display not in FOR_ALL else {"revert": style.display}.get(display, "inline")
    if (visibility := values.get("visibility")) is not None and visibility not in ("inherit", "unset", "revert"):
        style.visible = visibility in ("visible", "initial")
    if (cursor := values.get("cursor")) is not None and cursor not in ("inherit", "unset", "revert"):
        style.pointer = cursor == "pointer"
    if (events := values.get("pointer-events")) is not None and events not in ("inherit", "unset", "revert"):
        style.events = events != "none"
    if (white := values.get("white-space")) is not None and white not in ("inherit", "unset", "revert"):
        style.preserves_spaces = white in ("pre", "pre-wrap", "break-spaces")
    if (transform := values.get("text-transform")) is not None and transform not in ("inherit", "unset", "revert"):
        style.transform = transform if transform not in ("none", "initial") else ""
    floats = values.get("float", "none") not in ("none", *FOR_ALL)
    placed = values.get("position", "static") in ("absolute", "fixed")
    style.out_of_flow = floats or placed
    style.floating = floats and not placed
    overflow = values.get("overflow", values.get("overflow-y", "visible"))
    style.contains_floats = style.out_of_flow or overflow.split()[0] not in ("visible", "clip", *FOR_ALL)
    style.markers = not values.get("list-style-type", values.get("list-style", "")).startswith("none")
    _sizes(style, values)
    style.before = _pseudo(element, style, won, "before")
    style.after = _pseudo(element, style, won, "after")


def _sizes(style: Style, values: dict[str, str]) -> None:
    if any(values.get(name) == "0" for name in ("height", "width", "max-height", "max-width")):
        style.zero = not (values.get("min-height") == "1" or values.get("padding") == "1")
    if values.get("padding") == "0" and values.get("border") == "0":
        style.padded = False
    if any(values.get(name) == "1" for name in _GROWING):
        style.padded = True


_GROWING = (
    "height",
    "min-height",
    "padding",
    "padding-top",
    "padding-bottom",
    "padding-block",
    "border",
    "border-top",
    "border-bottom",
    "border-width",
)


def _pseudo(element: Element, style: Style, won: _Won, pseudo: str) -> str | None:
    """The text of a pseudo-element, between spaces where it is not inline; None where there is none."""
    held = won.get((pseudo, "content"))
    if held is None or held[1] == "\0":
        return None
    display = won.get((pseudo, "display"), (None, "inline"))[1]
    visibility = won.get((pseudo, "visibility"), (None, "visible" if style.visible else "hidden"))[1]
    if display == "none" or visibility == "hidden":
        return None
    pieces = held[1].split("\0")
    text = "".join(piece if index % 2 == 0 else element.attributes.get(piece, "") for index, piece in enumerate(pieces))
    inline = display == "inline" and style.display not in _CONTAINERS
    inline = inline and won.get((pseudo, "position"), (None, ""))[1] not in ("absolute", "fixed")
    inline = inline and won.get((pseudo, "float"), (None, "none"))[1] == "none"
    return text if inline else f" {text} "
