"""One page in a tab: its document, whose attributes hold its live state, and what was done to it."""

from __future__ import annotations

from collections.abc import Iterable

from selectolax.lexbor import LexborHTMLParser, LexborNode

from simtrain.worlds.app.browser.nodes import FOCUS, PENDING, elements_of, put, text_of

_FOUND = f"[{FOCUS}]"


class OpenPage:
    """A page as it stands now. `source` is its HTML as it was loaded; `serial` counts the documents of its tab from 0."""

    __slots__ = (
        "_as_loaded",
        "_document",
        "_marks",
        "_written",
        "changed",
        "kept",
        "refs",
        "serial",
        "source",
        "status",
        "url",
    )

    def __init__(self, url: str, source: str, *, status: int = 200, serial: int = 0) -> None:
        self.url = url
        self.source = source
        self.status = status
        self.serial = serial
        self.changed = False
        """Whether anything was done to it since it was loaded."""
        self.refs = 0
        """How many refs its elements were given so far."""
        self.kept: object = None
        """What a reader keeps about the page as it stands; forgotten when it changes."""
        self._written: str | None = source
        self._document: LexborHTMLParser | None = None
        self._as_loaded = False
        self._marks: tuple[str, Iterable[tuple[int, str]]] | None = None

    @property
    def document(self) -> LexborHTMLParser:
        """The document with all marks; whoever changes it calls `touch`."""
        self.write_marks()
        return self.parsed

    @property
    def parsed(self) -> LexborHTMLParser:
        """The document, perhaps without marks that were put off, for those who add and remove no elements."""
        if self._document is None:
            self._as_loaded = self._written is self.source
            self._document = LexborHTMLParser(self._written or self.source)
        return self._document

    @property
    def loaded(self) -> LexborHTMLParser | None:
        """The document if it was parsed from the page as it was loaded, perhaps with marks of our own since; None for a copy of it."""
        document = self.parsed
        return document if self._as_loaded and not self.changed else None

    @property
    def html(self) -> str:
        """The document as it stands, written as HTML."""
        if self._written is None:
            self._written = self.document.html or ""
        return self._written

    def touch(self) -> None:
        """Note that the document was changed."""
        self._written = self.kept = None
        self.changed = True

    def marked(self) -> None:
        """Note that elements got marks of our own, which change nothing for who reads the page."""
        self._written = None

    def mark_later(self, name: str, marks: Iterable[tuple[int, str]]) -> None:
        """Put off an attribute of elements, given by place and value, until somebody needs it or may change places."""
        # No reader of the page is kept with them: it would keep the page in memory after the browser has left it.
        self._marks = (name, marks)
        self.marked()

    def write_marks(self) -> None:
        """Write the marks that were put off."""
        if self._marks is None:
            return
        (name, marks), self._marks = self._marks, None
        found = elements_of(self.parsed)
        for position, value in marks:
            put(found[position], name, value)

    @property
    def title(self) -> str:
        """The title of the page."""
        node = self.parsed.css_first("title")
        return " ".join(text_of(node).split()) if node is not None else ""

    @property
    def focused(self) -> LexborNode | None:
        """The element that has the focus."""
        return self.parsed.css_first(_FOUND)

    def focus(self, node: LexborNode | None) -> None:
        """Give the focus to an element, or to none."""
        before = self.focused
        if before is not None:
            put(before, FOCUS, None)
        if node is not None:
            put(node, FOCUS, "")
        self.touch()

    @property
    def pending(self) -> LexborNode | None:
        """The element that a dialog or a file chooser waits for."""
        return self.parsed.css_first(f"[{PENDING}]")

    def wait_for(self, node: LexborNode | None) -> None:
        """Mark the element that a dialog or a file chooser waits for."""
        before = self.pending
        if before is not None:
            put(before, PENDING, None)
        if node is not None:
            put(node, PENDING, "")
        self.touch()

    def copy(self) -> OpenPage:
        """Return an independent copy."""
        other = OpenPage(self.url, self.source, status=self.status, serial=self.serial)
        other._written, other.refs, other.changed = self.html, self.refs, self.changed
        return other
