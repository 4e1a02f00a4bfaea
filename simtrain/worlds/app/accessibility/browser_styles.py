"""How elements are displayed where no stylesheet of a page says otherwise (HTML, section "Rendering"; as Chromium has it)."""

from simtrain.worlds.app.accessibility.document import Element, words

_BY_DISPLAY = {
    "block": "address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption figure "
    "footer form frameset h1 h2 h3 "
    "h4 h5 h6 header hgroup hr html legend listing main menu nav ol optgroup option p plaintext pre search section ul xmp",
    "list-item": "li summary",
    "inline-block": "button input meter progress select textarea marquee",
    "none": "area base basefont datalist head link meta noembed noframes noscript param rp script style template title",
    "table": "table",
    "table-caption": "caption",
    "table-cell": "td th",
    "table-column": "col",
    "table-column-group": "colgroup",
    "table-footer-group": "tfoot",
    "table-header-group": "thead",
    "table-row": "tr",
    "table-row-group": "tbody",
    "contents": "slot",
    "ruby": "ruby",
    "ruby-text": "rt",
    "math": "math",
}
DISPLAY = {tag: display for display, tags in _BY_DISPLAY.items() for tag in tags.split()}

# Buttons and the like have a cursor of their own, whatever they are in.
OWN_CURSOR = words("button input label meter optgroup option progress select textarea")

# With letters of their own, whatever `text-transform` is around them.
OWN_LETTERS = OWN_CURSOR - {"label"}

# With an area although they may be empty.
REPLACED = words("audio button canvas embed iframe img input meter object progress select svg textarea video")
PADDED = words("button dialog fieldset hr input legend td th select textarea")


def display_of(element: Element) -> str:
    """The display of an element without a stylesheet."""
    attributes = element.attributes
    tag = element.tag
    if attributes:
        if "hidden" in attributes and attributes["hidden"].lower() != "until-found":
            return "none"
        if tag == "input" and attributes.get("type", "").lower() == "hidden":
            return "none"
        if "popover" in attributes:
            return "none"
    if tag == "hr" and element.parent is not None and element.parent.tag in ("select", "optgroup"):
        # A line between the options of a list that drops down.
        return "none"
    if tag == "dialog" and "open" not in attributes:
        return "none"
    return DISPLAY.get(tag, "inline")


def has_pointer(element: Element) -> bool:
    """Whether the browser itself shows the hand over it."""
    attributes = element.attributes
    if element.tag in ("a", "area"):
        return "href" in attributes
    return element.tag == "input" and attributes.get("type", "").lower() == "image"
