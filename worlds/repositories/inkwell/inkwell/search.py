"""Find and replace."""

import re

from inkwell.buffer import Buffer, InkwellError
from inkwell.edits import Edit
from inkwell.places import Place, Span


class Finder:
    """One thing to look for in a buffer. Without capitals in it, capitals do not matter."""

    def __init__(
        self, buffer: Buffer, wanted: str, *, regex: bool = False, whole_words: bool = False
    ) -> None:
        if not wanted:
            raise InkwellError("there is nothing to look for")
        pattern = wanted if regex else re.escape(wanted)
        if whole_words:
            pattern = rf"\b(?:{pattern})\b"
        flags = re.MULTILINE if wanted != wanted.lower() else re.MULTILINE | re.IGNORECASE
        try:
            self._pattern = re.compile(pattern, flags)
        except re.error as error:
            raise InkwellError(f"{wanted!r} is no pattern: {error}") from None
        self._buffer = buffer
        self._regex = regex
        self._found: list[Span] | None = None
        buffer.listen(self._forget)

    def _forget(self, edit: Edit) -> None:
        self._found = None

    def all(self) -> list[Span]:
        """Return everything found, in order; nothing that is empty."""
        if self._found is None:
            place = self._buffer.place
            self._found = [
                Span(place(match.start()), place(match.end()))
                for match in self._pattern.finditer(self._buffer.text)
                if match.end() > match.start()
            ]
        return list(self._found)

    def following(self, place: Place) -> Span | None:
        """Return the first one behind a place; from the start again if there is none."""
        found = self.all()
        behind = [span for span in found if span.start > place]
        return (behind or found or [None])[0]

    def before(self, place: Place) -> Span | None:
        """Return the last one that begins before a place; from the end again if there is none."""
        found = self.all()
        ahead = [span for span in found if span.start < place]
        return (ahead or found or [None])[-1]

    def number(self, place: Place) -> tuple[int, int]:
        """Return which one lies at a place, from 1 (0: none), and how many there are."""
        found = self.all()
        for number, span in enumerate(found, start=1):
            if span.contains(place):
                return number, len(found)
        return 0, len(found)

    def replacement(self, span: Span, new: str) -> str:
        """Return the text for one that was found; `\\1` stands for a group of a pattern."""
        if not self._regex:
            return new
        start, end = self._buffer.offset(span.start), self._buffer.offset(span.end)
        match = self._pattern.match(self._buffer.text, start)
        if match is None or match.end() != end:
            raise InkwellError("it is not there any more")
        try:
            return match.expand(new)
        except (re.error, IndexError) as error:
            raise InkwellError(f"{new!r} is no replacement: {error}") from None

    def edits(self, new: str, within: Span | None = None) -> list[Edit]:
        """Return the changes that replace everything found, last first."""
        spans = [
            span
            for span in self.all()
            if within is None or (span.start >= within.start and span.end <= within.end)
        ]
        return [Edit(span, self.replacement(span, new)) for span in reversed(spans)]
