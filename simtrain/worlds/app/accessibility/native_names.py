"""The names that HTML itself gives to elements (HTML-AAM, section 4.1): by labels, captions, alternatives and the like."""

from abc import ABC, abstractmethod
from dataclasses import replace

from simtrain.worlds.app.accessibility.document import Element, HtmlDocument, words
from simtrain.worlds.app.accessibility.form_state import FormState, type_of, value_of
from simtrain.worlds.app.accessibility.name_walks import DESCENDANT, SELF, NameWalk

# Their names come from elsewhere than their content, or from elements of a certain kind within them.
NAMED_NATIVELY = words("area fieldset figure iframe img input meter output progress select summary svg table textarea")
_WITH_PLACEHOLDER = frozenset({"text", "password", "number", "search", "tel", "email", "url"})


class NativeNames(ABC):
    """What names take from elements of HTML; how a text counts within a name is for the subclass."""

    def __init__(self, page: HtmlDocument, state: FormState) -> None:
        self.page = page
        self.state = state
        self.led_out: int = 0
        """How often a name led outside the element that was named: to labels, or to what an attribute refers to."""

    @abstractmethod
    def is_hidden(self, element: Element) -> bool:
        """Whether assistive technology does not get it."""

    @abstractmethod
    def text(self, element: Element, walk: NameWalk, visited: set[Element], sources: set[Element]) -> str:
        """The text that an element adds to a name."""

    def native(
        self, element: Element, walk: NameWalk, visited: set[Element], sources: set[Element], labelled: bool
    ) -> str | None:
        """The name that HTML itself gives (HTML-AAM, section 4.1); None where the content decides."""
        tag = element.tag
        if tag not in NAMED_NATIVELY and tag != "button":
            return None
        if tag == "input":
            return self._input(element, walk, visited, sources, labelled)
        if tag in ("button", "output", "textarea", "select", "meter", "progress"):
            return None if labelled else self._labelled(element, walk, visited, sources)
        if tag in ("fieldset", "figure") and not labelled:
            visited.add(element)
            return self._captioned(element, "legend" if tag == "fieldset" else "figcaption", walk, visited, sources)
        if tag in ("img", "area"):
            visited.add(element)
            alternative = element.attributes.get("alt", "")
            return self._from(
                element, alternative if alternative.strip() else element.attributes.get("title", ""), sources
            )
        if tag == "table":
            visited.add(element)
            caption = next((child for child in element.elements() if child.tag == "caption"), None)
            if caption is not None:
                return self.text(caption, self._as_native(caption, walk), visited, sources)
            return (
                self._from(element, element.attributes["summary"], sources)
                if element.attributes.get("summary")
                else None
            )
        if tag == "svg":
            visited.add(element)
            title = next((child for child in element.elements() if child.tag == "title"), None)
            if title is not None:
                return self.text(title, replace(self._within(walk), by_reference=True, hidden=True), visited, sources)
        return None

    def _captioned(
        self, element: Element, caption: str, walk: NameWalk, visited: set[Element], sources: set[Element]
    ) -> str:
        found = next((child for child in element.elements() if child.tag == caption), None)
        if found is not None:
            return self.text(found, self._as_native(found, walk), visited, sources)
        return self._from(element, element.attributes.get("title", ""), sources)

    def _input(
        self, element: Element, walk: NameWalk, visited: set[Element], sources: set[Element], labelled: bool
    ) -> str | None:
        attributes, kind = element.attributes, type_of(element)
        if kind in ("button", "submit", "reset"):
            visited.add(element)
            value = value_of(element, self.state)
            default = {"submit": "Submit", "reset": "Reset"}.get(kind, attributes.get("title", ""))
            return self._from(element, value if value.strip() else default, sources)
        if kind in ("file", "image"):
            visited.add(element)
            if self.page.labels.get(element.position) and not walk.by_reference:
                return self.from_labels(element, visited, sources)
            if kind == "file":
                return self._from(element, "Choose File", sources)
            candidates = (attributes.get("alt", ""), attributes.get("title", ""), "Submit")
            return self._from(element, next(text for text in candidates if text.strip()), sources)
        return None if labelled else self._labelled(element, walk, visited, sources)

    def _labelled(self, element: Element, walk: NameWalk, visited: set[Element], sources: set[Element]) -> str | None:
        visited.add(element)
        if self.page.labels.get(element.position):
            return self.from_labels(element, visited, sources)
        if element.tag == "button":
            # Named by its content.
            return None
        attributes = element.attributes
        title = attributes.get("title", "")
        takes_placeholder = element.tag == "textarea" or (
            element.tag == "input" and type_of(element) in _WITH_PLACEHOLDER
        )
        return self._from(
            element, title if title or not takes_placeholder else attributes.get("placeholder", ""), sources
        )

    def from_labels(self, element: Element, visited: set[Element], sources: set[Element]) -> str:
        self.led_out += 1
        labels = self.page.labels[element.position]
        parts = [
            self.text(label, NameWalk(in_label=True, hidden=self.is_hidden(label)), visited, sources)
            for label in labels
        ]
        return " ".join(part for part in parts if part)

    def _from(self, element: Element, text: str, sources: set[Element]) -> str:
        if text:
            sources.add(element)
        return text

    def _within(self, walk: NameWalk) -> NameWalk:
        if walk is SELF:
            return DESCENDANT
        return replace(walk, target="descendant", without_content=False) if walk.target == "self" else walk

    def _as_native(self, element: Element, walk: NameWalk) -> NameWalk:
        return replace(self._within(walk), as_native=True, hidden=self.is_hidden(element))
