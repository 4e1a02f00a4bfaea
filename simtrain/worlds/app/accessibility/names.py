"""The accessible name of each element (accname 1.2), as Playwright computes it, with the elements that it was taken from."""

import re
from collections.abc import Iterable, Set

from simtrain.worlds.app.accessibility.boxes import has_text_area
from simtrain.worlds.app.accessibility.document import UNRENDERED, Element, HtmlDocument, words
from simtrain.worlds.app.accessibility.form_state import FormState, chosen_options, value_of
from simtrain.worlds.app.accessibility.name_walks import DESCENDANT, SELF, NameWalk
from simtrain.worlds.app.accessibility.native_names import NAMED_NATIVELY, NativeNames
from simtrain.worlds.app.accessibility.roles import role_of

_UNNAMED = words(
    "caption code definition deletion emphasis generic insertion mark paragraph presentation strong subscript "
    "suggestion superscript term time"
)
_FROM_CONTENT = words(
    "button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox menuitemradio option radio "
    "row rowheader switch tab tooltip treeitem"
)
# Whose content counts where they are within what is being named.
_FROM_CONTENT_WITHIN = words(
    "caption code contentinfo definition deletion emphasis insertion list listitem mark none paragraph "
    "presentation region row rowgroup section strong subscript superscript table term time"
) | {""}
_RANGES = frozenset({"progressbar", "scrollbar", "slider", "spinbutton", "meter"})
# Roles of what counts by its value within the name of something else.
_EMBEDDED = _RANGES | {"combobox", "listbox", "menu", "searchbox", "textbox"}

_ALL_SPACES = re.compile("[ \t\n\v\f\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+")
_INVISIBLE = re.compile("[\u200b\u00ad]")


def single_spaced(text: str) -> str:
    """The text with each run of white space as one space, none at the ends, and without soft hyphens."""
    if text.isascii():
        return " ".join(text.split())
    return _ALL_SPACES.sub(" ", _INVISIBLE.sub("", text)).strip(" ")


_NOT_PLAIN = NAMED_NATIVELY | UNRENDERED | {"button", "details"}
_FLOWING = _FROM_CONTENT | _FROM_CONTENT_WITHIN | {None}
NAMING = frozenset({"aria-label", "aria-labelledby", "title", "aria-owns"})
_TELLING = NAMING | {"role"}
_NOTHING: frozenset[Element] = frozenset()
_NONE_YET: set[Element] = set()


def _set_off(text: str, element: Element) -> str:
    """The text of an element within what is around it: blocks are set off by spaces."""
    return text if element.style.display == "inline" and element.tag != "br" else f" {text} "


