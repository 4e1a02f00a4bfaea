"""The roles of Chromium's accessibility tree, as the DevTools protocol names them, where they differ from those of ARIA."""

from simtrain.worlds.app.accessibility.document import Element, HtmlDocument, words
from simtrain.worlds.app.accessibility.form_state import type_of
from simtrain.worlds.app.accessibility.roles import explicit_role, role_by_tag, role_of

_BY_TAG = {
    "abbr": "Abbr",
    "acronym": "Abbr",
    "address": "group",
    "canvas": "Canvas",
    "dl": "DescriptionList",
    "figcaption": "Figcaption",
    "form": "form",
    "hgroup": "group",
    "label": "LabelText",
    "legend": "Legend",
    "ruby": "Ruby",
    "s": "deletion",
}
_BY_INPUT_TYPE = {
    "color": "ColorWell",
    "date": "Date",
    "datetime-local": "DateTime",
    "month": "DateTime",
    "time": "InputTime",
    "week": "DateTime",
}
_MORE_ROLES = words(
    "doc-abstract doc-acknowledgments doc-afterword doc-appendix doc-backlink doc-biblioentry doc-bibliography "
    "doc-biblioref doc-chapter doc-colophon doc-conclusion doc-cover doc-credit doc-credits doc-dedication doc- "
    "endnote doc-endnotes doc-epigraph doc-epilogue doc-errata doc-example doc-footnote doc-foreword doc-glossary "
    "doc-glossref doc-index doc-introduction doc-noteref doc-notice doc-pagebreak doc-pagelist doc-part doc- "
    "preface doc-prologue doc-pullquote doc-qna doc-subtitle doc-tip doc-toc"
)


def chromium_role(element: Element, page: HtmlDocument, layout_tables: set[int]) -> str:
    """The role of an element that BrowserGym has marked, which keeps it in the tree."""
    explicit = _explicit(element)
    if explicit is not None:
        return explicit
    tag = element.tag
    if tag in _BY_TAG:
        return _BY_TAG[tag]
    if tag == "input" and type_of(element) in _BY_INPUT_TYPE:
        return _BY_INPUT_TYPE[type_of(element)]
    if tag == "summary":
        parent = element.parent
        first = parent is not None and parent.tag == "details" and next(parent.elements(), None) is element
        return "DisclosureTriangle" if first else "generic"
    if tag == "li" and (element.parent is None or explicit_role(element.parent) not in (None, "list", "directory")):
        return "generic"
    if tag == "aside" and _is_within_section(element) and not _is_named(element):
        return "generic"
    if tag in ("header", "footer"):
        return role_of(element, page) or ("sectionheader" if tag == "header" else "sectionfooter")
    if tag in ("table", "tbody", "thead", "tfoot", "tr", "td", "th"):
        return _of_table(element, page, layout_tables)
    if tag == "img":
        return "image"
    native = role_by_tag(element, page) if "role" in element.attributes else role_of(element, page)
    return "generic" if native in (None, "presentation", "none") else {"img": "image"}.get(native, native)


def _is_within_section(element: Element) -> bool:
    above = element.parent
    while above is not None and above.tag not in ("article", "aside", "nav", "section"):
        above = above.parent
    return above is not None


def _is_named(element: Element) -> bool:
    return any(name in element.attributes for name in ("aria-label", "aria-labelledby", "title"))


_LAYOUT = {"table": "LayoutTable", "tr": "LayoutTableRow", "td": "LayoutTableCell", "th": "LayoutTableCell"}


def _explicit(element: Element) -> str | None:
    stated = element.attributes.get("role")
    if stated is None:
        return None
    further = next((word for word in stated.lower().split() if word in _MORE_ROLES), None)
    role = further or explicit_role(element)
    # What is marked is never presentational.
    return None if role in (None, "presentation", "none") else {"img": "image"}.get(role, role)


def _of_table(element: Element, page: HtmlDocument, layout_tables: set[int]) -> str:
    table = element.closest("table")
    if table is None or explicit_role(table) not in (None, "presentation", "none"):
        return role_of(element, page) or "generic"
    if table.position in layout_tables:
        return {"table": "LayoutTable", "tr": "LayoutTableRow", "td": "LayoutTableCell", "th": "LayoutTableCell"}.get(
            element.tag, "generic"
        )
    natural = {
        "table": "table",
        "tbody": "rowgroup",
        "thead": "rowgroup",
        "tfoot": "rowgroup",
        "tr": "row",
        "td": "cell",
    }
    role = role_of(element, page)
    return natural.get(element.tag, "columnheader") if role in (None, "presentation", "none") else role


def find_layout_tables(page: HtmlDocument) -> set[int]:
    """The positions of the tables that only lay things out, as Chromium guesses it."""
    return {element.position for element in page.elements if element.tag == "table" and _is_for_layout(element)}


def _is_for_layout(table: Element) -> bool:
    inner = [each for each in table.descendants() if each.closest("table") is table]
    cells = [each for each in inner if each.tag in ("td", "th") and each.rendered]
    if len(cells) <= 1 and "summary" not in table.attributes:
        return True
    if any(name in table.attributes for name in ("summary", "rules")) or any(
        name.startswith("aria-") for name in table.attributes
    ):
        return False
    if "role" in table.attributes:
        return False
    if any(each.tag in ("caption", "thead", "tfoot", "col", "colgroup", "th") for each in inner):
        return False
    if any(name in cell.attributes for cell in cells for name in ("headers", "abbr", "axis", "scope")):
        return False
    return sum(1 for each in inner if each.tag == "tr") < 20
