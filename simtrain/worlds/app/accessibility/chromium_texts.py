"""The texts of a page as Chromium lays them out: white space folded, none at the ends of lines."""

import re

from simtrain.worlds.app.accessibility.browser_styles import REPLACED
from simtrain.worlds.app.accessibility.document import Element, HtmlDocument

# The laid out text of each text node, by the position of its element and its number among the children; absent where nothing is left.
Texts = dict[tuple[int, int], str]

_SPACES = re.compile("[ \t\n\f\r]+")
_WORD_STARTS = re.compile(r"(?<!\w)\w")


def lay_out_texts(page: HtmlDocument) -> Texts:
    """Fold the white space of all texts that are rendered."""
    flow = _Flow()
    flow.element(page.body)
    flow.end_line()
    return {key: text for key, text in flow.texts.items() if text}


def transformed(text: str, element: Element) -> str:
    """A text in the letters in which it is shown."""
    transform = element.style.transform
    if not transform:
        return text
    if transform == "capitalize":
        return _WORD_STARTS.sub(lambda found: found[0].upper(), text)
    return text.upper() if transform == "uppercase" else text.lower()


class _Flow:
    """A line of text that goes on through inline elements and ends at the edges of blocks."""

    def __init__(self) -> None:
        self.texts: Texts = {}
        # Nothing stands on the line yet, or the last thing on it is a space.
        self._after_space = True
        self._last: tuple[int, int] | None = None

    def end_line(self) -> None:
        """End the line: a space at its end is dropped."""
        if self._last is not None and self.texts[self._last].endswith(" "):
            self.texts[self._last] = self.texts[self._last][:-1]
        self._last = None
        self._after_space = True

    def element(self, element: Element) -> None:
        """Lay out what is in an element."""
        if not element.rendered:
            return
        for index, child in enumerate(element.children):
            if isinstance(child, str):
                if element.tag != "details" or "open" in element.attributes:
                    self._text(element, index, child)
            else:
                self._child(child)

    def _child(self, child: Element) -> None:
        if not child.rendered:
            return
        display = child.style.display
        if child.tag == "br":
            self.end_line()
        elif child.style.out_of_flow:
            self._apart(child)
        elif child.tag in REPLACED or (display.startswith("inline-") and display != "inline"):
            self._apart(child)
            self._after_space = False
            self._last = None
        elif display in ("inline", "contents", "ruby"):
            self.element(child)
        else:
            self.end_line()
            self.element(child)
            self.end_line()

    def _apart(self, element: Element) -> None:
        """Lay out a box of its own, which leaves the line as it was."""
        inner = _Flow()
        inner.element(element)
        inner.end_line()
        self.texts.update(inner.texts)

    def _text(self, element: Element, index: int, text: str) -> None:
        key = (element.position, index)
        text = transformed(text, element)
        if element.style.preserves_spaces:
            self.texts[key] = text
            self._after_space, self._last = False, None
            return
        folded = _SPACES.sub(" ", text)
        if self._after_space and folded.startswith(" "):
            folded = folded[1:]
        if not folded:
            return
        self.texts[key] = folded
        self._last = key
        self._after_space = folded.endswith(" ")


def is_needless_space(element: Element, index: int, texts: Texts) -> bool:
    """Whether a text of one space can be left out: it separates nothing that would run together otherwise."""
    before, after = _beside(element, index, -1), _beside(element, index, 1)
    return _needs_none(before, texts, after=False) or _needs_none(after, texts, after=True)


_Place = tuple[Element, int]


def _beside(element: Element, index: int, step: int) -> _Place | None:
    """The next child in one direction, here or beside an element around it: the element that it is in, and its number there."""
    parent, place = element, index + step
    while not 0 <= place < len(parent.children):
        above = parent.parent
        if above is None:
            return None
        place = above.children.index(parent) + step
        parent = above
    return parent, place


def _needs_none(place: _Place | None, texts: Texts, *, after: bool, depth: int = 0) -> bool:
    """Whether what stands there is set off from a text without a space."""
    if place is None:
        return True
    if depth > 3:
        return False
    parent, index = place
    child = parent.children[index]
    if isinstance(child, str):
        text = texts.get((parent.position, index))
        if text is None:
            return _has_no_box(parent, child)
        return not text.strip(" \t\n\r\f") or text[0 if after else -1] in " \n\t"
    if not child.rendered or child.tag == "br":
        return True
    if child.tag == "img":
        return False
    if child.style.display != "inline" or child.style.out_of_flow or child.tag in REPLACED:
        return True
    if not child.children:
        return _needs_none(_beside(parent, index, 1 if after else -1), texts, after=after, depth=depth + 1)
    return _needs_none((child, 0 if after else len(child.children) - 1), texts, after=after, depth=depth + 1)


def _has_no_box(parent: Element, text: str) -> bool:
    """Whether a text that came to nothing is not laid out at all."""
    return parent.style.display != "inline" and not text.strip()
