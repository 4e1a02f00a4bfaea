"""What was cut, the newest first."""

from inkwell.buffer import InkwellError


class Ring:
    """A number of texts. `turn` goes to older ones, and from the oldest to the newest."""

    def __init__(self, size: int = 30) -> None:
        self._size = size
        self._texts: list[str] = []
        self._at = 0

    def __len__(self) -> int:
        return len(self._texts)

    def push(self, text: str) -> None:
        """Add a text; one that is the newest already, or empty, is not added."""
        self._at = 0
        if text and self._texts[:1] != [text]:
            self._texts.insert(0, text)
            del self._texts[self._size :]

    def extend(self, text: str, *, before: bool = False) -> None:
        """Add to the newest text, behind it or before it."""
        if not self._texts:
            self.push(text)
            return
        newest = self._texts[0]
        self._texts[0] = text + newest if before else newest + text
        self._at = 0

    def top(self) -> str:
        """Return the text that is next to be pasted."""
        if not self._texts:
            raise InkwellError("nothing was cut")
        return self._texts[self._at]

    def turn(self) -> str:
        """Go to the next older text, and return it."""
        if self._texts:
            self._at = (self._at + 1) % len(self._texts)
        return self.top()
