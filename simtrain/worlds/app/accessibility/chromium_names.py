"""Accessible names as Chromium computes them, where it differs from Playwright."""

import re

from simtrain.worlds.app.accessibility.chromium_texts import transformed
from simtrain.worlds.app.accessibility.document import Element
from simtrain.worlds.app.accessibility.form_state import type_of, value_of
from simtrain.worlds.app.accessibility.name_walks import NameWalk
from simtrain.worlds.app.accessibility.names import AccessibleNames

_SPACES = re.compile("[ \t\n\v\f\r\u200b\u00ad]+")


class ChromiumNames(AccessibleNames):
    """The names of the elements of a page, in Chromium's own tree."""

    def text_of(self, element: Element, *, from_content: bool) -> str:
        """The name whatever its role; its content counts as asked. No-break spaces stay."""
        if element.tag == "area":
            return (
                element.attributes.get("aria-label")
                or element.attributes.get("alt")
                or element.attributes.get("title", "")
            )
        walk = NameWalk(target="self", as_native=from_content, without_content=not from_content)
        name = _SPACES.sub(" ", self.text(element, walk, set(), set())).strip(" ")
        if not name and from_content:
            return "\u00a0" if "\u00a0" in element.text() else ""
        if not name and element.tag == "img":
            return element.attributes.get("alt", "")
        return name

    def text(self, element: Element, walk: NameWalk, visited: set[Element], sources: set[Element]) -> str:
        """The text that an element adds to a name; groups within it, such as the items below an item, add none."""
        if walk.target == "descendant" and element.attributes.get("role") == "group":
            return ""
        return super().text(element, walk, visited, sources)

    def native(
        self, element: Element, walk: NameWalk, visited: set[Element], sources: set[Element], labelled: bool
    ) -> str | None:
        """The name that HTML itself gives: an empty `alt` is one, and figures have none."""
        if element.tag == "input" and type_of(element) in ("submit", "reset", "button"):
            # BrowserGym writes the value of each control into the page, so that a button without one has an empty one.
            visited.add(element)
            return value_of(element, self.state) or element.attributes.get("title", "")
        if element.tag == "img" and "alt" in element.attributes:
            visited.add(element)
            return element.attributes["alt"]
        if element.tag == "figure":
            return None
        return super().native(element, walk, visited, sources, labelled)

    def from_labels(self, element: Element, visited: set[Element], sources: set[Element]) -> str:
        """The text of its labels; hidden ones count for nothing."""
        labels = [label for label in self.page.labels[element.position] if not self.is_hidden(label)]
        parts = [self.text(label, NameWalk(in_label=True), visited, sources) for label in labels]
        return " ".join(part for part in parts if part)

    def shown(self, text: str, element: Element) -> str:
        """A text of an element as it counts: in Chromium, as it is shown."""
        return transformed(text, element)