class AccessibleNames(NativeNames):
    """The names of the elements of a page."""

    def __init__(self, page: HtmlDocument, state: FormState) -> None:
        super().__init__(page, state)
        # What an element that was named by what it holds adds to the name of one around it: its text, the elements that were
        # reached for it (None: itself alone), and those that the text is from.
        self._held: dict[Element, tuple[str, set[Element] | None, set[Element]]] = {}

    def name_of(self, element: Element) -> tuple[str, Set[Element]]:
        """The name, with single spaces, and the elements within and elsewhere whose text it has; the empty text where it has none."""
        role = element.role
        if role == "":
            role = role_of(element, self.page)
        if role in _UNNAMED:
            return "", _NOTHING
        attributes = element.attributes
        if element.tag not in NAMED_NATIVELY and (not attributes or NAMING.isdisjoint(attributes)):
            if role not in _FROM_CONTENT or self.is_hidden(element):
                return "", _NOTHING
            children = element.children
            labelled = element.position in self.page.labels
            if not children and not labelled:
                return single_spaced((element.style.before or "") + (element.style.after or "")), _NOTHING
            if len(children) == 1 and not labelled:
                found = self._of_one(element, children[0])
                if found is not None:
                    return found
        visited: set[Element] = set()
        sources: set[Element] = set()
        led_out = self.led_out
        text = self.text(element, SELF, visited, sources)
        # A title counts in place of blank content only where the element itself is named.
        if (
            role in _FROM_CONTENT
            and led_out == self.led_out
            and "title" not in attributes
            and text
            and not text.isspace()
        ):
            self._held[element] = (text, visited, sources)
        return single_spaced(text), sources

    def of_text(self, element: Element, role: str) -> str | None:
        """The text that is all that an element without attributes holds, and that names it; None for any other element."""
        children, style = element.children, element.style
        if (
            len(children) != 1
            or role not in _FROM_CONTENT
            or not isinstance(children[0], str)
            or style.before is not None
            or style.after is not None
            or element.concealed
            or element.tag in _NOT_PLAIN
        ):
            return None
        text = children[0]
        self._held[element] = (text, None, _NONE_YET)
        return text

    def _of_one(self, element: Element, child: Element | str) -> tuple[str, Set[Element]] | None:
        """What `name_of` gives for an element that holds one text, or one element that counts by what it holds; None for any other."""
        # What a closed one holds adds nothing to a name.
        if element.tag == "details":
            return None
        style = element.style
        if isinstance(child, str):
            text = child if style.before is style.after is None else (style.before or "") + child + (style.after or "")
            self._held[element] = (text, None, _NONE_YET)
            return single_spaced(text), _NOTHING
        visited, sources, led_out = {element}, set[Element](), self.led_out
        plain = self._plain(child, visited, sources)
        if plain is None:
            return None
        text = (style.before or "") + _set_off(plain, child) + (style.after or "")
        if text and not text.isspace():
            sources.add(element)
        if led_out == self.led_out:
            self._held[element] = (text, visited, sources)
        return single_spaced(text), sources

    def description_of(self, element: Element) -> str:
        """The description, from `aria-describedby`, `aria-description` or the title."""
        attributes = element.attributes
        if "aria-describedby" in attributes:
            referred = self.page.referred(attributes["aria-describedby"])
            walks = [(each, NameWalk(as_description=True, hidden=self.is_hidden(each))) for each in referred]
            return single_spaced(" ".join(self.text(each, walk, set(), set()) for each, walk in walks))
        return single_spaced(attributes.get("aria-description", attributes.get("title", "")))

    def is_hidden(self, element: Element) -> bool:
        """Whether assistive technology does not get it."""
        if element.concealed is None:
            element.concealed = self._is_hidden(element)
        return element.concealed

    def _is_hidden(self, element: Element) -> bool:
        if element.tag in UNRENDERED:
            return True
        if element.hidden:
            return True
        style = element.style
        if style.display == "contents":
            return not any(
                has_text_area(child, element) if isinstance(child, str) else not self.is_hidden(child)
                for child in element.children
            )
        if element.tag == "option" and element.closest("select") is not None:
            return False
        return not (element.rendered and style.visible) or (element.tag == "optgroup" and self._drops_down(element))

    def _drops_down(self, element: Element) -> bool:
        select = element.closest("select")
        return select is not None and role_of(select, self.page) == "combobox"

    def text(self, element: Element, walk: NameWalk, visited: set[Element], sources: set[Element]) -> str:
        if element in visited:
            return ""
        if element.tag in UNRENDERED or (not walk.hidden and self.is_hidden(element)):
            visited.add(element)
            return ""
        attributes = element.attributes
        labelled_by = self.page.referred(attributes["aria-labelledby"]) if "aria-labelledby" in attributes else []
        if labelled_by and not walk.by_reference:
            name = self._joined_references(labelled_by, visited, sources)
            if name:
                return name
        role = role_of(element, self.page) or ""
        if (
            role in _EMBEDDED
            and walk.target != "self"
            and (walk.in_label or walk.by_reference or walk.target == "descendant")
        ):
            embedded = self._embedded(element, role, walk, visited, sources, labelled_by)
            if embedded is not None:
                return embedded
        label = attributes.get("aria-label", "")
        if label and label.strip():
            visited.add(element)
            sources.add(element)
            return label
        if role not in ("presentation", "none"):
            native = self.native(element, walk, visited, sources, bool(labelled_by))
            if native is not None:
                return native
        from_content = (
            role in _FROM_CONTENT
            or (walk.target == "descendant" and role in _FROM_CONTENT_WITHIN)
            or (element.tag == "summary" and role not in ("presentation", "none"))
            or walk.by_reference
            or walk.as_description
            or walk.in_label
            or walk.as_native
        )
        if from_content and not walk.without_content:
            visited.add(element)
            text = self._content(element, walk, visited, sources)
            if text.strip() if walk.target == "self" else text:
                if text.strip():
                    sources.add(element)
                return text
        visited.add(element)
        if role not in ("presentation", "none") or element.tag == "iframe":
            title = attributes.get("title", "")
            if title.strip():
                sources.add(element)
                return title
        return ""

    def _joined_references(self, elements: Iterable[Element], visited: set[Element], sources: set[Element]) -> str:
        self.led_out += 1
        parts: list[str] = []
        for element in elements:
            found: set[Element] = set()
            parts.append(
                self.text(element, NameWalk(by_reference=True, hidden=self.is_hidden(element)), visited, found)
            )
            sources |= found
        name = " ".join(parts)
        return name if name.strip() or any(parts) else ""

    def _embedded(
        self,
        element: Element,
        role: str,
        walk: NameWalk,
        visited: set[Element],
        sources: set[Element],
        labelled_by: list[Element],
    ) -> str | None:
        """What a control within a label or a name counts as: its value. None where it counts by its own name."""
        if element in labelled_by:
            return None
        tag = element.tag
        if role in ("textbox", "searchbox"):
            visited.add(element)
            return self._from(
                element, value_of(element, self.state) if tag in ("input", "textarea") else element.text(), sources
            )
        if role in ("combobox", "listbox"):
            visited.add(element)
            chosen = self._chosen(element, role)
            if not chosen and tag == "input":
                return self._from(element, value_of(element, self.state), sources)
            return " ".join(self.text(option, self._within(walk), visited, sources) for option in chosen)
        visited.add(element)
        if role == "menu":
            return ""
        attributes = element.attributes
        text = attributes.get("aria-valuetext", attributes.get("aria-valuenow", attributes.get("value", "")))
        return self._from(element, text, sources)

    def _chosen(self, element: Element, role: str) -> list[Element]:
        if element.tag == "select":
            chosen = chosen_options(element, self.state)
            return chosen or [inner for inner in element.descendants() if inner.tag == "option"][:1]
        boxes = (
            [element]
            if role == "listbox"
            else [each for each in self._owned(element) if role_of(each, self.page) == "listbox"][:1]
        )
        return [
            each
            for box in boxes
            for each in self._owned(box)
            if each.attributes.get("aria-selected", "").lower() == "true" and role_of(each, self.page) == "option"
        ]

    def _owned(self, element: Element) -> list[Element]:
        self.led_out += 1
        owned = self.page.referred(element.attributes.get("aria-owns"))
        return [*element.descendants(), *(inner for each in owned for inner in (each, *each.descendants()))]

    def _content(self, element: Element, walk: NameWalk, visited: set[Element], sources: set[Element]) -> str:
        """The text of what is in it; blocks are set off by spaces."""
        within = self._within(walk)
        plainly = within is DESCENDANT
        parts: list[str] = [element.style.before or ""]
        folded = element.tag == "details" and "open" not in element.attributes and not walk.hidden
        for child in element.children:
            if isinstance(child, str):
                if not folded:
                    parts.append(self.shown(child, element))
                continue
            text = self._plain(child, visited, sources) if plainly else None
            if text is None:
                text = self.text(child, within, visited, sources)
            parts.append(_set_off(text, child))
        if "aria-owns" in element.attributes:
            self.led_out += 1
            parts.extend(
                f" {self.text(owned, within, visited, sources)} "
                for owned in self.page.referred(element.attributes["aria-owns"])
            )
        parts.append(element.style.after or "")
        return "".join(parts)

    def _plain(self, element: Element, visited: set[Element], sources: set[Element]) -> str | None:
        """What `text` returns within a name for an element that counts by what it holds and nothing else; None for any other."""
        held = self._held.get(element)
        if held is not None and element not in visited:
            text, reached, used = held
            if reached is None:
                visited.add(element)
                if text and not text.isspace():
                    sources.add(element)
                return text
            if visited.isdisjoint(reached):
                visited |= reached
                sources |= used
                return text
        attributes = element.attributes
        if element.tag in _NOT_PLAIN or element in visited or (attributes and not _TELLING.isdisjoint(attributes)):
            return None
        role = element.role
        if (role_of(element, self.page) if role == "" else role) not in _FLOWING:
            return None
        if self.is_hidden(element):
            visited.add(element)
            return ""
        visited.add(element)
        children, style = element.children, element.style
        if len(children) == 1 and not style.before and not style.after and isinstance(children[0], str):
            text = self.shown(children[0], element)
        else:
            text = self._content(element, DESCENDANT, visited, sources)
        if text and not text.isspace():
            sources.add(element)
        return text

    def shown(self, text: str, element: Element) -> str:
        """A text of an element as it counts: in Playwright, as it was written."""
        return text
